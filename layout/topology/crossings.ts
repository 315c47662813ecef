import { gcd, joinedAxes, type Step, unravel } from '../grid/arithmetic';
import type { Grid } from '../grid/grid';
import type { ResolvedLayout } from './resolved';

/** Neighbouring ranks that reach one another faster than they reach others. */
export interface Domain {
  readonly label: string;
  /** GPUs in a domain. */
  readonly size: number;
}

/** A node, or the NVLink domain where that is larger: beyond it, ranks talk over the network. */
export function nodeOf({
  gpusPerNode,
  gpusPerNvlinkDomain,
}: Pick<ResolvedLayout, 'gpusPerNode' | 'gpusPerNvlinkDomain'>): Domain {
  return gpusPerNvlinkDomain > gpusPerNode
    ? { label: 'NVLink domain', size: gpusPerNvlinkDomain }
    : { label: 'node', size: gpusPerNode };
}

/** How the groups over some dimensions of a grid lie over equal neighbouring domains of ranks (nodes, NVLink domains). */
export interface Crossings {
  /** How many groups there are. */
  readonly groups: number;
  /** How many of them have ranks in more than one domain; at least so many where the count is not `exact`. */
  readonly crossing: number;
  /** Whether all borders that differ were counted. */
  readonly exact: boolean;
  /** The first of those, by its index and its first and last rank; null where none crosses. */
  readonly first: { readonly index: number; readonly start: number; readonly end: number } | null;
}

/**
 * Counts the groups over the named dimensions that have ranks in more than one domain, by arithmetic on strides.
 *
 * A group reaches from its lowest rank (its base) over the same extent as all others, so it crosses exactly the domain
 * borders that lie behind its base and within that extent. Bases and borders repeat with a period along the outermost
 * dimension, and one period is counted, whatever the size of the world. That is mostly one border or two; where degrees and
 * domain have no common factor it can be as many as a block has ranks.
 * @param domain ranks a domain; domain d has ranks `[d * domain, (d + 1) * domain)`
 * @param most how many borders are counted at most
 */
export function crossings(
  grid: Grid,
  names: readonly string[],
  domain: number,
  most = Number.POSITIVE_INFINITY,
): Crossings {
  const axes = grid.axes.filter(({ size }) => size > 1);
  const inner = axes.filter(({ name }) => names.includes(name));
  const extent = inner.reduce((sum, { size, stride }) => sum + (size - 1) * stride, 0);
  const outer = joinedAxes(axes.filter((axis) => !inner.includes(axis)));
  const groups = countOf(outer);
  if (extent >= domain) {
    return {
      groups,
      crossing: groups,
      exact: true,
      first: { index: 0, start: grid.offset, end: grid.offset + extent },
    };
  }
  // block by block along the outermost dimension, where groups lie side by side along it
  const outermost = axes.at(-1) === inner.at(-1) ? undefined : outer.at(-1);
  const block = outermost?.stride ?? grid.size;
  const bases = outermost ? outer.slice(0, -1) : outer;
  const border = domain - (grid.offset % domain);
  const borders = border < grid.size ? Math.floor((grid.size - 1 - border) / domain) + 1 : 0;
  const period = block / gcd(block, domain);
  let crossing = 0;
  let first: Crossings['first'] = null;
  const unlike = Math.min(borders, period);
  for (let i = 0; i < Math.min(unlike, most); i++) {
    const place = border + i * domain;
    const inBlock = place % block;
    const below = basesBelow(bases, inBlock - extent);
    const count = basesBelow(bases, inBlock) - below;
    crossing += count * (Math.floor(borders / period) + (i < borders % period ? 1 : 0));
    if (count > 0 && first === null) {
      const blocks = Math.floor(place / block);
      const start = grid.offset + blocks * block + unravel(below, bases);
      first = { index: blocks * countOf(bases) + below, start, end: start + extent };
    }
  }
  return { groups, crossing, exact: unlike <= most, first };
}

function countOf(axes: readonly Step[]): number {
  return axes.reduce((n, { size }) => n * size, 1);
}

/** How many sums of steps along the axes (ascending, each stride beyond all steps below it) are less than `limit`. */
function basesBelow(axes: readonly Step[], limit: number): number {
  let rest = limit;
  let count = 0;
  let weight = countOf(axes);
  for (const { size, stride } of axes.toReversed()) {
    if (rest <= 0) {
      return count;
    }
    weight /= size;
    const digit = Math.floor(rest / stride);
    if (digit >= size) {
      return count + size * weight;
    }
    count += digit * weight;
    rest -= digit * stride;
  }
  return count + (rest > 0 ? 1 : 0);
}
