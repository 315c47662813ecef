import { grouped } from '../layout';
import type { Geometry, LevelGeometry } from './geometry';
import { type Panel, placeInPanel } from './placement';

/** Pictures of fewer ranks have room for the names of their blocks, or for numbers in their cells. */
const FEWEST = 512;

/** The least distance from one number to the next, in pixels: the longest one has room. */
const APART = 64;

/** How high the numbers are, and the strips at the edge of a picture that hold them, in pixels. */
export const RULER = { text: 10, strip: 14 };

/** A number beside a row or above a column, in pixels from the upper left corner of the picture. */
interface Tick {
  readonly at: number;
  readonly words: string;
}

/** The numbers at the edges of a picture. */
export interface Rulers {
  readonly rows: readonly Tick[];
  readonly columns: readonly Tick[];
}

/**
 * Numbers of ranks, or of nodes where all of them begin one, beside the rows and above the columns. Blocks of every level lie in
 * rows, so a cell's number is that of its row and, added to it, that of its column. Null where that is not so, or where cells and blocks have numbers of their own.
 */
export function rulersOf({ placement, panels }: Geometry, worldSize: number, gpusPerNode: number): Rulers | null {
  const [geometry, ...more] = panels;
  if (!geometry || more.length > 0 || placement.numbering || worldSize < FEWEST) {
    return null;
  }
  const { panel, levels } = geometry;
  const rows = marksAlong(levels, 'down', panel);
  const columns = marksAlong(levels, 'across', panel);
  const isByNode = [...rows, ...columns].every(({ place }) => place % gpusPerNode === 0);
  const number = (place: number) => grouped(isByNode ? place / gpusPerNode : place);
  return {
    rows: rows.map(({ at, place }) => ({ at, words: number(panel.offset + place) })),
    columns: columns.map(({ at, place }) => ({
      at,
      words: place > 0 ? `+${number(place)}` : isByNode ? 'node' : 'rank',
    })),
  };
}

interface Mark {
  readonly at: number;
  /** Counted from the first place of the picture. */
  readonly place: number;
}

/** Where numbers stand along one side: at the beginning of blocks, of the outermost ones first, then of every one, second or fourth inside. */
function marksAlong(levels: readonly LevelGeometry[], way: 'down' | 'across', panel: Panel): readonly Mark[] {
  let marks: readonly Mark[] = [{ at: (way === 'down' ? levels[0]?.ys[0] : levels[0]?.xs[0]) ?? 0, place: 0 }];
  for (const { level, xs, ys, stepX, stepY } of levels) {
    const [starts, step, count, unit] =
      way === 'down' ? [ys, stepY, level.rows, level.unitHeight] : [xs, stepX, level.columns, level.unitWidth];
    const every = 2 ** Math.max(0, Math.ceil(Math.log2(APART / step)));
    const more: Mark[] = [];
    let next = 0;
    // where only the first of each block has room, the block around it begins
    for (const [i, at] of every < count ? starts.entries() : []) {
      while ((marks[next]?.at ?? Number.POSITIVE_INFINITY) <= at) {
        next++;
      }
      const before = Math.max(marks[next - 1]?.at ?? -APART, more.at(-1)?.at ?? -APART);
      const isFree = at - before >= APART && (marks[next]?.at ?? at + APART) - at >= APART;
      if (isFree && (i % count) % every === 0) {
        const place = way === 'down' ? placeInPanel(panel, 0, i * unit) : placeInPanel(panel, i * unit, 0);
        more.push({ at, place: place - panel.offset });
      }
    }
    marks = [...marks, ...more].sort((a, b) => a.at - b.at);
  }
  return marks.filter(({ place }) => place >= 0);
}
