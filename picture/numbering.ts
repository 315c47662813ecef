import { activeSlots, denseGrid, isPacked, memoize, type ResolvedLayout } from '../layout';

/** Which place of the grid each rank has, where they are not the same: packed nonuniform TP leaves places out. */
export interface Numbering {
  /** How many places the grid has, launched or not. */
  readonly places: number;
  placeOf(rank: number): number;
  /** -1 where no rank is launched. */
  rankAt(place: number): number;
}

// only the slices of reduced replicas are looked at one by one: behind them every place is launched
function packedNumbering({ ntp, modules: [module] }: ResolvedLayout): Numbering | null {
  if (!isPacked(ntp) || !module) {
    return null;
  }
  const grid = denseGrid(module);
  const cp = grid.sizeOf('cp');
  const { tpBase } = ntp;
  const slices = Array.from({ length: Math.min(ntp.numReducedTpDpRanks, grid.sizeOf('dp')) * cp }, (_, i) =>
    activeSlots(ntp, Math.floor(i / cp), i % cp, 0),
  );
  const starts = [0];
  for (const slots of slices) {
    starts.push((starts.at(-1) ?? 0) + slots.length);
  }
  const launched = starts.at(-1) ?? 0;
  const nominal = slices.length * tpBase;
  return {
    places: grid.size,
    placeOf: (rank) => {
      if (rank >= launched) {
        return nominal + rank - launched;
      }
      const slice = starts.findLastIndex((start) => start <= rank);
      return slice * tpBase + (slices[slice]?.[rank - (starts[slice] ?? 0)] ?? 0);
    },
    rankAt: (place) => {
      if (place >= nominal) {
        return launched + place - nominal;
      }
      const slice = Math.floor(place / tpBase);
      const slot = slices[slice]?.indexOf(place % tpBase) ?? -1;
      return slot < 0 ? -1 : (starts[slice] ?? 0) + slot;
    },
  };
}

/** How packed placement numbers the ranks of a layout; null where ranks are places. */
export const numberingOf = memoize(packedNumbering);
