import type { ResolvedLayout } from '../layout';
import { type Colouring, grainSize, isCycle, isPlain } from './colour';
import { familiesOf, rankList } from './facts';
import { leavesNode } from './reach';

/** Larger groups would be most of the picture. */
const MAX_RANKS = 4096;

/** Blocks of this size, in pixels, are told apart by their colours. */
const SMALLEST_BLOCK = 20;

/** So many runs of ranks are named. */
const MAX_RUNS = 3;

/** Where so many groups are drawn that colours cannot tell them apart, one of them is shown alone. */
export interface Example {
  /** Its ranks, ascending. */
  readonly ranks: readonly number[];
  /** `group 8: ranks 128, 136, …, 184`. */
  readonly text: string;
  readonly leavesNode: boolean;
}

/** The group in the middle of one kind; null where that has no other, or too many ranks. */
export function exampleOf(layout: ResolvedLayout, name: string, colouring: Colouring): Example | null {
  const family = familiesOf(layout).find((one) => one.name === name && one.size > 1);
  if (!family || !isCycle(colouring) || family.size > MAX_RANKS) {
    return null;
  }
  const ranks = family.ranks(family.count >> 1);
  const group = colouring.label(colouring.valueOf(ranks[0] ?? 0));
  return { ranks, text: `${group}: ranks ${rankList(ranks, MAX_RUNS)}`, leavesNode: leavesNode(layout, name) };
}

/**
 * The example, where it is shown alone: colours by themselves would be noise.
 * @param cell the size of a cell in pixels
 * @param isNumbered whether cells carry their rank
 */
export const shownExample = (
  example: Example | null | undefined,
  colouring: Colouring,
  cell: number,
  isNumbered: boolean,
): Example | null =>
  example &&
  (isPlain(colouring, cell) || (example.leavesNode && !isNumbered && grainSize(colouring, cell) < SMALLEST_BLOCK))
    ? example
    : null;
