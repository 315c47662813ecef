import { divisors } from '../layout';
import { legibility } from './geometry';
import { type Level, type Panel, panelOf, type Space } from './placement';

/** A level whose rows are still to be chosen: how many blocks may lie side by side. */
export interface OpenLevel extends Omit<Level, 'columns'> {
  readonly columns: readonly number[];
}

/** By how much the score of a picture falls where its last row is cut short. */
const RAGGED = 0.7;

/** At most so many ways to lay out one level are tried. */
const MAX_TRIES = 14;

/** The numbers of blocks that may lie side by side where `count` of them fill rows. */
export function foldings(count: number): readonly number[] {
  const even = divisors(count);
  const side = Math.ceil(Math.sqrt(count));
  const near = even.length > 4 ? [] : [side, Math.ceil(side / 2), 2 * side, 3 * side].filter((n) => n > 0 && n < count);
  const all = [...new Set([...even, ...near])].sort((a, b) => a - b);
  // what is much longer than wide reads badly, whatever the space
  const middle = all.findIndex((n) => n >= side);
  const from = Math.max(0, Math.min(middle - MAX_TRIES / 2, all.length - MAX_TRIES));
  return all.slice(from, from + MAX_TRIES);
}

/** Chooses how the blocks of every level are laid out, so that cells and labels can be read best in a space. */
export function tiled(levels: readonly OpenLevel[], space: Space): readonly Level[] {
  let best: readonly Level[] = levels.map((level) => ({ ...level, columns: level.columns[0] ?? 1 }));
  let most = Number.NEGATIVE_INFINITY;
  for (const candidate of choices(levels)) {
    const score = scoreOf(candidate, space);
    if (score > most) {
      most = score;
      best = candidate;
    }
  }
  return best;
}

function scoreOf(levels: readonly Level[], space: Space): number {
  const ragged = levels.filter((level) => level.size % level.columns !== 0).length;
  const score = legibility(panelOf(levels, 0, 1).levels, space);
  return score < 0 ? score : score * RAGGED ** ragged;
}

function* choices(levels: readonly OpenLevel[]): Generator<readonly Level[]> {
  const [first, ...rest] = levels;
  if (!first) {
    yield [];
    return;
  }
  for (const tail of choices(rest)) {
    for (const columns of first.columns) {
      yield [{ ...first, columns }, ...tail];
    }
  }
}

/** A part of a picture whose place is still to be chosen. */
export interface OpenPanel {
  readonly offset: number;
  readonly count: number;
  readonly levels: readonly OpenLevel[];
}

/** At most so many parts lie in one row or column. */
const MAX_BESIDE = 8;

/** Places the parts of a picture in rows or columns, as many in each as lets the worst of them be read best in a space. */
export function arranged(open: readonly OpenPanel[], space: Space): readonly Panel[] {
  const parts = open.map(measured);
  const most = Math.min(parts.length, MAX_BESIDE);
  const all = Array.from({ length: most }, (_, i) => i + 1).flatMap((perLine) => [
    inLines(parts, perLine, space, false),
    ...(perLine > 1 && perLine < most ? [inLines(parts, perLine, space, true)] : []),
  ]);
  const scores = all.map((panels) => worstOf(panels, space));
  return all[scores.indexOf(Math.max(...scores))] ?? [];
}

/** A part whose levels know the label of their last block. */
const measured = ({ offset, count, levels }: OpenPanel): OpenPanel => ({
  offset,
  count,
  levels: levels.map((level) => (level.label ? { ...level, last: level.label(offset + count - 1) } : level)),
});

/** Parts in rows, or in columns, of `perLine` each; every part has space by its number of ranks. */
function inLines(parts: readonly OpenPanel[], perLine: number, space: Space, isColumns: boolean): Panel[] {
  const countOf = (some: readonly OpenPanel[]) => some.reduce((sum, { count }) => sum + count, 0);
  const panels: Panel[] = [];
  let across = 0;
  for (let from = 0; from < parts.length; from += perLine) {
    const line = parts.slice(from, from + perLine);
    const share = countOf(line) / countOf(parts);
    let [along, thick] = [0, 0];
    for (const { offset, count, levels } of line) {
      const own = count / countOf(line);
      const [width, height] = isColumns
        ? [space.width * share, space.height * own]
        : [space.width * own, space.height * share];
      const [x, y] = isColumns ? [across, along] : [along, across];
      const panel = panelOf(tiled(levels, { width, height }), offset, count, x, y);
      panels.push(panel);
      along += isColumns ? panel.height : panel.width;
      thick = Math.max(thick, isColumns ? panel.width : panel.height);
    }
    across += thick;
  }
  return panels;
}

/** How well the worst part of a picture can be read. */
function worstOf(panels: readonly Panel[], space: Space): number {
  const width = space.width / Math.max(...panels.map((panel) => panel.x + panel.width));
  const height = space.height / Math.max(...panels.map((panel) => panel.y + panel.height));
  const scores = panels.map((panel) =>
    legibility(panel.levels, { width: width * panel.width, height: height * panel.height }),
  );
  return Math.min(...scores);
}
