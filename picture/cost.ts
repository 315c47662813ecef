import { gibibytes, type LayoutFacts, type ResolvedLayout } from '../layout';
import { costJobs, type Estimate, estimateOf, microbatches, type StageEstimate } from '../layout/cost';
import { type Flow, sentOver, traffic } from './flows';
import { type Headline, subject } from './headline';
import type { PipelineShape } from './schedule';

/** Memory of one rank of a pipeline stage. */
export interface StageCost
  extends Pick<
    StageEstimate,
    'statesBytes' | 'activationsBytes' | 'communicatorsBytes' | 'totalBytes' | 'totalInterval'
  > {
  /** `stage 0`, with the module where there are several. */
  readonly name: string;
}

/** What a layout costs, as far as it is known. */
export interface Cost extends Pick<Estimate, 'gpuMemoryBytes' | 'stepTimeS' | 'missing' | 'assumed'> {
  readonly stages: readonly StageCost[];
  readonly flows: readonly Flow[];
  /** Null where there is no pipeline, or several modules have one each. */
  readonly pipeline: (PipelineShape & { readonly bubble: number }) | null;
}

/** The cost of a layout, or why it is not known and the keys that are missing. */
export type CostResult =
  | { readonly cost: Cost; readonly reason: null }
  | { readonly cost: null; readonly reason: string };

/** The cost of a layout without errors. */
export function costOf(facts: LayoutFacts): CostResult {
  const result = estimateOf(facts);
  return result.ok
    ? { cost: costFrom(facts, result.estimate), reason: null }
    : { cost: null, reason: `The cost is not known: ${result.reason}.` };
}

function costFrom(facts: LayoutFacts, estimate: Estimate): Cost {
  const { perStage, traffic, stepTimeS, gpuMemoryBytes, missing, assumed } = estimate;
  const named = (module: string | null, name: string) => (module === null ? name : `${module} ${name}`);
  return {
    stages: perStage.map(
      ({ module, stage, statesBytes, activationsBytes, communicatorsBytes, totalBytes, totalInterval }) => ({
        name: named(module, `stage ${stage}`),
        statesBytes,
        activationsBytes,
        communicatorsBytes,
        totalBytes,
        totalInterval,
      }),
    ),
    flows: traffic.map(({ module, group, carries, bytesPerStep, tier }) => ({
      module,
      kind: group,
      group: named(module, group),
      carries,
      bytes: bytesPerStep,
      tier,
    })),
    pipeline: pipelineOf(facts, estimate),
    gpuMemoryBytes,
    stepTimeS,
    missing,
    assumed,
  };
}

function pipelineOf(facts: LayoutFacts, { pipeline }: Estimate): Cost['pipeline'] {
  const [made] = costJobs(facts);
  if (!pipeline || !made?.ok || made.job.stages.length < 2) {
    return null;
  }
  const stages = made.job.stages.length;
  const group = facts.root.parallelism.value?.microbatch_group_size_per_vp_stage.value ?? stages;
  return {
    stages,
    chunks: Math.max(...made.job.stages.map(({ length }) => length)),
    microbatches: microbatches(made.job),
    group,
    bubble: pipeline.bubble,
  };
}

/** Memory as GPUs are sold: `61 GiB`. */
export const memory = (bytes: number): string => `${gibibytes(bytes)} GiB`;

/** Whether the layout fits, and what travels. */
export function costHeadline(layout: ResolvedLayout, { cost, reason }: CostResult): Headline {
  const fullest = cost?.stages.toSorted((a, b) => b.totalBytes - a.totalBytes)[0];
  if (!cost || !fullest) {
    return { title: reason ?? 'No estimate.', sub: subject(layout) };
  }
  const who = cost.stages.length === 1 ? 'A rank' : `${fullest.name.charAt(0).toUpperCase()}${fullest.name.slice(1)}`;
  const needs = `${who} ${needsSentence(fullest, cost.gpuMemoryBytes)}`;
  return { title: `${needs}; ${sentSentence(layout, cost.flows)}.`, sub: subject(layout) };
}

/** What a stage needs of its GPU, and whether it fits by the range of nine in ten measured runs. */
function needsSentence({ totalBytes: total, totalInterval: [low, high] }: StageCost, gpuBytes: number | null): string {
  if (gpuBytes === null) {
    return `needs about ${memory(total)} of a GPU of unknown memory`;
  }
  if (total > gpuBytes) {
    return `${low > gpuBytes ? 'does not fit' : 'probably does not fit'}: it needs about ${gibibytes(total)} of ${memory(gpuBytes)}`;
  }
  return `needs about ${gibibytes(total)} of ${memory(gpuBytes)}${high > gpuBytes ? ', and may need more than there is' : ''}`;
}

function sentSentence({ gpusPerNode, gpusPerNvlinkDomain }: ResolvedLayout, flows: readonly Flow[]): string {
  const [far, near] = [sentOver(flows, 'network'), sentOver(flows, 'nvlink')];
  if (far > 0) {
    return `a rank sends ${traffic(far)} a step out of its ${gpusPerNvlinkDomain > gpusPerNode ? 'NVLink domain' : 'node'}`;
  }
  return near > 0 ? `a rank sends ${traffic(near)} a step, all over NVLink` : 'nothing travels between ranks';
}
