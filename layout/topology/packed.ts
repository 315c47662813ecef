import { RankLists } from '../grid/grid';
import type { GroupFamily } from './groupFamily';
import type { NtpShape } from './ntp';
import type { ResolvedNtp } from './resolved';

/** Whether only the active ranks are launched, so that every group is explicit. */
export function isPacked(ntp: ResolvedNtp | null): ntp is ResolvedNtp {
  return ntp !== null && ntp.placement === 'packed' && ntp.tpSpares > 0;
}

/**
 * The launched ranks of packed nonuniform TP. The reduced replicas come first, and all their slices launch equally many ranks, so
 * places follow by arithmetic.
 */
class PackedGrid {
  /** Ranks that a slice of a reduced replica launches, and of a healthy one. */
  readonly reduced: number;
  readonly full: number;
  readonly cp: number;
  readonly dp: number;
  readonly reducedReplicas: number;

  constructor({ tpBase, tpSpares, numReducedTpDpRanks }: ResolvedNtp, { cp, dp }: NtpShape) {
    this.reduced = Math.max(0, tpBase - tpSpares);
    this.full = tpBase;
    this.cp = cp;
    this.dp = dp;
    this.reducedReplicas = Math.min(numReducedTpDpRanks, dp);
  }

  get size(): number {
    return this.base(this.dp, 0);
  }

  /** How many ranks a slice of a replica launches. */
  width(dp: number): number {
    return dp < this.reducedReplicas ? this.reduced : this.full;
  }

  /** The first launched rank of a slice. */
  base(dp: number, cp: number): number {
    const reduced = Math.min(dp, this.reducedReplicas);
    return (reduced * this.reduced + (dp - reduced) * this.full) * this.cp + cp * this.width(dp);
  }

  /** The slice of a rank, and the place of the rank in it; null for a rank that is not launched. */
  place(rank: number): { readonly dp: number; readonly cp: number; readonly slot: number } | null {
    if (rank < 0 || rank >= this.size) {
      return null;
    }
    const healthy = this.base(this.reducedReplicas, 0);
    const [from, first, width] = rank < healthy ? [0, 0, this.reduced] : [healthy, this.reducedReplicas, this.full];
    const slice = Math.floor((rank - from) / width);
    return { dp: first + Math.floor(slice / this.cp), cp: slice % this.cp, slot: (rank - from) % width };
  }

  /** How many slots the healthy replicas have beyond those of reduced ones, in all. */
  get extras(): number {
    return (this.dp - this.reducedReplicas) * this.cp * (this.full - this.reduced);
  }

  /** The rank of an extra slot by its number, slice by slice. */
  extra(index: number): number {
    const each = this.full - this.reduced;
    const slice = Math.floor(index / each);
    return this.base(this.reducedReplicas, 0) + slice * this.full + this.reduced + (index % each);
  }

  /** The number of an extra slot. */
  extraIndex(dp: number, cp: number, slot: number): number {
    const slice = (dp - this.reducedReplicas) * this.cp + cp;
    return slice * (this.full - this.reduced) + slot - this.reduced;
  }
}

/** A family by its members: how many groups, the ranks of each, and the group that holds a place. */
interface Members {
  readonly name: string;
  readonly count: number;
  readonly size: number;
  readonly ranks: (index: number) => number[];
  readonly indexOf: (dp: number, cp: number, slot: number) => number;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/**
 * The groups of packed placement, in the order of the nominal ones: TP groups of each slice's launched ranks; DP groups
 * over matching active slots, the first of each replica, the second, and so on; slots that only healthy replicas have stand
 * alone, as their gradients travel by the reshard splits.
 */
export function packedFamilies(ntp: ResolvedNtp, shape: NtpShape, module: string | null = null): GroupFamily[] {
  const grid = new PackedGrid(ntp, shape);
  return [dpCp(grid), dp(grid), cp(grid), slices(grid, 'mp'), slices(grid, 'tp'), tpCp(grid)].map((members) =>
    familyOf(grid, module, members),
  );
}

function dpCp(grid: PackedGrid): Members {
  return {
    name: 'dp_cp',
    count: grid.reduced + grid.extras,
    size: grid.dp * grid.cp,
    ranks: (index) =>
      index < grid.reduced
        ? numbers(grid.dp * grid.cp).map((i) => grid.base(Math.floor(i / grid.cp), i % grid.cp) + index)
        : [grid.extra(index - grid.reduced)],
    indexOf: (dp, cp, slot) => (slot < grid.reduced ? slot : grid.reduced + grid.extraIndex(dp, cp, slot)),
  };
}

function dp(grid: PackedGrid): Members {
  const shared = grid.cp * grid.reduced;
  return {
    name: 'dp',
    count: shared + grid.extras,
    size: grid.dp,
    ranks: (index) =>
      index < shared
        ? numbers(grid.dp).map((dp) => grid.base(dp, Math.floor(index / grid.reduced)) + (index % grid.reduced))
        : [grid.extra(index - shared)],
    indexOf: (dp, cp, slot) =>
      slot < grid.reduced ? cp * grid.reduced + slot : shared + grid.extraIndex(dp, cp, slot),
  };
}

/** Numbered by the ranks of each replica's first slice. */
function cp(grid: PackedGrid): Members {
  const before = (dp: number) => grid.base(dp, 0) / grid.cp;
  return {
    name: 'cp',
    count: before(grid.dp),
    size: grid.cp,
    ranks: (index) => {
      const healthy = before(grid.reducedReplicas);
      const dp =
        index < healthy
          ? Math.floor(index / grid.reduced)
          : grid.reducedReplicas + Math.floor((index - healthy) / grid.full);
      return numbers(grid.cp).map((cp) => grid.base(dp, cp) + index - before(dp));
    },
    indexOf: (dp, _, slot) => before(dp) + slot,
  };
}

function slices(grid: PackedGrid, name: string): Members {
  return {
    name,
    count: grid.dp * grid.cp,
    size: grid.width(grid.dp - 1),
    ranks: (index) => {
      const dp = Math.floor(index / grid.cp);
      return numbers(grid.width(dp)).map((slot) => grid.base(dp, index % grid.cp) + slot);
    },
    indexOf: (dp, cp) => dp * grid.cp + cp,
  };
}

function tpCp(grid: PackedGrid): Members {
  return {
    name: 'tp_cp',
    count: grid.dp,
    size: grid.width(grid.dp - 1) * grid.cp,
    ranks: (dp) => numbers(grid.width(dp) * grid.cp).map((i) => grid.base(dp, 0) + i),
    indexOf: (dp) => dp,
  };
}

function familyOf(grid: PackedGrid, module: string | null, members: Members): GroupFamily {
  const { name, count, size, ranks, indexOf } = members;
  return {
    name,
    module,
    count,
    size,
    ranks,
    all: () => RankLists.of(count, grid.size, ranks),
    indicesOf: (rank) => {
      const place = grid.place(rank);
      return place ? [indexOf(place.dp, place.cp, place.slot)] : [];
    },
  };
}
