import type { Geometry } from './geometry';

/** A point in pixels of the picture. */
interface Point {
  readonly x: number;
  readonly y: number;
}

/** A way between two ranks. */
export interface Link {
  readonly from: Point;
  readonly to: Point;
}

/** Ranks that lie in a circle up to this radius, in pixels, are hard to find in a large picture. */
const LARGEST_RING = 22;

/** A ring around ranks that are hard to find; null where they are easy to see. */
export function ringOf(geometry: Geometry, ranks: readonly number[]): (Point & { readonly radius: number }) | null {
  const points = ranks.flatMap((rank) => geometry.centreOf(rank) ?? []);
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const radius = Math.hypot(right - left, bottom - top) / 2 + 9;
  const isSmall = geometry.cell < SMALL_CELL && radius <= LARGEST_RING;
  return isSmall ? { x: (left + right) / 2, y: (top + bottom) / 2, radius } : null;
}

/** More links would cover what they join. */
const MAX_LINKS = 256;

/** Between small cells, links are drawn where they are this long on average, in pixels, and no more than so many. */
const SMALL_CELL = 12;
const LEAST_LENGTH = 24;
const FEW_LINKS = 32;

/** The way along a group from machine to machine; empty where it would hide the group. */
export function linksOf(geometry: Geometry, ranks: readonly number[], gpusPerNode: number): readonly Link[] {
  const isSmall = geometry.cell < SMALL_CELL;
  if (ranks.length > (isSmall ? FEW_LINKS : MAX_LINKS)) {
    return [];
  }
  const node = (rank: number) => Math.floor(rank / gpusPerNode);
  const links = ranks.flatMap((rank, i) => {
    const before = ranks[i - 1];
    const [from, to] = [before === undefined ? null : geometry.centreOf(before), geometry.centreOf(rank)];
    return before !== undefined && from && to && node(before) !== node(rank) ? [{ from, to }] : [];
  });
  const length = links.reduce((sum, { from, to }) => sum + Math.hypot(to.x - from.x, to.y - from.y), 0);
  return isSmall && length < LEAST_LENGTH * links.length ? [] : links;
}
