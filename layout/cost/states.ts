import type { CostJob } from './job';
import { chunkParameters, type ParameterCount, totalOf } from './parameters';

/** Parameters of one pipeline rank, all its virtual stages together. */
export function stageParameters(job: CostJob, stage: number): ParameterCount {
  return totalOf((job.stages[stage] ?? []).map((chunk) => chunkParameters(job, chunk)));
}

/**
 * Bytes of parameters, gradients and optimizer states on one rank of a pipeline stage.
 * Source: megatron/core/optimizer/distrib_optimizer.py (6 + 12 / (dp x cp) bytes a parameter in bf16 with fp32 gradients, 18
 * without sharding) and the sharding strategies of Megatron-FSDP.
 */
export function stateBytes(job: CostJob, stage: number): number {
  const { degrees, optimizer } = job;
  const { dense, expert } = stageParameters(job, stage);
  const shards = Math.max(1, (degrees.dp * degrees.cp) / optimizer.instances);
  const expertShards = Math.max(1, degrees.exptDp / optimizer.instances);
  return dense * bytesPerParameter(job, shards) + expert * bytesPerParameter(job, expertShards);
}

/** @param shards over how many ranks a sharded part is spread */
function bytesPerParameter({ optimizer, fsdp }: CostJob, shards: number): number {
  const { paramBytes, gradBytes, stateBytes: states, distributed } = optimizer;
  const sharded = distributed || fsdp !== 'no_shard';
  const perGradient = fsdp === 'optim_grads' || fsdp === 'optim_grads_params' ? gradBytes / shards : gradBytes;
  const perParameter = fsdp === 'optim_grads_params' ? paramBytes / shards : paramBytes;
  return perParameter + perGradient + (sharded ? states / shards : states);
}
