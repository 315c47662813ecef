import { understand } from './check';
import { type CheckpointFormat, type CheckpointVerdict, checkpointVerdicts, type PartVerdict } from './checkpoint';
import { type PlannedLayout, planSteps } from './cost';
import { keyEdits } from './cost/keyChanges';
import { RANKING_ERROR } from './cost/plan';
import { applyEdits } from './format/edit';
import { grouped } from './format/quantities';
import { lostShares, nodesOf } from './recovery';
import { divisors } from './rules/numbers';
import { atOnce } from './steps';
import type { LayoutFacts } from './topology/facts';
import { failurePlan } from './topology/failedRanks';
import type { ResolvedLayout } from './topology/resolved';

/** A layout of the same model on other GPUs. */
export interface Resized {
  readonly planned: PlannedLayout;
  /** Sequences a step; null where the layout that is resized does not say how many. */
  readonly globalBatch: number | null;
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
      /** Sequences a step of the layout that is resized. */
      readonly globalBatch: number | null;
      /** The layout as it is, where it can be estimated. */
      readonly present: PlannedLayout | null;
      /** Those that keep the batch, the quickest first; behind them those that change it, the nearest batch first. */
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
  /** How many layouts are listed, of those that keep the batch and of those that change it. */
  readonly wanted: number;
  /** Of the checkpoint; the one that the layout names where null. */
  readonly format: CheckpointFormat | null;
  readonly risk?: boolean;
}

/** How many numbers of nodes are tried, from all that are there downwards: the batch and the layers divide few of them. */
const NODE_COUNTS = 12;

/** How many other batches are tried on a number of GPUs, from the nearest on. */
const BATCHES = 6;

/**
 * The layouts of a model and batch on the GPUs that are left or added, the quickest first, each with what it keeps of a checkpoint. All
 * nodes need not be used: a smaller world may divide what a larger one does not. Layouts with another batch follow where they use more
 * GPUs and are quicker by the sequence.
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
  const globalBatch = facts.root.batch.value?.global_batch_size.value ?? null;
  // a plan shares what is wanted out among its machines
  const plan = yield* planSteps(facts.text, { ...planWish(wish), wanted: wish.wanted * worlds.length, gpus: worlds });
  if (!plan.ok) {
    return plan;
  }
  const kept = quickest(plan.layouts, wish.wanted);
  const changed =
    globalBatch === null ? [] : yield* otherBatchSteps(facts, wish, globalBatch, { worlds, kept: kept[0] });
  const layouts = [...kept.map((planned) => ({ planned, globalBatch })), ...changed];
  return {
    ok: true,
    before: layout.worldSize,
    available,
    globalBatch,
    present: plan.present,
    layouts: layouts.map((one) => {
      const now = understand(one.planned.text).facts;
      return {
        ...one,
        idle: available - one.planned.gpus,
        checkpoint: now ? checkpointVerdicts(facts, now, wish.format) : [],
      };
    }),
    loss: lossOfNodes(layout, wish.gone),
  };
}

const planWish = ({ risk }: ResizeWish) => (risk ? { risk } : {});

const quickest = (layouts: readonly PlannedLayout[], wanted: number): PlannedLayout[] =>
  layouts.toSorted((a, b) => a.seconds - b.seconds).slice(0, wanted);

/** `1,024 → 1,022`: the sequences of a step where a layout changes them; null where it keeps them. */
export const batchChange = (before: { readonly globalBatch: number | null }, after: Resized): string | null =>
  before.globalBatch === null || after.globalBatch === null || before.globalBatch === after.globalBatch
    ? null
    : `${grouped(before.globalBatch)} → ${grouped(after.globalBatch)}`;

/** What becomes of the order of the data, which says what another batch means for a run that continues. */
export const dataPart = ({ checkpoint: [verdict] }: Resized): PartVerdict | undefined =>
  verdict?.parts.find(({ part }) => part === 'data');

/** A layout with the sequences of its step. */
type Batched = Pick<Resized, 'planned'> & { readonly globalBatch: number };

/**
 * Layouts with another batch, on the most GPUs that take one, where those are more than the quickest layout uses that keeps it. The
 * nearest batch is first; one further off follows only where it is quicker by the sequence, beyond the error of the estimate.
 */
function* otherBatchSteps(
  facts: LayoutFacts,
  wish: ResizeWish,
  globalBatch: number,
  { worlds, kept }: { readonly worlds: readonly number[]; readonly kept: PlannedLayout | undefined },
): Generator<undefined, readonly Batched[]> {
  const micro = facts.root.batch.value?.micro_batch_size.value ?? 1;
  const listed: Batched[] = [];
  const perSequence = (one: Batched) => one.planned.seconds / one.globalBatch;
  const mostSeconds = kept ? perSequence({ planned: kept, globalBatch }) : Number.POSITIVE_INFINITY;
  for (const world of worlds.filter((gpus) => gpus > (kept?.gpus ?? 0)).toSorted((a, b) => b - a)) {
    for (const batch of nearestBatches(globalBatch, world, micro)) {
      const edits = keyEdits(facts, [{ section: 'batch', key: 'global_batch_size', value: String(batch) }]);
      const text = edits && applyEdits(facts.text, edits);
      const plan = text === null ? null : yield* planSteps(text, { ...planWish(wish), wanted: 1, gpus: [world] });
      const [planned] = plan?.ok ? plan.layouts : [];
      const found = planned && { planned, globalBatch: batch };
      const last = listed.at(-1);
      const limit = last ? perSequence(last) / (1 + RANKING_ERROR) : mostSeconds;
      if (found && perSequence(found) < limit) {
        listed.push(found);
      }
    }
    if (listed.length > 0) {
      break;
    }
  }
  return listed.slice(0, wish.wanted);
}

/** The batches on both sides that some number of replicas divides which does not divide the batch itself, the nearest first. */
function nearestBatches(batch: number, world: number, micro: number): readonly number[] {
  const shares = divisors(world, world).flatMap((dp) => [dp, dp * micro]);
  const sides = shares
    .filter((share) => batch % share !== 0)
    .flatMap((share) => [Math.floor(batch / share) * share, Math.ceil(batch / share) * share]);
  const away = (one: number) => Math.abs(one - batch);
  return [...new Set(sides)]
    .filter((one) => one > 0)
    .sort((a, b) => away(a) - away(b) || a - b)
    .slice(0, BATCHES);
}

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
  if (modules.length !== 1 || gone.length === 0) {
    return null;
  }
  const ranks = gone.flatMap((node) => Array.from({ length: gpusPerNode }, (_, gpu) => node * gpusPerNode + gpu));
  const lost = ranks.filter((rank) => rank < worldSize);
  const { hit: replicas, all: allReplicas } = lostShares(modules, lost);
  const plan = failurePlan(layout, lost);
  return {
    nodes: gone.length,
    replicas,
    allReplicas,
    idle: (replicas * worldSize) / allReplicas - lost.length,
    nonuniformIdle: plan && plan.idleRanks - lost.length,
  };
}
