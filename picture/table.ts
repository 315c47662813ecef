import { csvCell, denseGrid, type ResolvedLayout, type ResolvedModule } from '../layout';
import { numberingOf } from './numbering';
import { axisNamed, gridsOf, modulesOf } from './rankDetails';

/** A dimension of the grids of a layout. */
export interface Dimension {
  readonly name: string;
  /** Its size in the module that has most along it. */
  readonly size: number;
  /** Whether it is one of the grids of experts alone. */
  readonly ofExperts: boolean;
  /** The coordinate of a rank along it in a module; null where the module does not have it. */
  indexOf(module: ResolvedModule, rank: number): number | null;
}

/** The dimensions of a layout, in the order of its modules. */
export function dimensionsOf(layout: ResolvedLayout): Dimension[] {
  const numbering = numberingOf(layout);
  const grids = layout.modules.flatMap(gridsOf);
  const names = [...new Set(grids.flatMap(({ axes }) => axes.map(({ name }) => name)))];
  return names.map((name) => {
    const along = new Map(layout.modules.map((module) => [module, axisNamed(module, name)]));
    return {
      name,
      ofExperts: !layout.modules.some((module) => denseGrid(module).axes.some((axis) => axis.name === name)),
      size: Math.max(...[...along.values()].map((found) => found?.axis.size ?? 1)),
      indexOf: (module, rank) => {
        const found = along.get(module);
        return found ? found.grid.indexAlong(found.axis, numbering?.placeOf(rank) ?? rank) : null;
      },
    };
  });
}

/** The most ranks that are put in another order. */
export const MAX_ORDERED = 1_048_576;

/**
 * Ranks by a number of each, those with the same one ascending: in as many steps as there are ranks and numbers.
 * @param numberOf from -1; what has no number comes first
 */
export function ordered(ranks: Int32Array, numberOf: (rank: number) => number, descending: boolean): Int32Array {
  const numbers = ranks.map(numberOf);
  const most = numbers.reduce((a, b) => Math.max(a, b), 0);
  const keyOf = (number: number) => (descending ? most - number : number + 1);
  const starts = new Int32Array(most + 3);
  for (const number of numbers) {
    const next = keyOf(number) + 1;
    starts[next] = (starts[next] ?? 0) + 1;
  }
  for (let key = 1; key < starts.length; key++) {
    starts[key] = (starts[key] ?? 0) + (starts[key - 1] ?? 0);
  }
  const result = new Int32Array(ranks.length);
  ranks.forEach((rank, i) => {
    const key = keyOf(numbers[i] ?? -1);
    const at = starts[key] ?? 0;
    starts[key] = at + 1;
    result[at] = rank;
  });
  return result;
}

/** The whole table as one text, for as many ranks as a file may have. */
export function csvOf(layout: ResolvedLayout): string {
  return [...csvLines(layout)].join('');
}

/** All ranks as comma-separated values: where each lies and its coordinates, a line a rank (two where modules share it). */
export function* csvLines(layout: ResolvedLayout): Iterable<string> {
  const dimensions = dimensionsOf(layout);
  yield `${['rank', 'node', 'gpu', 'module', ...dimensions.map(({ name }) => name)].join(',')}\n`;
  for (let rank = 0; rank < layout.worldSize; rank++) {
    const machine = [rank, Math.floor(rank / layout.gpusPerNode), rank % layout.gpusPerNode];
    for (const module of modulesOf(layout, rank)) {
      const values = dimensions.map((dimension) => dimension.indexOf(module, rank) ?? '');
      yield `${[...machine, csvCell(module.name ?? ''), ...values].join(',')}\n`;
    }
  }
}
