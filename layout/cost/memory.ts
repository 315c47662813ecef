import { logitBytes, recomputedLayer, stageActivations } from './activations';
import type { CostJob } from './job';
import { stateBytes } from './states';

/** What one rank of a pipeline stage holds, in bytes. */
export interface StageMemory {
  readonly statesBytes: number;
  readonly workspaceBytes: number;
  readonly activationsBytes: number;
  /** The highest of the allocator's own readings in a step: communicators and the CUDA context stand apart. */
  readonly peakBytes: number;
  /** Nine of ten measured peaks of Megatron-LM's functional tests lie within this. */
  readonly interval: readonly [number, number];
}

/** How far measured peaks lie from the estimate, as factors: the 5 % and 95 % quantiles of the public rows (docs/cost.md). */
const PEAK_INTERVAL = [0.93, 1.3] as const;

/** Memory of each pipeline rank, the first stage first. */
export function memoryOf(job: CostJob): StageMemory[] {
  return job.stages.map((chunks, stage) => {
    const statesBytes = stateBytes(job, stage);
    const workspaceBytes = job.hardware.gpu.workspaceBytes;
    const logits = chunks.some(({ loss }) => loss) ? logitBytes(job) * (1 + mtpLayers(chunks)) : 0;
    // logits and a recomputed layer do not meet: the logits are gone when the first layer is computed again
    const activationsBytes = stageActivations(job, stage) + Math.max(logits, recomputedLayer(job, stage));
    const peakBytes = statesBytes + workspaceBytes + activationsBytes;
    const [low, high] = PEAK_INTERVAL;
    const interval = [peakBytes * low, peakBytes * high] as const;
    return { statesBytes, workspaceBytes, activationsBytes, peakBytes, interval };
  });
}

function mtpLayers(chunks: CostJob['stages'][number]): number {
  return chunks.reduce((total, { mtp }) => total + mtp, 0);
}
