import type { ResolvedLayout } from '../layout';
import { type Colouring, grainSize, isCycle, isPlain } from './colour';
import { familiesOf } from './rankDetails';
import { leavesNode } from './reach';

/** Larger groups would be most of the picture. */
const MAX_RANKS = 4096;

/** Blocks of this size, in pixels, are told apart by their colours. */
const SMALLEST_BLOCK = 20;

/** Ranks that are shown alone. */
export interface Isolated {
  /** Ascending. */
  readonly ranks: readonly number[];
  /** `group 8`. */
  readonly name: string;
}

/** Where so many groups are drawn that colours cannot tell them apart, one of them is shown alone. */
export interface Example extends Isolated {
  readonly leavesNode: boolean;
}

/** Which of many groups is the example: one inside of the picture, where it is seen better than at an edge. */
const WHERE = 0.6;

/** The group that stands for all of a kind. */
export const exampleIndex = (count: number): number => Math.floor(count * WHERE);

/** A group of one kind; null where that has no other, or too many ranks. */
export function exampleOf(layout: ResolvedLayout, name: string, colouring: Colouring): Example | null {
  const family = familiesOf(layout).find((one) => one.name === name && one.size > 1);
  if (!family || !isCycle(colouring) || family.size > MAX_RANKS) {
    return null;
  }
  const ranks = family.ranks(exampleIndex(family.count));
  return { ranks, name: colouring.label(colouring.valueOf(ranks[0] ?? 0)), leavesNode: leavesNode(layout, name) };
}

/**
 * The example, where colours cannot tell groups apart.
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
