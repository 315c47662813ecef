import { both, grouped, memoize } from '../layout';
import { type Colouring, type Status, statusColouring } from './colour';
import { CHANGES, type Difference } from './difference';

/** Ranks that differ in the same way. */
export interface ChangeKind extends Status {
  /** What marks a rank in text. */
  readonly letter: string;
  readonly count: number;
}

/** So many sets of dimensions have a colour of their own; ranks of rarer ones share one. */
const MAX_SETS = 4;

const SET_LOOKS = [
  { fill: '#e69f00', sign: 'stripes', letter: 'a' },
  { fill: '#009e73', sign: 'none', letter: 'b' },
  { fill: '#f0e442', sign: 'dots', letter: 'c' },
  { fill: '#cc79a7', sign: 'stripes', letter: 'd' },
] as const;

/** How ranks differ between two layouts: by the dimensions along which they have other coordinates. */
interface ChangeKinds {
  /** Those that some rank has, unchanged ranks first, those of one layout only last. */
  readonly kinds: readonly ChangeKind[];
  /** The place of a rank's kind in `kinds`. */
  kindOf(rank: number): number;
  /** Ranks in the colour of the dimensions that changed for them. */
  readonly colouring: Colouring;
  /** What each letter stands for, with its ranks: `a other tp (32)`. */
  legend(): string;
}

/** The kinds of a difference, worked out once. */
export const changeKindsOf = memoize((difference: Difference): ChangeKinds => {
  const { dims, moved } = difference;
  const counts = new Uint32Array(2 ** dims.length);
  const coordinates = CHANGES.indexOf('coordinates');
  for (let rank = 0; rank < moved.length; rank++) {
    if (difference.changes[rank] === coordinates) {
      const bits = moved[rank] ?? 0;
      counts[bits] = (counts[bits] ?? 0) + 1;
    }
  }
  const sets = [...counts.entries()].filter(([bits, count]) => bits > 0 && count > 0).sort((a, b) => b[1] - a[1]);
  const own = sets.slice(0, MAX_SETS);
  const rest = difference.count('coordinates') - own.reduce((sum, [, count]) => sum + count, 0);
  const all = [
    { id: 'same', label: 'unchanged', fill: '#dddddd', sign: 'none', letter: '.', count: difference.count('same') },
    {
      id: 'peers',
      label: 'other peers',
      fill: '#56b4e9',
      sign: 'dots',
      letter: 'o',
      count: difference.count('peers'),
    },
    ...own.map(([bits, count], i) => ({
      id: `${bits}`,
      label: `other ${both(dims.filter((_, bit) => bits & (1 << bit)))}`,
      ...(SET_LOOKS[i] ?? SET_LOOKS[0]),
      count,
    })),
    { id: 'rest', label: 'other coordinates', fill: '#0072b2', sign: 'stripes', letter: 'x', count: rest },
    {
      id: 'absent',
      label: 'in one layout only',
      fill: '#d55e00',
      sign: 'cross',
      letter: '+',
      count: difference.count('absent'),
    },
  ] as const;
  const present = all.filter(({ count }) => count > 0);
  const places = new Map<string, number>(present.map(({ id }, i) => [id, i]));
  const kinds = present.map(({ id: _, ...kind }) => kind);
  const kindOf = (rank: number) => {
    const change = difference.changeOf(rank);
    const id = change === 'coordinates' ? `${moved[rank] ?? 0}` : change;
    return places.get(id) ?? places.get('rest') ?? 0;
  };
  return {
    kinds,
    kindOf,
    colouring: statusColouring('what changed', kinds, kindOf),
    legend: () => kinds.map(({ letter, label, count }) => `${letter} ${label} (${grouped(count)})`).join('   '),
  };
});
