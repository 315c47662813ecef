import { memoizeRecent } from '../memoize';
import { logitBytes, recomputedLayer, stageActivations } from './activations';
import { stageCollectives } from './collectives';
import { type GroupPlacements, groupPlacements } from './groupPlacement';
import { type CostJob, ranksOf, shapeOf } from './job';
import { stateBytes, unshardedBytes, updatedParameters } from './states';

/** What one rank of a pipeline stage holds, in bytes. */
export interface StageMemory {
  readonly statesBytes: number;
  readonly workspaceBytes: number;
  /** Of micro-batches under way, with the layers that FSDP holds whole meanwhile; or of the optimizer's copies of gradients, where these are more. */
  readonly activationsBytes: number;
  /** The highest of the allocator's own readings in a step: communicators and the CUDA context stand apart. */
  readonly peakBytes: number;
  /** Nine of ten measured peaks of Megatron-LM's functional tests lie within this. */
  readonly interval: readonly [number, number];
  /** NCCL's own memory, which torch's allocator does not count. */
  readonly communicatorsBytes: number;
  /** What the GPU must have: the peak, or an engine's share where that is more, and the communicators, with the range of the peak. This is the number that is shown. */
  readonly totalBytes: number;
  readonly totalInterval: readonly [number, number];
}

/** How far measured peaks lie from the estimate, as factors: the 5 % and 95 % quantiles of the public rows (docs/cost.md). */
const PEAK_INTERVAL = [0.95, 1.25] as const;

/**
 * Bytes of NCCL for each communicator that a rank holds: 8.9 GiB for 15 and 4.2 GiB for 8 were measured on H200 GPUs with NCCL
 * 2.28.9 (docs/measurements).
 */
const BYTES_PER_COMMUNICATOR = 0.6e9;

/** Memory of each pipeline rank, the first stage first. */
export const memoryOf = memoizeRecent((job: CostJob): readonly StageMemory[] => {
  const placements = groupPlacements(job);
  // stages between the ends talk over the same groups
  const inner = communicators(job, Math.min(1, job.stages.length - 1), placements);
  return job.stages.map((_, stage) => {
    const isInner = stage > 0 && stage < job.stages.length - 1;
    return stageMemory(job, stage, isInner ? inner : communicators(job, stage, placements));
  });
});

function stageMemory(job: CostJob, stage: number, groups: number): StageMemory {
  const { loss, mtp } = shapeOf(job, stage);
  const statesBytes = stateBytes(job, stage);
  const workspaceBytes = job.hardware.gpu.workspaceBytes;
  const logits = loss ? logitBytes(job) * (1 + mtp) : 0;
  // logits and a recomputed layer do not meet: the logits are gone when the first layer is computed again
  const passes =
    stageActivations(job, stage) + Math.max(logits, recomputedLayer(job, stage)) + unshardedBytes(job, stage);
  // the optimizer copies narrow gradients when the activations are gone (`_copy_model_grads_to_main_grads`, megatron/core/optimizer)
  const activationsBytes = Math.max(passes, updatedParameters(job, stage) * job.optimizer.gradCopyBytes);
  const peakBytes = statesBytes + workspaceBytes + activationsBytes;
  const interval = [peakBytes * PEAK_INTERVAL[0], peakBytes * PEAK_INTERVAL[1]] as const;
  const communicatorsBytes = groups * BYTES_PER_COMMUNICATOR;
  // an engine and the trainer take the GPU in turn; workspaces and communicators stay
  const generating = job.engineBytes + workspaceBytes;
  const needed = (training: number) => Math.max(training, generating) + communicatorsBytes;
  return {
    statesBytes,
    workspaceBytes,
    activationsBytes,
    peakBytes,
    interval,
    communicatorsBytes,
    totalBytes: needed(peakBytes),
    totalInterval: [needed(interval[0]), needed(interval[1])],
  };
}

/**
 * Groups over which a rank of a stage talks; NCCL makes the communicator of a group when it is first used. One more adds up the norm
 * of the gradients (megatron/core/optimizer/clip_grads.py).
 */
function communicators(job: CostJob, stage: number, placements: GroupPlacements): number {
  const groups = new Set(stageCollectives(job, stage, placements).map(({ group }) => group));
  return groups.size + (ranksOf(job) > 1 ? 1 : 0);
}

/** The stage that needs most, with its place; the first of several. */
export function fullestOf<T extends { readonly totalBytes: number }>(
  stages: readonly T[],
): (T & { readonly stage: number }) | null {
  return stages.reduce<(T & { readonly stage: number }) | null>(
    (most, one, stage) => (most === null || one.totalBytes > most.totalBytes ? { ...one, stage } : most),
    null,
  );
}
