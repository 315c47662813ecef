import { HUES } from './colour';
import type { Placement } from './placement';

/** Up to this many ranks the neighbours of each are looked up; beyond, they follow from the steps between blocks. */
const MAX_LOOKED_UP = 16_384;

/** So many ranks of a group are looked at: groups repeat, and so do their neighbours. */
const SAMPLES = 12;

/**
 * Colours groups so that groups with ranks side by side in a picture differ, as far as seven colours go: each group in turn
 * gets the next colour that none of its neighbours has.
 * @param groupOf the group of every rank; -1 for none
 * @returns the colour of every group, from 0
 */
export function distinctHues(groupOf: Int32Array, groups: number, placement: Placement): Uint8Array {
  const neighbours = groupOf.length <= MAX_LOOKED_UP ? lookedUp(placement) : stepped(placement);
  const members = samplesOf(groupOf, groups);
  const hues = new Uint8Array(groups);
  let last = HUES - 1;
  for (let group = 0; group < groups; group++) {
    let taken = 0;
    for (let i = group * SAMPLES; i < (group + 1) * SAMPLES && (members[i] ?? -1) >= 0; i++) {
      for (const rank of neighbours(members[i] ?? 0)) {
        const other = groupOf[rank] ?? -1;
        // only earlier groups have a colour
        taken |= other >= 0 && other < group ? 1 << (hues[other] ?? 0) : 0;
      }
    }
    last = nextFree(taken, last);
    hues[group] = last;
  }
  return hues;
}

/** The next colour after `last` that is not taken; simply the next one where all are. */
function nextFree(taken: number, last: number): number {
  for (let i = 1; i <= HUES; i++) {
    const hue = (last + i) % HUES;
    if ((taken & (1 << hue)) === 0) {
      return hue;
    }
  }
  return (last + 1) % HUES;
}

/** The first ranks of every group, `SAMPLES` places a group; -1 where it has fewer. */
function samplesOf(groupOf: Int32Array, groups: number): Int32Array {
  const members = new Int32Array(groups * SAMPLES).fill(-1);
  const counts = new Uint8Array(groups);
  for (let rank = 0; rank < groupOf.length; rank++) {
    const group = groupOf[rank] ?? -1;
    const count = counts[group] ?? SAMPLES;
    if (group >= 0 && count < SAMPLES) {
      members[group * SAMPLES + count] = rank;
      counts[group] = count + 1;
    }
  }
  return members;
}

/** The ranks in the cells above, below and on both sides. */
function lookedUp(placement: Placement): (rank: number) => readonly number[] {
  return (rank) => {
    const at = placement.cellOf(rank);
    return at
      ? [
          placement.rankAt(at.x - 1, at.y),
          placement.rankAt(at.x + 1, at.y),
          placement.rankAt(at.x, at.y - 1),
          placement.rankAt(at.x, at.y + 1),
        ]
      : [];
  };
}

/** The ranks to which a step to the next cell can lead: from one block to the next, it goes back in all levels inside. */
function stepped({ panels }: Placement): (rank: number) => readonly number[] {
  const steps = new Set<number>();
  for (const { levels } of panels) {
    let [backAcross, backDown] = [0, 0];
    for (const { stride, columns, rows } of levels.toReversed()) {
      if (columns > 1) {
        steps.add(stride - backAcross);
      }
      if (rows > 1) {
        steps.add(stride * columns - backDown);
      }
      backAcross += (columns - 1) * stride;
      backDown += (rows - 1) * columns * stride;
    }
  }
  const both = [...steps].flatMap((step) => [step, -step]);
  return (rank) => both.map((step) => rank + step);
}
