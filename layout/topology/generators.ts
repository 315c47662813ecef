import type { RootKeys } from '../format/keys';
import type { Section } from '../format/spec';
import type { Dim } from '../grid/grid';
import { type ModuleFacts, orderOf } from './facts';
import { denseOrder, expertOrder, type OrderSizes, orderedDims } from './order';
import { hasGtp, versionOf } from './versions';

/** The expert grid's names for its own dimensions. */
const EXPERT_NAMES: Readonly<Record<string, string>> = { tp: 'expt_tp', gtp_remat: 'expt_gtp_remat', dp: 'expt_dp' };

/**
 * The sizes that `parallelism` gives its two rank generators. The dense one is made first: it has sizes even where the
 * expert grid does not divide. Null where a degree is open or the dense grid does not divide.
 */
export function generatorSizes({
  degrees,
  dp,
  exptDp,
}: ModuleFacts): { dense: OrderSizes; expert: OrderSizes | null } | null {
  if (!degrees || dp === undefined) {
    return null;
  }
  const { tp, gtpRemat, cp, pp, ep, exptTp, exptGtpRemat } = degrees;
  return {
    dense: { tp, gtp_remat: gtpRemat, cp, dp, pp, ep: 1 },
    expert: exptDp === undefined ? null : { tp: exptTp, gtp_remat: exptGtpRemat, cp: 1, dp: exptDp, pp, ep },
  };
}

/**
 * Whether generalized TP is put into the order of `parallelism`: where the version has it, or where the file asks for it all
 * the same (which `megatron-version` reports).
 */
export function injectsGtp(root: Section<RootKeys>, { degrees }: ModuleFacts): boolean {
  const { gtpRemat = 1, exptGtpRemat = 1 } = degrees ?? {};
  return hasGtp(versionOf({ root }), false) || gtpRemat > 1 || exptGtpRemat > 1;
}

/** The dimensions of the dense and the expert grid of `parallelism` in rank order; null where the order cannot be used. */
export function parallelismDims(root: Section<RootKeys>, module: ModuleFacts): GridDims | null {
  const order = orderOf(root);
  const sizes = generatorSizes(module);
  return order === undefined || !sizes?.expert
    ? null
    : gridDims(order, sizes.dense, sizes.expert, injectsGtp(root, module));
}

interface GridDims {
  readonly dense: Dim[];
  readonly expert: Dim[];
}

/** The dimensions of both grids of a rank order; null where the order cannot be used with these sizes. */
export function gridDims(order: string, denseSizes: OrderSizes, expertSizes: OrderSizes, gtp = true): GridDims | null {
  const dense = orderedDims(denseOrder(order, gtp), denseSizes);
  const expert = orderedDims(expertOrder(order, gtp), expertSizes);
  return (
    dense &&
    expert && {
      dense: dense.filter(({ name }) => name !== 'ep'),
      expert: expert
        .filter(({ name }) => name !== 'cp')
        .map(({ name, size }) => ({ name: EXPERT_NAMES[name] ?? name, size })),
    }
  );
}
