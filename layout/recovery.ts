import { check, hasErrors } from './check';
import { checkpointVerdicts, keptText } from './checkpoint';
import { estimateOf } from './cost';
import { applyEdits } from './format/edit';
import { grouped } from './format/quantities';
import { countOf } from './rules/numbers';
import type { LayoutFacts } from './topology/facts';
import { denseGrid } from './topology/processGroups';
import type { ResolvedLayout } from './topology/resolved';

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

/** What the grid of a layout is without some of its replicas. */
interface Smaller {
  readonly dp: number;
  readonly world: number;
  readonly text: string;
  readonly facts: LayoutFacts;
}

function withoutReplicas(facts: LayoutFacts, layout: ResolvedLayout, failed: readonly number[]): Recovery {
  const [module, ...more] = layout.modules;
  const grid = module && denseGrid(module);
  const axis = grid?.axes.find(({ name }) => name === 'dp');
  const closed = (why: string): Recovery => ({
    way: 'replicas-out',
    title: 'Replicas out',
    costs: [],
    text: null,
    closed: why,
  });
  if (!grid || more.length > 0) {
    return closed('The modules of a job lose replicas together: change their grids by hand.');
  }
  if (facts.root.ntp.written) {
    return closed('The job has nonuniform TP already, which counts on its replicas.');
  }
  const dp = grid.sizeOf('dp');
  const hit = new Set(failed.map((rank) => (axis ? grid.indexAlong(axis, rank) : 0))).size;
  if (hit === dp) {
    return closed(dp === 1 ? 'There is one replica, and it has lost a rank.' : 'Every replica has lost a rank.');
  }
  const smaller = smallerJob(facts, layout, { dp, left: dp - hit, lostNodes: nodesOf(layout, failed).length });
  if (typeof smaller === 'string') {
    return closed(smaller);
  }
  const out = dp - smaller.dp;
  const beyond = out > hit ? ` (${hit} lost a rank)` : '';
  return {
    way: 'replicas-out',
    title: `${grouped(out)} of ${countOf(dp, 'replica')} out${beyond}`,
    costs: [
      ['Compute kept', `${((100 * smaller.dp) / dp).toFixed(1)} %`],
      ['GPUs that stop', grouped(layout.worldSize - smaller.world)],
      ...accumulation(facts, dp, smaller.dp),
      ...stepTime(facts, smaller.facts),
      ['Checkpoint', keptText(checkpointVerdicts(facts, smaller.facts))],
    ],
    text: smaller.text,
    closed: null,
  };
}

/** The largest job of fewer replicas that fits the nodes that are left and has no error; or why there is none. */
function smallerJob(
  { text, root, modules: [facts] }: LayoutFacts,
  { worldSize, gpusPerNode, nodes }: ResolvedLayout,
  { dp, left, lostNodes }: { readonly dp: number; readonly left: number; readonly lostNodes: number },
): Smaller | string {
  const cluster = root.cluster.value;
  const ofReplica = worldSize / dp;
  const batch = root.batch.value?.global_batch_size.value;
  const micro = root.batch.value?.micro_batch_size.value ?? 1;
  const sizes = Array.from({ length: left }, (_, less) => left - less).filter((size) => {
    const world = size * ofReplica;
    const isWhole = !cluster || (world % gpusPerNode === 0 && world / gpusPerNode <= nodes - lostNodes);
    return isWhole && (batch === undefined || batch % (micro * size) === 0);
  });
  for (const size of sizes.slice(0, MAX_TRIED)) {
    const world = size * ofReplica;
    const values = [
      [root.world_size, world],
      [cluster?.nodes, world / gpusPerNode],
      [facts?.fields.dp, size],
    ] as const;
    const edits = values.flatMap(([field, value]) =>
      field?.written && !field.given ? [{ span: field.span, newText: String(value) }] : [],
    );
    const smaller = applyEdits(text, edits);
    const checked = check(smaller);
    if (checked.facts && checked.resolved?.worldSize === world && !hasErrors(checked)) {
      return { dp: size, world, text: smaller, facts: checked.facts };
    }
  }
  return `No smaller number of replicas divides the batch, fills whole nodes and has no error; ${left} of ${dp} are whole.`;
}

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
