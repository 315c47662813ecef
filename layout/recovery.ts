import { check, hasErrors } from './check';
import { checkpointVerdicts, keptText } from './checkpoint';
import { estimateOf } from './cost';
import { applyEdits } from './format/edit';
import { grouped } from './format/quantities';
import { gcd } from './grid/arithmetic';
import { countOf } from './rules/numbers';
import type { LayoutFacts } from './topology/facts';
import { denseGrid } from './topology/processGroups';
import type { ResolvedLayout, ResolvedModule } from './topology/resolved';

/**
 * A way to continue a job after some of its GPUs have failed, other than nonuniform TP (`failurePlan`), which goes on with fewer ranks
 * in a replica.
 */
export interface Recovery {
  readonly way: 'spare-nodes' | 'replicas-out';
  /** The way in a few words. */
  readonly title: string;
  /** What it costs: names and values. */
  readonly costs: readonly (readonly [name: string, value: string])[];
  /** The file that it makes of the layout; null where that stays as it is, or where the way is closed. */
  readonly text: string | null;
  /** Why it is closed; null where it is open. */
  readonly closed: string | null;
}

/** How many sizes of a smaller job are checked. */
const MAX_TRIED = 8;

/**
 * How a job can continue after ranks have failed, with any pipeline and any order of ranks.
 * @param facts of a layout without errors, and that layout
 */
export function recoveries(facts: LayoutFacts, layout: ResolvedLayout, failed: readonly number[]): readonly Recovery[] {
  const ranks = [...new Set(failed)].filter((rank) => rank < layout.worldSize);
  return ranks.length === 0 ? [] : [withoutReplicas(facts, layout, ranks), withSpares(layout, ranks)];
}

/** The nodes of ranks, ascending. */
export const nodesOf = ({ gpusPerNode }: ResolvedLayout, ranks: readonly number[]): readonly number[] =>
  [...new Set(ranks.map((rank) => Math.floor(rank / gpusPerNode)))].sort((a, b) => a - b);

function withSpares(layout: ResolvedLayout, failed: readonly number[]): Recovery {
  const nodes = nodesOf(layout, failed);
  const healthy = nodes.length * Math.min(layout.gpusPerNode, layout.worldSize) - failed.length;
  return {
    way: 'spare-nodes',
    title: `${countOf(nodes.length, 'spare node')} in`,
    costs: [
      ['Compute kept', '100 %'],
      ['Healthy GPUs that leave with their node', grouped(healthy)],
      ['Layout', 'stays as it is'],
    ],
    text: null,
    closed: null,
  };
}

/** A layout without some of its replicas. */
interface Smaller {
  /** How many of the shares are left. */
  readonly shares: number;
  readonly layout: ResolvedLayout;
  readonly text: string;
  readonly facts: LayoutFacts;
}

function withoutReplicas(facts: LayoutFacts, layout: ResolvedLayout, failed: readonly number[]): Recovery {
  const closed = (why: string): Recovery => ({
    way: 'replicas-out',
    title: 'Replicas out',
    costs: [],
    text: null,
    closed: why,
  });
  if (facts.root.ntp.written) {
    return closed('The job has nonuniform TP already, which counts on its replicas.');
  }
  const { modules } = layout;
  const { all, hit } = lostShares(modules, failed);
  const isOne = modules.length === 1;
  if (hit >= all) {
    return closed(nothingLeft(isOne, all));
  }
  const smaller = smallerJob(facts, layout, { all, left: all - hit, lostNodes: nodesOf(layout, failed).length });
  if (typeof smaller === 'string') {
    return closed(smaller);
  }
  const out = all - smaller.shares;
  const beyond = out > hit ? ` (${hit} lost a rank)` : '';
  return {
    way: 'replicas-out',
    title: isOne
      ? `${grouped(out)} of ${countOf(all, 'replica')} out${beyond}`
      : `${grouped(out)} in ${countOf(all, 'replica')} of every module out${beyond}`,
    costs: [
      ['Compute kept', `${((100 * smaller.shares) / all).toFixed(1)} %`],
      ['GPUs that stop', grouped(layout.worldSize - smaller.layout.worldSize)],
      ...(isOne ? accumulation(facts, all, smaller.shares) : dataParallelSizes(modules, smaller.layout.modules)),
      ...stepTime(facts, smaller.facts),
      ['Checkpoint', keptText(checkpointVerdicts(facts, smaller.facts))],
    ],
    text: smaller.text,
    closed: null,
  };
}

function nothingLeft(isOne: boolean, shares: number): string {
  if (!isOne) {
    return shares === 1
      ? 'The modules of a job lose replicas in the same proportion; no number divides those of all.'
      : 'Every such share of the modules has lost a rank.';
  }
  return shares === 1 ? 'There is one replica, and it has lost a rank.' : 'Every replica has lost a rank.';
}

/**
 * In how many equal shares the replicas of all modules can be divided: the greatest common divisor of their data-parallel sizes.
 * Each replica of a module feeds its part of a batch to those of the next one, so all modules shrink in one proportion.
 */
const shareCount = (modules: readonly ResolvedModule[]): number =>
  modules.map((module) => denseGrid(module).sizeOf('dp')).reduce(gcd, 0);

/** How many of the shares lose a rank. */
export function lostShares(modules: readonly ResolvedModule[], ranks: readonly number[]) {
  const all = shareCount(modules);
  return { all, hit: new Set(ranks.flatMap((rank) => sharesOf(modules, rank, all))).size };
}

/** The shares that a rank works for: one in each module that holds it. */
const sharesOf = (modules: readonly ResolvedModule[], rank: number, all: number): readonly number[] =>
  modules.flatMap((module) => {
    const grid = denseGrid(module);
    const isIn = rank >= module.rankOffset && rank < module.rankOffset + module.numRanks;
    return isIn ? [Math.floor((grid.placeAlong('dp', rank) * all) / grid.sizeOf('dp'))] : [];
  });

/** The largest job of fewer shares that fits the nodes that are left and has no error; or why there is none. */
function smallerJob(
  { text, root, modules }: LayoutFacts,
  { worldSize, gpusPerNode, nodes }: ResolvedLayout,
  { all, left, lostNodes }: { readonly all: number; readonly left: number; readonly lostNodes: number },
): Smaller | string {
  const cluster = root.cluster.value;
  const batch = root.batch.value?.global_batch_size.value;
  const micro = root.batch.value?.micro_batch_size.value ?? 1;
  const sizes = Array.from({ length: left }, (_, less) => left - less).filter((size) => {
    const world = (size * worldSize) / all;
    const isWhole = !cluster || (world % gpusPerNode === 0 && world / gpusPerNode <= nodes - lostNodes);
    return isWhole && (modules.length > 1 || batch === undefined || batch % (micro * size) === 0);
  });
  for (const size of sizes.slice(0, MAX_TRIED)) {
    const scaled = [
      root.world_size,
      cluster?.nodes,
      ...modules.flatMap(({ fields, own }) => [fields.dp, fields.expt_dp, own?.num_ranks, own?.rank_offset]),
    ];
    const edits = scaled.flatMap((field) =>
      field?.written && !field.given && field.value !== undefined
        ? [{ span: field.span, newText: String((field.value * size) / all) }]
        : [],
    );
    const smaller = applyEdits(text, edits);
    const checked = check(smaller);
    if (checked.facts && checked.resolved?.worldSize === (size * worldSize) / all && !hasErrors(checked)) {
      return { shares: size, layout: checked.resolved, text: smaller, facts: checked.facts };
    }
  }
  return `No smaller number of replicas divides the batch, fills whole nodes and has no error; ${left} of ${all} are whole.`;
}

/** The data-parallel sizes of modules, before and after. */
const dataParallelSizes = (before: readonly ResolvedModule[], after: readonly ResolvedModule[]): Recovery['costs'] =>
  before.map((module, i) => {
    const now = after[i];
    const size = (one: ResolvedModule) => grouped(denseGrid(one).sizeOf('dp'));
    return [`dp of ${module.name ?? ''}`, `${size(module)} → ${now ? size(now) : ''}`];
  });

/** How many micro-batches a replica accumulates in a step, before and after. */
function accumulation({ root }: LayoutFacts, before: number, after: number): Recovery['costs'] {
  const batch = root.batch.value;
  const global = batch?.global_batch_size.value;
  const micro = batch?.micro_batch_size.value ?? 1;
  return global === undefined
    ? []
    : [
        [
          'Micro-batches a replica and step',
          `${grouped(global / (micro * before))} → ${grouped(global / (micro * after))}`,
        ],
      ];
}

/** The estimated time of a step, before and after; nothing where either is not known. */
function stepTime(facts: LayoutFacts, after: LayoutFacts): Recovery['costs'] {
  const [one, other] = [facts, after].map((of) => {
    const result = estimateOf(of);
    return result.ok ? result.estimate.stepTimeS?.median : undefined;
  });
  return one === undefined || other === undefined
    ? []
    : [['Step, by estimate', `${one.toPrecision(3)} → ${other.toPrecision(3)} s`]];
}
