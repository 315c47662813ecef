import type { LayoutFacts } from '../topology/facts';
import { costJobs, type JobOfLayout } from './fromLayout';
import { microbatches, tokensPerSecond } from './job';
import { memoryOf, type StageMemory } from './memory';
import { stepTime, timeInterval } from './time';
import { type Traffic, trafficOf } from './traffic';

/** Memory of one rank of a pipeline stage, in bytes. */
export interface StageEstimate extends StageMemory {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly stage: number;
}

/** What one layout costs. */
export interface Estimate {
  readonly perStage: readonly StageEstimate[];
  readonly traffic: readonly (Traffic & { readonly module: string | null })[];
  readonly pipeline: { readonly microbatches: number; readonly bubble: number } | null;
  /** Seconds of one optimizer step; null where the kind of GPU is not known. */
  readonly stepTimeS: { readonly median: number; readonly interval: readonly [number, number] } | null;
  /** Null where there is no step time. */
  readonly throughput: { readonly tokensPerSecondPerGpu: number; readonly mfu: number } | null;
  /** Memory of one GPU in bytes; null where it is not known. */
  readonly gpuMemoryBytes: number | null;
  readonly missing: readonly string[];
  readonly assumed: readonly string[];
}

/** An estimate, or why there is none. */
export type EstimateResult =
  | { readonly ok: true; readonly estimate: Estimate }
  | { readonly ok: false; readonly reason: string; readonly missing: readonly string[] };

/** The cost of a layout without errors. */
export function estimateOf(facts: LayoutFacts): EstimateResult {
  return estimateOfJobs(costJobs(facts));
}

/** The cost of each module alone: its time is that of a step in which it waits for no other. */
export function moduleEstimates(
  facts: LayoutFacts,
): readonly { readonly module: string | null; readonly result: EstimateResult }[] {
  return costJobs(facts).map((job) => ({ module: job.module, result: estimateOfJobs([job]) }));
}

function estimateOfJobs(jobs: readonly JobOfLayout[]): EstimateResult {
  const known = jobs.filter((job) => job.ok);
  const missing = [...new Set(jobs.flatMap((job) => job.missing))];
  if (known.length === 0) {
    const reasons = jobs.map((job) => (job.ok ? '' : job.reason));
    return { ok: false, reason: reasons[0] ?? 'there is no grid', missing };
  }
  return {
    ok: true,
    estimate: {
      perStage: known.flatMap(stagesOf),
      traffic: known.flatMap(({ module, job }) => trafficOf(job).map((traffic) => ({ module, ...traffic }))),
      ...timeOf(known),
      gpuMemoryBytes: known[0]?.job.hardware.gpu.memoryBytes || null,
      missing,
      assumed: [...new Set(known.flatMap(({ assumed }) => assumed))],
    },
  };
}

type KnownJob = Extract<JobOfLayout, { readonly ok: true }>;

/** States hold the workspaces of cuBLAS and Transformer Engine, as torch's allocator counts them between steps. */
function stagesOf({ module, job }: KnownJob): StageEstimate[] {
  return memoryOf(job).map((memory, stage) => ({
    ...memory,
    module,
    stage,
    statesBytes: memory.statesBytes + memory.workspaceBytes,
  }));
}

/** Time is estimated for one grid over the whole world: modules that wait for one another are not. */
function timeOf(jobs: readonly KnownJob[]): Pick<Estimate, 'pipeline' | 'stepTimeS' | 'throughput'> {
  const [only] = jobs;
  if (!only || jobs.length > 1) {
    return { pipeline: null, stepTimeS: null, throughput: null };
  }
  const { seconds, bubble, mfu } = stepTime(only.job);
  return {
    pipeline: { microbatches: microbatches(only.job), bubble },
    throughput: only.isTimed ? { tokensPerSecondPerGpu: tokensPerSecond(only.job, seconds), mfu } : null,
    stepTimeS: only.isTimed ? { median: seconds, interval: timeInterval(only.job, seconds) } : null,
  };
}
