import { HALF, stageParameters, type WeightJob } from '../cost';
import type { Resume } from './resume';
import type { CheckpointOutcome, CheckpointTransfer, StageReads } from './verdict';

/**
 * What a layout reads of a checkpoint: bytes, the least time, and memory of the hosts. Null where a size is not known, or the format is
 * one of which no reader was looked at.
 * Source: megatron/core/optimizer/distrib_optimizer.py `sharded_param_state_fully_reshardable`, `get_parameter_state_dp_zero`;
 * tools/checkpoint/{loader,saver}_base.py.
 * @param optimizer what becomes of the optimizer states; where they load after a step, they are read as that step leaves them
 */
export function transferOf({ saved, now, format }: Resume, optimizer: CheckpointOutcome): CheckpointTransfer | null {
  const { weights: job, host } = now;
  if (typeof job === 'string' || !(format === 'torch_dist' || format === 'torch')) {
    return null;
  }
  const parameters = wholeParameters(job);
  const weightBytes = Math.max(HALF, job.optimizer.gatherBytes);
  const isRead = optimizer === 'loads' || optimizer === 'after';
  const isWhole = optimizer === 'after' || saved.sharding !== 'dp_reshardable' || !saved.distributedOptimizer;
  const stages = job.stages.map((_, stage): StageReads => {
    const { dense, expert } = stageParameters(job, stage);
    const { dp, cp, exptDp } = job.degrees;
    const shard =
      dense / Math.max(1, (dp * cp) / job.optimizer.instances) + expert / Math.max(1, exptDp / job.optimizer.instances);
    const states = isRead ? (isWhole ? dense + expert : shard) * job.optimizer.savedStateBytes : 0;
    return { weightsBytes: (dense + expert) * weightBytes, statesBytes: states };
  });
  const perRank = Math.max(...stages.map(({ weightsBytes, statesBytes }) => weightsBytes + statesBytes));
  const held = saved.distributedOptimizer && isWhole ? Math.max(...stages.map(({ statesBytes }) => statesBytes)) : 0;
  return {
    weightsBytes: parameters * weightBytes,
    statesBytes: parameters * job.optimizer.savedStateBytes,
    stages,
    perRankBytes: perRank,
    allRanksBytes:
      (stages.reduce((sum, { weightsBytes, statesBytes }) => sum + weightsBytes + statesBytes, 0) * now.ranks) / now.pp,
    bytesPerSecond: host.bytesPerSecond,
    isMeasured: host.isMeasured,
    seconds: host.bytesPerSecond === null ? null : perRank / host.bytesPerSecond,
    nodeBytes: held * Math.min(host.gpusPerNode, now.ranks),
    converterBytes: 2 * parameters * weightBytes,
  };
}

/** Parameters of the whole model: every one once, as a checkpoint has them. */
function wholeParameters(job: WeightJob): number {
  const degrees = { ...job.degrees, tp: 1, ep: 1, exptTp: 1 };
  const { dense, expert } = stageParameters({ ...job, degrees, stages: [job.stages.flat()] }, 0);
  return dense + expert;
}
