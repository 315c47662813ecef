import { type Axis, countOf, denseGrid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { modulesOf } from './facts';
import type { Geometry } from './geometry';
import { LEAST_HEADER } from './labels';
import { numberingOf } from './numbering';
import type { BlockLabel } from './placement';
import type { StageLayers } from './stageLayers';
import type { OpenLevel } from './tiling';

/** What people call a block of ranks that have one coordinate along a dimension in common. */
const BLOCK_NAMES: Readonly<Record<string, string>> = { pp: 'stage', dp: 'replica', expt_dp: 'expert replica' };

const wordFor = (kind: string): string => BLOCK_NAMES[kind] ?? kind;

/** Dimensions that people think of as boxes, the outermost first; others lie inside of them. */
const NESTED = ['pp', 'dp', 'expt_dp'];

/** The dimensions of a grid from the outermost box to the innermost one. */
export function nested(axes: readonly Axis[]): Axis[] {
  const depth = ({ name }: Axis) => (NESTED.includes(name) ? NESTED.indexOf(name) : NESTED.length);
  return axes.toSorted((a, b) => depth(a) - depth(b) || b.stride - a.stride);
}

/** The layers of the stages of a module, for its pipeline dimension; empty for other dimensions. */
export const layersOf = (stages: readonly StageLayers[], module: string | null, dim: string): readonly string[] =>
  dim === 'pp' ? (stages.find((one) => one.module === module)?.stages ?? []) : [];

/** The name of a block: `stage 3`, `replica 0`, `cp 1`. */
export const blockName = (dim: string, index: number): string => `${wordFor(dim)} ${index}`;

/** The box around a module. */
export const moduleLevel = ({ name, numRanks }: ResolvedModule, places: number): OpenLevel => ({
  kind: 'module',
  stride: places,
  size: 1,
  columns: [1],
  label: () => ({ title: name ?? '', detail: countOf(numRanks, 'rank') }),
});

/**
 * The boxes of a dimension.
 * @param offset the first place of the module
 * @param detailOf what stands beside the name of the block with an index, which begins at a place
 */
export function boxLevel(
  { name, stride, size }: Axis,
  offset: number,
  columns: readonly number[],
  detailOf: (index: number, place: number) => string,
): OpenLevel {
  const label = (place: number): BlockLabel => {
    const index = Math.floor((place - offset) / stride) % size;
    return { title: blockName(name, index), detail: detailOf(index, place) };
  };
  return { kind: name, stride, size, columns, label };
}

/**
 * What `ranks` neighbouring ranks have in common along the dimensions of their module: `stage 0 · replica 3`.
 * @param above what the blocks around say already: a dimension, `module`
 */
export function sharedCoordinates(
  layout: ResolvedLayout,
  first: number,
  ranks: number,
  above: readonly string[],
): string {
  const modules = modulesOf(layout, first);
  const [module] = modules;
  const end = Math.min(first + ranks, layout.worldSize);
  if (!module || modules.length > 1 || numberingOf(layout) || module.rankOffset + module.numRanks < end) {
    return '';
  }
  const grid = denseGrid(module);
  const shared = grid.axes.filter(
    ({ name, size, stride }) => size > 1 && !above.includes(name) && stride >= ranks && stride % ranks === 0,
  );
  const name = layout.modules.length > 1 && !above.includes('module') ? [module.name ?? ''] : [];
  return [...name, ...shared.toReversed().map((axis) => blockName(axis.name, grid.indexAlong(axis, first)))].join(
    ' · ',
  );
}

/** Blocks that have no room for a label are told apart by lines from this size in pixels on. */
export const SMALLEST_TILE = 6;

/** What lies inside what in a picture as it is drawn: `boxes: stage; tiles: node; cells: GPU`. */
export function nestingText(geometry: Geometry): string {
  // of modules side by side, the one with most levels has them in their order
  const levels = geometry.panels.toSorted((a, b) => b.levels.length - a.levels.length).flatMap((panel) => panel.levels);
  const named = levels.filter(({ level }) => level.label);
  const boxes = named.filter(({ insets }) => insets.header >= LEAST_HEADER);
  const tiles = named.filter(
    ({ insets, stepX, stepY }) => insets.header < LEAST_HEADER && Math.min(stepX, stepY) >= SMALLEST_TILE,
  );
  const cells = levels.flatMap(({ level: { kind, label, size, columns } }) => {
    if (label || size === 1) {
      return [];
    }
    return kind === 'GPU' ? kind : `${kind} ${columns > 1 ? 'across' : 'down'}`;
  });
  const part = (what: string, words: readonly string[], between: string) =>
    words.length > 0 ? [`${what}: ${[...new Set(words)].join(between)}`] : [];
  const kindsOf = (all: typeof levels) => all.map(({ level }) => wordFor(level.kind));
  return [
    ...part('boxes', kindsOf(boxes), ' › '),
    ...part('tiles', kindsOf(tiles), ' › '),
    ...part('cells', cells, ', '),
  ].join('; ');
}
