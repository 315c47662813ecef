import type { Geometry } from './geometry';
import { LEAST_HEADER } from './labels';

/** What blocks and cells of some dimensions are called. */
const WORDS: Readonly<Record<string, string>> = { pp: 'stage', dp: 'replica', expt_dp: 'expert replica' };

/** Blocks that have no room for a label are told apart by lines from this size in pixels on. */
export const SMALLEST_TILE = 6;

/** What lies inside what in a picture as it is drawn: `boxes: stage; tiles: node; cells: GPU`. */
export function nestingText(geometry: Geometry): string {
  // of modules side by side, the one with most levels has them in their order
  const levels = geometry.panels.toSorted((a, b) => b.levels.length - a.levels.length).flatMap((panel) => panel.levels);
  const word = (kind: string) => WORDS[kind] ?? kind;
  const boxes = levels.filter(({ insets }) => insets.header >= LEAST_HEADER).map(({ level }) => word(level.kind));
  const tiles = levels
    .filter(
      ({ insets, level, stepX, stepY }) =>
        level.label && insets.header < LEAST_HEADER && Math.min(stepX, stepY) >= SMALLEST_TILE,
    )
    .map(({ level }) => word(level.kind));
  const bare = levels.filter(({ level }) => level.label === null && level.size > 1).map(({ level }) => level);
  const cells = bare.map(({ kind, columns }) => (kind === 'GPU' ? kind : `${kind} ${columns > 1 ? 'across' : 'down'}`));
  const parts = [
    ...(boxes.length > 0 ? [`boxes: ${[...new Set(boxes)].join(' › ')}`] : []),
    ...(tiles.length > 0 ? [`tiles: ${[...new Set(tiles)].join(' › ')}`] : []),
    ...(cells.length > 0 ? [`cells: ${[...new Set(cells)].join(', ')}`] : []),
  ];
  return parts.join('; ');
}
