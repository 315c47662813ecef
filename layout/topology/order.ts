import { type Dim, Grid } from '../grid/grid';
import { repr } from './python';

/** The dimensions of a rank generator, in the order in which Megatron-LM checks whether a rank order names them. */
const DIMS = ['tp', 'pp', 'dp', 'ep', 'cp', 'gtp_remat'] as const;
type OrderDim = (typeof DIMS)[number];

/** The sizes of one rank generator's dimensions. */
export type OrderSizes = Readonly<Record<OrderDim, number>>;

/** What is wrong with a rank order as it is written. */
export interface OrderProblem {
  readonly unknown: readonly string[];
  readonly repeated: readonly string[];
}

/**
 * The tokens of an order that no grid has, and those that stand twice. `GTP_REMAT` counts as repeated: Megatron-LM finds small
 * letters only, and adds `gtp_remat`.
 */
export function orderProblem(order: string): OrderProblem {
  const tokens = denseOrder(order).toLowerCase().split('-');
  const known = new Set<string>(DIMS);
  return {
    unknown: tokens.filter((token) => !known.has(token)),
    repeated: tokens.filter((token, i) => known.has(token) && tokens.indexOf(token) !== i),
  };
}

/**
 * The order of the dense grid's generator: `gtp_remat` is put behind `tp` where the order does not place it, and in front of an
 * order in capitals, in which `tp` is not found (megatron/core/parallel_state.py `initialize_model_parallel`).
 * @param hasGtp whether the version has generalized TP; others take the order as it is
 */
export function denseOrder(order: string, hasGtp = true): string {
  return hasGtp ? withGtp(order, ['tp']) : order;
}

/** The order of the expert grid's generator: `gtp_remat` behind `ep`, or behind `tp` where `ep` is left out. */
export function expertOrder(order: string, hasGtp = true): string {
  return hasGtp ? withGtp(order, ['ep', 'tp']) : order;
}

function withGtp(order: string, anchors: readonly string[]): string {
  const tokens = order.split('-');
  if (tokens.includes('gtp_remat')) {
    return order;
  }
  const anchor = anchors.find((token) => tokens.includes(token));
  tokens.splice(anchor === undefined ? 0 : tokens.indexOf(anchor) + 1, 0, 'gtp_remat');
  return tokens.join('-');
}

/**
 * The first dimension that an order must name and does not: one larger than 1, or one that Megatron-LM takes for named because
 * another name contains it (`tp` in `gtp_remat`). Null for none.
 */
export function missingDim(order: string, sizes: OrderSizes): OrderDim | null {
  const text = order.toLowerCase();
  const tokens = text.split('-');
  return DIMS.find((dim) => !tokens.includes(dim) && (sizes[dim] !== 1 || text.includes(dim))) ?? null;
}

/**
 * The error of `RankGenerator` for an order that leaves out a dimension larger than 1; null where it raises none. It looks for
 * names anywhere in the text: `tp` is always found, in `gtp_remat`, and fails later without a message.
 * @param order with `gtp_remat` in it
 */
function missingMessage(order: string, sizes: OrderSizes): string | null {
  const text = order.toLowerCase();
  const dim = DIMS.find((name) => !text.includes(name) && sizes[name] !== 1);
  // the missing space is Megatron's
  return dim ? `The size of (${dim}) is (${sizes[dim]}), but you haven'tspecified the order (${order}).` : null;
}

/**
 * A generator's dimensions in rank order, the fastest first; those of size 1 that the order leaves out come last
 * (`RankGenerator` in megatron/core/parallel_state.py). Null where the order cannot be used.
 */
export function orderedDims(order: string, sizes: OrderSizes): Dim[] | null {
  const { unknown, repeated } = orderProblem(order);
  if (unknown.length > 0 || repeated.length > 0 || missingDim(order, sizes) !== null) {
    return null;
  }
  const tokens = order.toLowerCase().split('-');
  const all = [...tokens, ...DIMS.filter((dim) => !tokens.includes(dim))];
  return all.map((name) => ({ name, size: sizes[name as OrderDim] }));
}

/** Groups of larger worlds are not listed: nobody reads them, and listing them would slow each keystroke. */
const MAX_LISTED_RANKS = 4096;

const UNEQUAL_DP =
  'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same';

/**
 * The first error of `initialize_model_parallel` for an order that names a dimension twice or leaves one out; null where it raises
 * none, or where Python itself fails.
 */
export function orderPrediction(
  order: string,
  dense: OrderSizes,
  expert: OrderSizes | null,
  hasGtp: boolean,
): string | null {
  const missing = missingMessage(denseOrder(order, hasGtp), dense);
  if (missing !== null || orderProblem(order).unknown.length > 0 || !expert) {
    return missing;
  }
  const inExpert = missingMessage(expertOrder(order, hasGtp), expert);
  if (inExpert !== null) {
    return inExpert;
  }
  return !order.endsWith('pp') && dense.pp > 1 && dense.dp !== expert.dp
    ? UNEQUAL_DP
    : pipelinesPrediction(
        pipelineGroups(denseOrder(order, hasGtp), dense),
        pipelineGroups(expertOrder(order, hasGtp), expert),
      );
}

function pipelinesPrediction(own: PipelineGroups | null, other: PipelineGroups | null): string | null {
  if (!own || !other || own.failure || other.failure) {
    return own?.failure ?? other?.failure ?? null;
  }
  return own.listed === other.listed
    ? null
    : `Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got ${own.listed} and ${other.listed}`;
}

interface PipelineGroups {
  readonly listed: string;
  readonly failure?: string;
}

/**
 * The pipeline groups of a generator as Python prints them, also of an order that does not hold every dimension once, or the
 * error of `generate_masked_orthogonal_rank_groups`; null where there are too many ranks.
 */
function pipelineGroups(order: string, sizes: OrderSizes): PipelineGroups | null {
  const text = order.toLowerCase();
  // every version that knows gtp_remat has it in the order
  const added = DIMS.filter((name) => !text.includes(name) && name !== 'gtp_remat');
  const names = [...text.split('-'), ...added] as OrderDim[];
  const world = DIMS.reduce((product, name) => product * sizes[name], 1);
  const axis = names.indexOf('pp');
  if (axis < 0 || world > MAX_LISTED_RANKS) {
    return null;
  }
  // an order may hold a dimension twice
  const groups = new Grid(names.map((name, i) => ({ name: String(i), size: sizes[name] }))).groups([String(axis)]);
  const count = world / sizes.pp;
  if (groups.count < count) {
    const others = names.filter((_, i) => i !== axis).map((name) => sizes[name]);
    const zeros = others.map(() => 0);
    const failure = `idx ${groups.count} with shape ${repr(others)} mismatch the return idx ${repr(zeros)}`;
    return { listed: '', failure };
  }
  return { listed: repr(Array.from({ length: count }, (_, index) => groups.ranks(index))) };
}
