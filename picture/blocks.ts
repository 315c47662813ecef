import { type Axis, countOf, denseGrid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { type Geometry, type LevelGeometry, SMALLEST_TILE } from './geometry';
import { LEAST_HEADER } from './labels';
import { numberingOf } from './numbering';
import type { BlockLabel } from './placement';
import { modulesOf } from './rankDetails';
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
 * @param detailOf the text beside the name of the block with an index, which begins at a place
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

/** What lies inside what in a picture as it is drawn: `boxes: stage; tiles: node; cells: GPU`. */
export function nestingText({ panels }: Geometry): string {
  const isBox = ({ insets }: LevelGeometry) => insets.header >= LEAST_HEADER;
  const isTile = ({ insets, stepX, stepY }: LevelGeometry) =>
    insets.header < LEAST_HEADER && Math.min(stepX, stepY) >= SMALLEST_TILE;
  const named = (is: (level: LevelGeometry) => boolean) =>
    panels.map(({ levels }) =>
      levels.filter((level) => level.level.label && is(level)).map(({ level }) => wordFor(level.kind)),
    );
  const cells = panels.map(({ levels }) =>
    levels.flatMap(({ level: { kind, label, size, columns } }) => {
      if (label || size === 1) {
        return [];
      }
      return kind === 'GPU' ? kind : `${kind} ${columns > 1 ? 'across' : 'down'}`;
    }),
  );
  return [
    ...chainText('boxes', named(isBox), ' › '),
    ...chainText('tiles', named(isTile), ' › '),
    ...chainText('cells', cells, ', '),
  ].join('; ');
}

/** The nesting in each of several parts of a picture, without those that another part has too. */
function chainText(what: string, chains: readonly (readonly string[])[], between: string): string[] {
  const isIn = (chain: readonly string[], other: readonly string[]) =>
    chain.length < other.length && chain.every((word) => other.includes(word));
  const longest = chains.filter((chain) => chain.length > 0 && !chains.some((other) => isIn(chain, other)));
  const texts = new Set(longest.map((chain) => chain.join(between)));
  return texts.size > 0 ? [`${what}: ${[...texts].join(' or ')}`] : [];
}
