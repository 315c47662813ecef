import type { Dim } from '../grid/grid';
import type { ResolvedModule } from './resolved';

/** The degrees of one grid, defaults filled in. Each is at least 1. */
export interface Degrees {
  readonly tp: number;
  readonly gtpRemat: number;
  readonly cp: number;
  readonly pp: number;
  readonly ep: number;
  readonly exptTp: number;
  readonly exptGtpRemat: number;
}

/** The numbers that make a grid; undefined where the file leaves one open. */
interface GridNumbers {
  readonly ranks: number | undefined;
  readonly degrees: Degrees | undefined;
  readonly dp: number | undefined;
  readonly exptDp: number | undefined;
}

/**
 * The dims of one of `modules`, the fastest first (`_build_grid` in examples/mimo/training/topology.py), and of `parallelism`
 * in the default order.
 */
export const DENSE_DIMS = ['tp', 'gtp_remat', 'cp', 'dp', 'pp'];
export const EXPERT_DIMS = ['expt_tp', 'ep', 'expt_gtp_remat', 'expt_dp', 'pp'];

/** One of `modules` with every number known, which hangs on nothing else in the file; null where a number is open. */
export function moduleGrid(
  name: string,
  rankOffset: number | undefined,
  { ranks, degrees, dp, exptDp }: GridNumbers,
): ResolvedModule | null {
  if (rankOffset === undefined || ranks === undefined || !degrees || dp === undefined || exptDp === undefined) {
    return null;
  }
  const { tp, gtpRemat, cp, pp, ep, exptTp, exptGtpRemat } = degrees;
  const sizes: Readonly<Record<string, number>> = {
    tp,
    gtp_remat: gtpRemat,
    cp,
    dp,
    pp,
    ep,
    expt_tp: exptTp,
    expt_gtp_remat: exptGtpRemat,
    expt_dp: exptDp,
  };
  const dims = (names: readonly string[]): Dim[] => names.map((dim) => ({ name: dim, size: sizes[dim] ?? 1 }));
  return { name, rankOffset, numRanks: ranks, dense: dims(DENSE_DIMS), expert: dims(EXPERT_DIMS) };
}
