import { type Dim, sizeAlong } from '../grid/grid';
import type { Degrees } from './facts';
import { gridDims } from './generators';
import { moduleGrid } from './moduleGrid';
import type { ResolvedLayout, ResolvedModule } from './resolved';

/** What places the ranks of one grid, apart from their number. */
export interface GridPlacement extends Degrees {
  readonly rankOffset: number;
  /** The order of `parallelism`; null for one of `modules`, whose order is fixed. */
  readonly order: string | null;
}

/** The placement of a resolved grid. Its order has every dimension in it, also `gtp_remat`. */
export function placementOf({ name, rankOffset, dense, expert }: ResolvedModule): GridPlacement {
  return {
    rankOffset,
    order: name === null ? jointOrder(dense, expert) : null,
    tp: sizeAlong(dense, 'tp'),
    gtpRemat: sizeAlong(dense, 'gtp_remat'),
    cp: sizeAlong(dense, 'cp'),
    pp: sizeAlong(dense, 'pp'),
    ep: sizeAlong(expert, 'ep'),
    exptTp: sizeAlong(expert, 'expt_tp'),
    exptGtpRemat: sizeAlong(expert, 'expt_gtp_remat'),
  };
}

/** One order that both grids follow: `ep` goes in front of the first dimension that it varies faster than. */
function jointOrder(dense: readonly Dim[], expert: readonly Dim[]): string {
  const tokens = dense.map(({ name }) => name).filter((name) => name !== 'gtp_remat');
  const behind = expert
    .slice(expert.findIndex(({ name }) => name === 'ep') + 1)
    .map(({ name }) => name.replace('expt_', ''))
    .find((name) => tokens.includes(name));
  tokens.splice(behind === undefined ? tokens.length : tokens.indexOf(behind), 0, 'ep');
  return tokens.join('-');
}

/** The same number of ranks placed in another way; null where the degrees do not divide it or the order has not all of them. */
function placedModule(module: ResolvedModule, placement: GridPlacement): ResolvedModule | null {
  const { tp, gtpRemat, cp, pp, ep, exptTp, exptGtpRemat, order, rankOffset } = placement;
  const dp = module.numRanks / (tp * gtpRemat * cp * pp);
  const exptDp = module.numRanks / (exptTp * exptGtpRemat * ep * pp);
  if (!Number.isInteger(dp) || !Number.isInteger(exptDp)) {
    return null;
  }
  if (order === null) {
    return moduleGrid(module.name ?? '', rankOffset, { ranks: module.numRanks, degrees: placement, dp, exptDp });
  }
  const dims = gridDims(
    order,
    { tp, gtp_remat: gtpRemat, cp, dp, pp, ep: 1 },
    { tp: exptTp, gtp_remat: exptGtpRemat, cp: 1, dp: exptDp, pp, ep },
  );
  return dims && { ...module, rankOffset, ...dims };
}

/** The layout with its grids placed in other ways; null where one cannot be. */
export function placedLayout(layout: ResolvedLayout, placements: readonly GridPlacement[]): ResolvedLayout | null {
  const modules = layout.modules.map((module, i) => {
    const placement = placements[i];
    return placement ? placedModule(module, placement) : null;
  });
  return modules.every((module) => module !== null) ? { ...layout, modules } : null;
}
