import { check } from './check';
import { type CheckpointFormat, type CheckpointVerdict, checkpointVerdicts } from './checkpoint';
import { type PlannedLayout, planSteps } from './cost';
import { nodesOf } from './recovery';
import { atOnce } from './steps';
import type { LayoutFacts } from './topology/facts';
import { failurePlan } from './topology/failedRanks';
import { denseGrid } from './topology/processGroups';
import type { ResolvedLayout } from './topology/resolved';

/** A layout of the same model and batch on other GPUs. */
export interface Resized {
  readonly planned: PlannedLayout;
  /** GPUs that are there and do no work. */
  readonly idle: number;
  /** What of a checkpoint of the old layout it can load. */
  readonly checkpoint: readonly CheckpointVerdict[];
}

/** What can be done with a job on other GPUs; or why nothing is known. */
export type Resizing =
  | {
      readonly ok: true;
      /** GPUs that there were, and that there are. */
      readonly before: number;
      readonly available: number;
      /** Sequences a step, which every layout keeps. */
      readonly globalBatch: number | null;
      /** The layout as it is, where it can be estimated. */
      readonly present: PlannedLayout | null;
      readonly layouts: readonly Resized[];
      /** What the loss of nodes does to the layout as it is; null where no node is gone. */
      readonly loss: NodeLoss | null;
    }
  | { readonly ok: false; readonly reason: string };

/** A layout that lost nodes and goes on without the data-parallel replicas that lay on them. */
export interface NodeLoss {
  readonly nodes: number;
  /** Replicas that lost a rank, of all. */
  readonly replicas: number;
  readonly allReplicas: number;
  /** GPUs of those replicas on the nodes that are left. */
  readonly idle: number;
  /** GPUs on the nodes that are left that nonuniform TP would leave idle; null where it cannot take these nodes out. */
  readonly nonuniformIdle: number | null;
}

/** What is asked. */
export interface ResizeWish {
  /** GPUs that there are. */
  readonly available: number;
  /** The nodes that are gone, counted from 0. */
  readonly gone: readonly number[];
  /** How many layouts are listed. */
  readonly wanted: number;
  /** Of the checkpoint; the one that the layout names where null. */
  readonly format: CheckpointFormat | null;
  readonly risk?: boolean;
}

/** How many numbers of nodes are tried, from all that are there downwards: the batch and the layers divide few of them. */
const NODE_COUNTS = 12;

/**
 * The layouts of a model and batch on the GPUs that are left or added, the quickest first, each with what it keeps of a checkpoint. All
 * nodes need not be used: a smaller world may divide what a larger one does not.
 * @param facts of a layout without errors, and that layout
 */
export const resizeLayout = (facts: LayoutFacts, layout: ResolvedLayout, wish: ResizeWish): Resizing =>
  atOnce(resizeSteps(facts, layout, wish));

/** What is asked where ranks have failed: their nodes are gone. Null where no node is left. */
export function wishWithout(layout: ResolvedLayout, failed: readonly number[], wanted: number): ResizeWish | null {
  const gone = nodesOf(layout, failed);
  const available = (layout.nodes - gone.length) * layout.gpusPerNode;
  return available > 0 ? { available, gone, wanted, format: null } : null;
}

/** As `resizeLayout`, in steps of well under a millisecond to a few: whoever must not wait takes some at a time. */
export function* resizeSteps(
  facts: LayoutFacts,
  layout: ResolvedLayout,
  wish: ResizeWish,
): Generator<undefined, Resizing> {
  const { available } = wish;
  const worlds = worldsWithin(available, layout.gpusPerNode);
  // a plan shares what is wanted out among its machines
  const wanted = wish.wanted * worlds.length;
  const plan = yield* planSteps(facts.text, { wanted, gpus: worlds, ...(wish.risk && { risk: true }) });
  if (!plan.ok) {
    return plan;
  }
  return {
    ok: true,
    before: layout.worldSize,
    available,
    globalBatch: facts.root.batch.value?.global_batch_size.value ?? null,
    present: plan.present,
    layouts: quickest(plan.layouts, wish.wanted).map((planned) => {
      const now = check(planned.text).facts;
      return {
        planned,
        idle: available - planned.gpus,
        checkpoint: now ? checkpointVerdicts(facts, now, wish.format) : [],
      };
    }),
    loss: lossOfNodes(layout, wish.gone),
  };
}

const quickest = (layouts: readonly PlannedLayout[], wanted: number): PlannedLayout[] =>
  layouts.toSorted((a, b) => a.seconds - b.seconds).slice(0, wanted);

/** Whole nodes, from all downwards, and the largest power of two among them. */
function worldsWithin(available: number, perNode: number): readonly number[] {
  const nodes = Math.floor(available / perNode);
  if (nodes === 0) {
    return [available];
  }
  const counts = Array.from({ length: Math.min(nodes, NODE_COUNTS) }, (_, less) => nodes - less);
  return [...new Set([...counts, 2 ** Math.floor(Math.log2(nodes))])].map((count) => count * perNode);
}

function lossOfNodes(layout: ResolvedLayout, gone: readonly number[]): NodeLoss | null {
  const { modules, gpusPerNode, worldSize } = layout;
  const [only, ...others] = modules;
  if (!only || others.length > 0 || gone.length === 0) {
    return null;
  }
  const ranks = gone.flatMap((node) => Array.from({ length: gpusPerNode }, (_, gpu) => node * gpusPerNode + gpu));
  const lost = ranks.filter((rank) => rank < worldSize);
  const grid = denseGrid(only);
  const dp = grid.axes.find(({ name }) => name === 'dp');
  const replicas = new Set(lost.map((rank) => (dp ? grid.indexAlong(dp, rank) : 0))).size;
  const allReplicas = grid.sizeOf('dp');
  const plan = failurePlan(layout, lost);
  return {
    nodes: gone.length,
    replicas,
    allReplicas,
    idle: (replicas * worldSize) / allReplicas - lost.length,
    nonuniformIdle: plan && plan.idleRanks - lost.length,
  };
}
