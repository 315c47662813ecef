import { type Checked, check, hasErrors } from '../check';
import { applyEdits } from '../format/edit';
import { divisors } from '../rules/numbers';
import { atOnce } from '../steps';
import type { LayoutFacts } from '../topology/facts';
import { costJobs } from './fromLayout';
import {
  type Block,
  type Chunk,
  type CostDegrees,
  type CostJob,
  microbatches,
  type Recompute,
  ranksOf,
  shapeOf,
  tokensPerSecond,
} from './job';
import { type KeyChange, keyChanges, keyEdits, recomputeChanges } from './keyChanges';
import { fullestOf, memoryOf } from './memory';
import { stateBytes } from './states';
import { stepTime, timeInterval } from './time';

/** What a plan decides. */
interface Choices {
  readonly degrees: CostDegrees;
  /** Model chunks a stage; 1 without interleaving. */
  readonly vpp: number;
  readonly micro: number;
  readonly microbatches: number;
  readonly recompute: Recompute['granularity'];
}

/** A layout with what it costs. */
export interface PlannedLayout extends Choices {
  readonly gpus: number;
  /** The kind of GPU, as the file or the wish names it. */
  readonly gpu: string;
  /** Seconds of one optimizer step, with their range. */
  readonly seconds: number;
  readonly secondsInterval: readonly [number, number];
  readonly tokensPerSecondPerGpu: number;
  /** What the fullest stage needs of its GPU, in bytes, with its range. */
  readonly totalBytes: number;
  readonly totalInterval: readonly [number, number];
  /** Layouts of one group are as quick as one another: their step times lie within the error of the estimate. The quickest of a machine is 1. */
  readonly group: number;
  /** What speaks for it in its group. */
  readonly why: string;
  /** Keys beside the degrees that it takes. */
  readonly needs: readonly string[];
  /** Whether the file has these degrees, this micro-batch and this recomputation now. */
  readonly isPresent: boolean;
  /** The file with these degrees. */
  readonly text: string;
}

/** Layouts of a model, machine by machine, on each the quickest group first; or why there are none. */
export type Plan =
  | {
      readonly ok: true;
      readonly tried: number;
      readonly fitting: number;
      readonly layouts: readonly PlannedLayout[];
      /** The layout of the file itself, also where it does not fit; null where it has errors. */
      readonly present: PlannedLayout | null;
      /** The least of twice, four times, ... as many GPUs on which a layout fits, where none fits; null where that is not known. */
      readonly leastGpus: number | null;
    }
  | { readonly ok: false; readonly reason: string };

/** What is asked of a plan. */
export interface PlanWish {
  /** How many layouts are listed. */
  readonly wanted: number;
  /** Numbers of GPUs in place of the file's; empty: the file's. */
  readonly gpus?: readonly number[];
  /** Kinds of GPU in place of the file's; empty: the file's. */
  readonly gpu?: readonly string[];
  /** Whether a layout may need more than the GPU has by the upper end of its range. */
  readonly risk?: boolean;
  /** Measured over estimated step time of a run on this cluster: all times are as much longer. 1 where nothing was measured. */
  readonly timeFactor?: number;
}

/**
 * By how much the estimates of two layouts of one job differ for no reason: the residuals of the published rows within one model,
 * machine and batch (docs/cost.md).
 */
export const RANKING_ERROR = 0.1;

/** Whether one step time cannot be told from another by the estimate. */
export const isAsQuick = (one: number, other: number): boolean =>
  Math.max(one, other) <= Math.min(one, other) * (1 + RANKING_ERROR);

/** How many candidates are checked by the rules; those of one framework may refuse many. */
export const MAX_CHECKED = 400;

/** How often a number of GPUs on which nothing fits is doubled to find one. */
const MAX_DOUBLINGS = 7;

const MICRO_BATCHES = [1, 2, 4, 8];
const CONTEXT_SIZES = [1, 2, 4, 8, 16];
const MAX_STAGES = 64;

/**
 * The layouts of the model and batch of a file that fit its GPUs, or those that are asked for. The file's own degrees do not matter;
 * layouts that the rules of its framework refuse are left out.
 * @param text a layout file with `parallelism`
 */
export const planLayouts = (text: string, wish: PlanWish): Plan => atOnce(planSteps(text, wish));

/** As `planLayouts`, in steps of well under a millisecond to a few: whoever must not wait takes some at a time. */
export function* planSteps(text: string, wish: PlanWish): Generator<undefined, Plan> {
  const bases = machinesOf(text, wish).map(baseOf);
  const known = bases.flatMap((base) => ('reason' in base ? [] : [base]));
  const refused = bases.flatMap((base) => ('reason' in base ? [base.reason] : []));
  if (known.length === 0) {
    return { ok: false, reason: refused[0] ?? 'the file cannot be put onto this machine' };
  }
  const all: { readonly base: Base; readonly tried: number; readonly fitting: readonly Candidate[] }[] = [];
  for (const base of known) {
    all.push({ base, ...(yield* candidateSteps(base, wish)) });
  }
  const fitting = all.reduce((sum, one) => sum + one.fitting.length, 0);
  const [first] = known;
  const perMachine = Math.ceil(wish.wanted / known.length);
  const layouts: PlannedLayout[] = [];
  for (const one of all) {
    layouts.push(...(yield* groupSteps(one.base, one.fitting, perMachine)));
  }
  return {
    ok: true,
    tried: all.reduce((sum, { tried }) => sum + tried, 0),
    fitting,
    layouts,
    present: presentOf(text, wish),
    leastGpus: fitting === 0 && first ? leastGpus(first, wish) : null,
  };
}

/** The file on each of the machines that are asked for. */
function machinesOf(text: string, { gpus = [], gpu = [] }: PlanWish): readonly string[] {
  const kinds = gpu.length === 0 ? [null] : gpu;
  const counts = gpus.length === 0 ? [null] : gpus;
  return kinds.flatMap((kind) =>
    counts.flatMap((count) => {
      const machine = onMachine(text, count, kind);
      return machine === null ? [] : [machine];
    }),
  );
}

/** The file with another number and kind of GPUs; null where it cannot be written. */
function onMachine(text: string, count: number | null, kind: string | null): string | null {
  const { facts } = check(text);
  if (!facts) {
    return null;
  }
  const cluster = facts.root.cluster.value;
  const perNode = Math.min(cluster?.gpus_per_node.value ?? count ?? 1, count ?? Number.POSITIVE_INFINITY);
  const ranks =
    count === null ? [] : keyChanges('cluster', { nodes: Math.ceil(count / perNode), gpus_per_node: perNode });
  // what was measured, or is true of the GPU that the file names, is not true of another
  const other = kind === null ? [] : keyChanges('cluster', { gpu: kind, ...OF_THE_GPU });
  const edits = keyEdits(facts, [...ranks, ...other]);
  const world = facts.root.world_size;
  const worldEdit = count !== null && world.written ? [{ span: world.span, newText: String(count) }] : [];
  return edits && applyEdits(text, [...edits, ...worldEdit]);
}

const OF_THE_GPU = { gpu_memory: null, nvlink_bandwidth: null, network_bandwidth: null, gpus_per_nvlink_domain: null };

/** A file without the choices that a plan makes, and the machine that it names. */
export interface Base {
  readonly checked: Checked;
  readonly job: CostJob;
  readonly world: number;
  readonly gpu: string;
}

/** `parallelism` without the keys that a plan decides. */
const UNDECIDED = {
  tp: 1,
  cp: null,
  pp: null,
  vpp: null,
  dp: null,
  ep: null,
  expt_tp: null,
  expt_dp: null,
  num_layers_per_virtual_pipeline_stage: null,
  pipeline_model_parallel_layout: null,
  account_for_embedding_in_pipeline_split: null,
  account_for_loss_in_pipeline_split: null,
};

/** The job of a file with all degrees 1, which no rule on degrees can refuse. */
export function baseOf(text: string): Base | { readonly reason: string } {
  const read = check(text);
  const plain =
    read.facts &&
    keyEdits(read.facts, [
      ...keyChanges('parallelism', UNDECIDED),
      ...recomputeChanges('none'),
      ...keyChanges('recompute', { modules: null }),
      // states are sharded in every layout of a plan
      ...(isFsdp(read.facts) ? [] : keyChanges('optimizer', { use_distributed_optimizer: true })),
      ...keyChanges('model', { num_layers_in_first_pipeline_stage: null, num_layers_in_last_pipeline_stage: null }),
    ]);
  const checked = plain && check(applyEdits(text, plain));
  const facts = checked?.facts;
  const [made] = facts ? costJobs(facts) : [];
  const world = facts?.world.size;
  if (!checked || !facts || !made || world === undefined || facts.heterogeneous) {
    return { reason: 'the file needs `parallelism` (not `modules`) and a `cluster` or `world_size`' };
  }
  if (!made.ok) {
    return { reason: made.reason };
  }
  if (made.missing.includes('cluster.gpu') || made.job.hardware.gpu.memoryBytes === 0) {
    return { reason: '`cluster.gpu` names the kind of GPU; without it nothing can be said to fit' };
  }
  if (!made.isTimed) {
    const name = facts.root.cluster.value?.gpu.value ?? 'this GPU';
    return {
      reason: `no public source says which network card an ${name} has; write \`cluster.network_bandwidth\` (such as 45GB), or measure it with a smoke job`,
    };
  }
  const gpu = facts.root.cluster.value?.gpu.value ?? made.job.hardware.gpu.name;
  return { checked, job: made.job, world, gpu };
}

const isFsdp = ({ root }: LayoutFacts): boolean =>
  root.fsdp.value?.enabled.value === true || root.fsdp.value?.torch_fsdp2.value === true;

/** A job with its cost. */
export interface Candidate extends Pick<PlannedLayout, 'seconds' | 'totalBytes' | 'totalInterval'> {
  readonly job: CostJob;
}

/** The layouts of a machine that may be chosen. */
export interface Search {
  readonly tried: number;
  /** Of each grid, whatever its micro-batch, chunks and recomputation, the layouts that no other beats in both memory and time. */
  readonly grids: readonly (readonly Candidate[])[];
}

/** Looks at every layout of a machine, one a step. Time is only worked out for those that need no more than `mostBytes`. */
export function* searchSteps(
  { job, world }: Base,
  { mostBytes, timeFactor = 1 }: { readonly mostBytes: number; readonly timeFactor?: number },
): Generator<undefined, Search> {
  const grids = new Map<string, Candidate[]>();
  let tried = 0;
  for (const candidate of jobsLike(job, world)) {
    tried++;
    // most candidates hold too much before anything is computed
    const memory = stateBytes(candidate, 0) > mostBytes ? null : fullestOf(memoryOf(candidate));
    if (memory && memory.totalBytes <= mostBytes) {
      const { totalBytes, totalInterval } = memory;
      const key = JSON.stringify(candidate.degrees);
      const seconds = timeFactor * stepTime(candidate).seconds;
      grids.set(key, unbeaten(grids.get(key) ?? [], { job: candidate, seconds, totalBytes, totalInterval }));
    }
    yield;
  }
  return { tried, grids: [...grids.values()] };
}

/** The candidates that no other beats in both memory and time, with one more. */
function unbeaten(candidates: readonly Candidate[], added: Candidate): Candidate[] {
  const beats = (one: Candidate, other: Candidate) =>
    one.seconds <= other.seconds && one.totalBytes <= other.totalBytes;
  return candidates.some((one) => beats(one, added))
    ? [...candidates]
    : [...candidates.filter((one) => !beats(added, one)), added];
}

/** The candidates of one machine that fit, of each grid the quickest. */
function* candidateSteps(
  base: Base,
  { risk = false, timeFactor = 1 }: PlanWish,
): Generator<undefined, { readonly tried: number; readonly fitting: readonly Candidate[] }> {
  const { memoryBytes } = base.job.hardware.gpu;
  const { tried, grids } = yield* searchSteps(base, { mostBytes: memoryBytes, timeFactor });
  const fits = ({ totalInterval }: Candidate) => risk || totalInterval[1] <= memoryBytes;
  const quickest = (grid: readonly Candidate[]) => grid.filter(fits).toSorted((a, b) => a.seconds - b.seconds)[0];
  return { tried, fitting: grids.map(quickest).filter((one) => one !== undefined) };
}

/** The least number of GPUs, by doubling, on which some layout fits. */
function leastGpus(base: Base, wish: PlanWish): number | null {
  for (let doublings = 1; doublings <= MAX_DOUBLINGS; doublings++) {
    const gpus = base.world * 2 ** doublings;
    const text = onMachine(base.checked.text, gpus, null);
    const larger = text === null ? null : baseOf(text);
    if (larger && !('reason' in larger) && atOnce(candidateSteps(larger, wish)).fitting.length > 0) {
      return gpus;
    }
  }
  return null;
}

/** Every combination of degrees that divides the model, the batch and the world. */
function* jobsLike(base: CostJob, world: number): Iterable<CostJob> {
  const { model, hardware, sequence, batch } = base;
  const { global } = batch;
  const blocks = base.stages.flat().flatMap((chunk) => chunk.blocks);
  const layers = blocks.length / 2;
  const tensor = divisors(model.numAttentionHeads, hardware.gpusPerNvlinkDomain).filter(
    (tp) => model.numQueryGroups % tp === 0 || tp % model.numQueryGroups === 0,
  );
  const context = CONTEXT_SIZES.filter((cp) => cp === 1 || sequence.length % (2 * cp * 4096) === 0);
  const grids = tensor.flatMap((tp) => context.map((cp) => ({ tp, cp })));
  for (const { pp, vpp, stages } of pipelines(blocks, shapeOf(base, 0).mtp, model.mamba ? [1] : stageCounts(layers))) {
    for (const { tp, cp } of grids) {
      const dp = world / (tp * cp * pp);
      const fills = (micro: number) => global % (micro * dp) === 0 && (vpp === 1 || (global / (micro * dp)) % pp === 0);
      for (const micro of Number.isInteger(dp) ? MICRO_BATCHES.filter(fills) : []) {
        for (const { ep, exptTp } of expertSplits(base, { tp, cp, dp })) {
          const exptDp = (tp * cp * dp) / (ep * exptTp);
          for (const recompute of RECOMPUTATIONS) {
            yield {
              ...base,
              stages,
              degrees: { tp, cp, pp, dp, ep, exptTp, exptDp },
              batch: { micro, global },
              sequence: { ...base.sequence, sequenceParallel: tp > 1 },
              recompute,
            };
          }
        }
      }
    }
  }
}

const RECOMPUTATIONS: readonly Recompute[] = [
  { granularity: 'none' },
  { granularity: 'selective', modules: ['core_attn'] },
  { granularity: 'full', layers: null },
];

/** Pipelines of these numbers of stages, with every number of virtual stages; the layouts of one share its stages. */
function* pipelines(blocks: readonly Block[], mtp: number, counts: readonly number[]) {
  for (const pp of counts) {
    const slots = blocks.length / 2 + endsCounted(blocks.length / 2, pp);
    for (const vpp of pp > 1 ? divisors(Math.max(1, Math.floor(slots / pp)), 8) : [1]) {
      yield { pp, vpp, stages: evenStages(blocks, mtp, { pp, vpp }) };
    }
  }
}

/** Numbers of stages that divide the layers, or the layers with the ends of the model. */
const stageCounts = (layers: number): number[] =>
  Array.from({ length: MAX_STAGES }, (_, i) => i + 1).filter(
    (stages) => stages <= layers && !Number.isNaN(endsCounted(layers, stages)),
  );

function expertSplits(
  { model }: CostJob,
  { tp, cp, dp }: Pick<CostDegrees, 'tp' | 'cp' | 'dp'>,
): { readonly ep: number; readonly exptTp: number }[] {
  if (!model.moe) {
    return [{ ep: 1, exptTp: tp }];
  }
  return divisors(model.moe.numExperts, 256)
    .filter((ep) => (tp * cp * dp) % ep === 0)
    .map((ep) => ({ ep, exptTp: 1 }));
}

/**
 * Places of a pipeline beside the layers: none where the stages divide them, else one for the loss, or two for embedding and loss
 * (`account_for_embedding_in_pipeline_split`, `account_for_loss_in_pipeline_split`).
 */
function endsCounted(layers: number, stages: number): number {
  return [0, 1, 2].find((ends) => (layers + ends) % stages === 0) ?? Number.NaN;
}

/** As many layers on every stage and chunk, chunk by chunk over the stages; ends that count take the place of a layer. */
function evenStages(
  blocks: readonly Block[],
  mtp: number,
  { pp, vpp }: { readonly pp: number; readonly vpp: number },
): Chunk[][] {
  const ends = endsCounted(blocks.length / 2, pp);
  const size = (blocks.length + 2 * ends) / (pp * vpp);
  const before = ends === 2 ? 2 : 0;
  return Array.from({ length: pp }, (_, rank) =>
    Array.from({ length: vpp }, (_, chunk): Chunk => {
      const first = (chunk * pp + rank) * size - before;
      const isLast = rank === pp - 1 && chunk === vpp - 1;
      return {
        blocks: blocks.slice(Math.max(0, first), first + size),
        embedding: rank === 0 && chunk === 0,
        loss: isLast,
        mtp: isLast ? mtp : 0,
      };
    }),
  );
}

/** Candidates that the rules accept, in groups of equally quick ones, in each the simplest first. */
function* groupSteps(
  base: Base,
  candidates: readonly Candidate[],
  wanted: number,
): Generator<undefined, readonly PlannedLayout[]> {
  const accepted: PlannedLayout[] = [];
  let checkedTexts = 0;
  for (const candidate of candidates.toSorted((a, b) => a.seconds - b.seconds)) {
    // a whole group, so that its simplest layout is among those that are listed
    const limit = (accepted[0]?.seconds ?? 0) * (1 + RANKING_ERROR);
    if (checkedTexts >= MAX_CHECKED || (accepted.length >= wanted && candidate.seconds > limit)) {
      break;
    }
    checkedTexts++;
    const planned = plannedLayout(base, candidate);
    if (planned) {
      accepted.push(planned);
    }
    yield;
  }
  const groups: PlannedLayout[][] = [];
  for (const layout of accepted) {
    const last = groups.at(-1);
    if (last && layout.seconds <= (last[0]?.seconds ?? 0) * (1 + RANKING_ERROR)) {
      last.push(layout);
    } else {
      groups.push([layout]);
    }
  }
  return groups.flatMap((group, index) => ranked(group, index + 1)).slice(0, wanted);
}

/** A group with the simplest layout first, and what speaks for each. */
function ranked(group: readonly PlannedLayout[], place: number): PlannedLayout[] {
  const sorted = group.toSorted((a, b) => complexity(a) - complexity(b) || a.seconds - b.seconds);
  const [simplest] = sorted;
  return sorted.map((layout) => ({ ...layout, group: place, why: whyOf(layout, group, layout === simplest) }));
}

/** How much machinery a layout takes: each kind of parallelism, recomputation, and how far it is driven. */
function complexity({ degrees, vpp, recompute }: PlannedLayout): number {
  const { tp, cp, pp, ep, exptTp } = degrees;
  const sizes = [tp, cp, pp, vpp, ep, exptTp === tp ? 1 : exptTp];
  const kinds = sizes.filter((size) => size > 1).length + (recompute === 'full' ? 1 : 0);
  return 10 * kinds + sizes.reduce((sum, size) => sum + Math.log2(size), 0);
}

function whyOf(layout: PlannedLayout, group: readonly PlannedLayout[], isSimplest: boolean): string {
  const least = (value: (one: PlannedLayout) => number) => group.every((one) => value(layout) <= value(one));
  const reasons = [
    ...(isSimplest ? [group.length > 1 ? 'the simplest of its group' : 'alone in its group'] : []),
    ...(group.length > 1 && least(({ totalBytes }) => totalBytes) ? ['least memory'] : []),
    ...(group.length > 1 && least(({ seconds }) => seconds) ? ['quickest by estimate'] : []),
  ];
  return reasons.length > 0 ? reasons.join(', ') : 'as quick as the others';
}

/** A candidate as a file; null where a rule refuses it. */
export function plannedLayout(base: Base, { job, ...cost }: Candidate): PlannedLayout | null {
  const changes = changesTo(job);
  const edits = base.checked.facts && keyEdits(base.checked.facts, changes);
  const text = edits && applyEdits(base.checked.text, edits);
  return text === null || hasErrors(check(text))
    ? null
    : { ...described(job, { gpu: base.gpu, seconds: cost.seconds }), ...cost, text };
}

/** What a plan decides for a job. */
export const choicesOf = (job: CostJob): Choices => ({
  degrees: job.degrees,
  vpp: job.stages[0]?.length ?? 1,
  micro: job.batch.micro,
  microbatches: microbatches(job),
  recompute: job.recompute.granularity,
});

/** What a job's layout is called and what it takes, beside its cost. */
function described(job: CostJob, { gpu, seconds }: { readonly gpu: string; readonly seconds: number }): PlannedLayout {
  const memory = fullestOf(memoryOf(job));
  return {
    gpus: ranksOf(job),
    gpu,
    ...choicesOf(job),
    seconds,
    secondsInterval: timeInterval(job, seconds),
    tokensPerSecondPerGpu: tokensPerSecond(job, seconds),
    totalBytes: memory?.totalBytes ?? 0,
    totalInterval: memory?.totalInterval ?? [0, 0],
    group: 0,
    why: '',
    needs: [
      ...(job.sequence.sequenceParallel ? ['sequence_parallel'] : []),
      ...(job.optimizer.distributed ? ['use_distributed_optimizer'] : []),
      ...(job.recompute.granularity === 'none' ? [] : [`recompute ${job.recompute.granularity}`]),
    ],
    isPresent: false,
    text: '',
  };
}

/** The layout of the file as it is; null where it has errors or no estimate. */
function presentOf(text: string, { timeFactor = 1 }: PlanWish): PlannedLayout | null {
  const checked = check(text);
  const [made] = checked.facts && !hasErrors(checked) ? costJobs(checked.facts) : [];
  const gpu = checked.facts?.root.cluster.value?.gpu.value;
  if (!made?.ok || !made.isTimed || gpu === undefined) {
    return null;
  }
  const seconds = timeFactor * stepTime(made.job).seconds;
  return { ...described(made.job, { gpu, seconds }), why: 'the present layout', isPresent: true, text };
}

/** The sizes that are not 1, and the micro-batches of a step: `tp 8 · pp 4 · dp 2 · 16 x 1`. */
export function layoutName({ degrees, vpp, micro, microbatches }: Omit<Choices, 'recompute'>): string {
  const { tp, cp, pp, dp, ep, exptTp } = degrees;
  const sizes = Object.entries({ tp, cp, pp, vpp, dp, ep, ...(exptTp === tp ? {} : { expt_tp: exptTp }) });
  const named = sizes.filter(([name, size]) => size > 1 || name === 'tp').map(([name, size]) => `${name} ${size}`);
  return [...named, `${microbatches} x ${micro}`].join(' · ');
}

/** The same, with what is computed again. */
export const alternativeName = (choices: Choices): string =>
  choices.recompute === 'none' ? layoutName(choices) : `${layoutName(choices)} · recompute ${choices.recompute}`;

/** The keys that make a file this job. */
function changesTo({ degrees, stages, model, batch, recompute, sequence }: CostJob): readonly KeyChange[] {
  const { tp, cp, pp, ep, exptTp } = degrees;
  const sizes = Object.entries({ cp, pp, vpp: stages[0]?.length ?? 1, ep }).filter(([, size]) => size > 1);
  const layers = stages.flat().reduce((sum, { blocks }) => sum + blocks.length / 2, 0);
  const ends = pp > 1 && !model.mamba ? endsCounted(layers, pp) : 0;
  return [
    ...keyChanges('parallelism', {
      tp,
      ...Object.fromEntries(sizes),
      ...(model.moe && { expt_tp: exptTp }),
      ...(ends > 0 && { account_for_loss_in_pipeline_split: true }),
      ...(ends > 1 && { account_for_embedding_in_pipeline_split: true }),
    }),
    ...recomputeChanges(recompute.granularity),
    ...keyChanges('batch', { micro_batch_size: batch.micro, global_batch_size: batch.global }),
    ...keyChanges('sequence', { sequence_parallel: sequence.sequenceParallel }),
  ];
}
