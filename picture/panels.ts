import { legibility } from './geometry';
import { type Panel, panelOf, type Space } from './placement';
import { type OpenLevel, tiled } from './tiling';

/** A part of a picture whose place is still to be chosen. */
export interface OpenPanel {
  readonly offset: number;
  readonly count: number;
  readonly levels: readonly OpenLevel[];
}

/** At most so many parts stand side by side. */
const MAX_BESIDE = 8;

/** Places the parts of a picture in rows, as many in a row as lets their cells be read best in a space. */
export function arranged(parts: readonly OpenPanel[], space: Space): readonly Panel[] {
  const all = Array.from({ length: Math.min(parts.length, MAX_BESIDE) }, (_, i) => inRows(parts, i + 1, space));
  return all.reduce((best, one) => (one.worth > best.worth ? one : best)).panels;
}

function inRows(parts: readonly OpenPanel[], perRow: number, space: Space): { panels: Panel[]; worth: number } {
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const panels: Panel[] = [];
  let y = 0;
  for (let from = 0; from < parts.length; from += perRow) {
    const row = parts.slice(from, from + perRow);
    const inRow = row.reduce((sum, { count }) => sum + count, 0);
    let x = 0;
    let high = 0;
    for (const { offset, count, levels } of row) {
      const own = { width: (space.width * count) / inRow, height: (space.height * inRow) / total };
      const panel = panelOf(tiled(levels, own), offset, count, x, y);
      panels.push(panel);
      x += panel.width;
      high = Math.max(high, panel.height);
    }
    y += high;
  }
  return { panels, worth: worthOf(panels, space) };
}

/** The worth of a whole: that of its worst part. */
function worthOf(panels: readonly Panel[], space: Space): number {
  const width = Math.max(...panels.map((panel) => panel.x + panel.width));
  const height = Math.max(...panels.map((panel) => panel.y + panel.height));
  return Math.min(
    ...panels.map((panel) =>
      legibility(panel.levels, {
        width: (space.width * panel.width) / width,
        height: (space.height * panel.height) / height,
      }),
    ),
  );
}
