import { denseGrid, type ResolvedLayout } from '../layout';
import { modulesOf } from './facts';
import { numberingOf } from './numbering';
import type { StageLayers } from './stageLayers';

/** What people call a block of ranks that have one coordinate along a dimension in common. */
const BLOCK_NAMES: Readonly<Record<string, string>> = { pp: 'stage', dp: 'replica', expt_dp: 'expert replica' };

/** What the blocks along a dimension of a module hold: layers for stages, nothing for others. */
export const layersOf = (stages: readonly StageLayers[], module: string | null, dim: string): readonly string[] =>
  dim === 'pp' ? (stages.find((one) => one.module === module)?.stages ?? []) : [];

/** The name of a block: `stage 3`, `replica 0`, `cp 1`. */
export const blockName = (dim: string, index: number): string => `${BLOCK_NAMES[dim] ?? dim} ${index}`;

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
  if (!module || modules.length > 1 || numberingOf(layout)) {
    return '';
  }
  const end = Math.min(first + ranks, layout.worldSize);
  if (module.rankOffset + module.numRanks < end) {
    return '';
  }
  const grid = denseGrid(module);
  const shared = grid.axes.filter(
    (axis) => axis.size > 1 && !above.includes(axis.name) && axis.stride >= ranks && axis.stride % ranks === 0,
  );
  const name = layout.modules.length > 1 && !above.includes('module') && module.name !== null ? [module.name] : [];
  return [...name, ...shared.toReversed().map((axis) => blockName(axis.name, grid.indexAlong(axis, first)))].join(
    ' · ',
  );
}
