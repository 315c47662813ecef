import type { LayoutFacts } from '../topology/facts';
import { processGroups } from '../topology/process-groups';
import type { ResolvedLayout } from '../topology/resolved';
import { costJobs, type JobOfLayout } from './fromLayout';
import { microbatches } from './job';
import { memoryOf } from './memory';
import { MEGATRON, NANOTRON, stepTime } from './time';
import { type Traffic, trafficOf } from './traffic';

/** Memory of one rank of a pipeline stage, in bytes. */
export interface StageEstimate {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly stage: number;
  readonly statesBytes: number;
  /** Of these, the workspaces of cuBLAS and Transformer Engine. */
  readonly workspaceBytes: number;
  readonly activationsBytes: number;
  /** NCCL's own memory, which torch's allocator does not count; the range is what was measured. */
  readonly communicatorsBytes: number;
  /** The peak of torch's allocator. */
  readonly peakBytes: number;
  readonly interval: readonly [number, number];
}

/** What one layout costs. */
export interface Estimate {
  readonly perStage: readonly StageEstimate[];
  readonly traffic: readonly (Traffic & { readonly module: string | null })[];
  readonly pipeline: { readonly microbatches: number; readonly bubble: number } | null;
  /** Seconds of one optimizer step; null where the kind of GPU is not known. */
  readonly stepTimeS: { readonly median: number; readonly interval: readonly [number, number] } | null;
  /** Memory of one GPU in bytes; null where it is not known. */
  readonly gpuMemoryBytes: number | null;
  readonly missing: readonly string[];
  readonly assumed: readonly string[];
}

/** An estimate, or why there is none. */
export type EstimateResult =
  | { readonly ok: true; readonly estimate: Estimate }
  | { readonly ok: false; readonly reason: string; readonly missing: readonly string[] };

/**
 * Bytes of NCCL for each communicator that a rank holds: 9.5 GB for 15 and 4.5 GB for 8 were measured on H200 GPUs with NCCL
 * 2.28.9 (docs/measurements).
 */
const BYTES_PER_COMMUNICATOR = 0.6e9;

/**
 * How far measured step times lie from the estimate, as factors, nine times of ten (docs/cost.md): on A100, by which the
 * constants were fitted; on later GPUs; and with nanotron, whose runs differ by a factor of ten among themselves.
 */
const TIME_INTERVAL = { a100: [0.8, 1.3], later: [0.7, 2], nanotron: [0.15, 2.5] } as const;

/** The cost of a layout without errors. */
export function estimateOf(facts: LayoutFacts, layout: ResolvedLayout): EstimateResult {
  const jobs = costJobs(facts);
  const known = jobs.filter((job) => job.ok);
  const missing = [...new Set(jobs.flatMap((job) => job.missing))];
  if (known.length === 0) {
    const reasons = jobs.map((job) => (job.ok ? '' : job.reason));
    return { ok: false, reason: reasons[0] ?? 'there is no grid', missing };
  }
  const isNanotron = facts.root.launch.value?.family.value === 'nanotron';
  return {
    ok: true,
    estimate: {
      perStage: known.flatMap((job) => stagesOf(job, layout)),
      traffic: known.flatMap(({ module, job }) => trafficOf(job).map((traffic) => ({ module, ...traffic }))),
      ...timeOf(known, isNanotron),
      gpuMemoryBytes: gpuMemory(known),
      missing,
      assumed: [...new Set(known.flatMap(({ assumed }) => assumed))],
    },
  };
}

type KnownJob = Extract<JobOfLayout, { readonly ok: true }>;

function stagesOf({ module, job }: KnownJob, layout: ResolvedLayout): StageEstimate[] {
  const communicators = processGroups(layout).filter((family) => family.module === module && family.size > 1).length;
  return memoryOf(job).map(({ statesBytes, workspaceBytes, activationsBytes, peakBytes, interval }, stage) => ({
    module,
    stage,
    statesBytes: statesBytes + workspaceBytes,
    workspaceBytes,
    activationsBytes,
    communicatorsBytes: communicators * BYTES_PER_COMMUNICATOR,
    peakBytes,
    interval,
  }));
}

/** Time is estimated for one grid over the whole world: modules that wait for one another are not. */
function timeOf(jobs: readonly KnownJob[], isNanotron: boolean): Pick<Estimate, 'pipeline' | 'stepTimeS'> {
  const [only] = jobs;
  if (!only || jobs.length > 1) {
    return { pipeline: null, stepTimeS: null };
  }
  const { seconds, bubble } = stepTime(only.job, isNanotron ? NANOTRON : MEGATRON);
  const { name } = only.job.hardware.gpu;
  const [low, high] = TIME_INTERVAL[isNanotron ? 'nanotron' : name === 'a100' ? name : 'later'];
  return {
    pipeline: { microbatches: microbatches(only.job), bubble },
    stepTimeS: only.gpuKnown ? { median: seconds, interval: [seconds * low, seconds * high] } : null,
  };
}

function gpuMemory(jobs: readonly KnownJob[]): number | null {
  const bytes = jobs[0]?.job.hardware.gpu.memoryBytes ?? 0;
  return bytes > 0 ? bytes : null;
}
