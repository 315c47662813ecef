import { csvCell, denseGrid, expertGrid, type ResolvedLayout } from '../layout';
import { numberingOf } from './numbering';
import { modulesOf } from './rankDetails';

/** The whole table as one text, for as many ranks as a file may have. */
export function csvOf(layout: ResolvedLayout): string {
  return [...csvLines(layout)].join('');
}

/** All ranks as comma-separated values: where each lies and its coordinates, a line a rank (two where modules share it). */
export function* csvLines(layout: ResolvedLayout): Iterable<string> {
  const numbering = numberingOf(layout);
  const grids = layout.modules.map((module) => ({ module, dense: denseGrid(module), expert: expertGrid(module) }));
  const names = [
    ...new Set(grids.flatMap(({ dense, expert }) => [...dense.axes, ...expert.axes].map(({ name }) => name))),
  ];
  yield `${['rank', 'node', 'gpu', 'module', ...names].join(',')}\n`;
  for (let rank = 0; rank < layout.worldSize; rank++) {
    const place = numbering?.placeOf(rank) ?? rank;
    const machine = [rank, Math.floor(rank / layout.gpusPerNode), rank % layout.gpusPerNode];
    for (const module of modulesOf(layout, rank)) {
      const own = grids.find((one) => one.module === module);
      const values = names.map((name) => {
        const grid = [own?.dense, own?.expert].find((one) => one?.axes.some((axis) => axis.name === name));
        const axis = grid?.axes.find((one) => one.name === name);
        return grid && axis ? grid.indexAlong(axis, place) : '';
      });
      yield `${[...machine, csvCell(module.name ?? ''), ...values].join(',')}\n`;
    }
  }
}
