import type { Geometry } from './geometry';

/** A way between two ranks, in pixels of the picture. */
export interface Link {
  readonly from: { readonly x: number; readonly y: number };
  readonly to: { readonly x: number; readonly y: number };
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
