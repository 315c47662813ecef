import type { Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import { memoizeRecent } from '../../memoize';
import { parallelismDims } from '../../topology/generators';
import { faultySlots, isNtpGrid, MAX_TP_BASE, MAX_WRITTEN_SLOTS, paddedSlots } from '../../topology/ntp';
import { canFold } from '../../topology/reshard';
import { suggestion } from '../fixes';
import { hasExperts, type NtpContext, sortedValues } from './ntpContext';

/**
 * The plans that take the failed ranks out, each with the fewest spares that the model's heads and columns can be folded
 * from. With every slot launched only the last ones can go, so a failed slot takes those behind it along, and expert groups
 * rule it out; with packed placement any slot can. None where no rank has failed, where a replica has no healthy slot, or
 * where the lists would fill pages.
 */
export const failedPlans: (context: NtpContext) => readonly Fix[] = memoizeRecent((context) => {
  const { fields, tp, ep, pp, shape, module, facts } = context;
  const failed = sortedValues(fields.failed_ranks.value);
  const isGrid = pp === 1 && isNtpGrid(parallelismDims(facts.root, module)?.dense ?? []);
  if (failed.length === 0 || !isGrid || tp > MAX_TP_BASE || (failed.at(-1) ?? 0) >= tp * shape.cp * shape.dp) {
    return [];
  }
  const hit = faultySlots(failed, tp, shape.cp);
  const replicas = (hit.at(-1)?.[0] ?? 0) + 1;
  const worst = hit.reduce((most, [, slots]) => Math.max(most, slots.length), 0);
  const first = hit.reduce((least, [, slots]) => Math.min(least, ...slots), tp);
  const faulty = new Map(hit);
  const lists = (spares: number, named: boolean) =>
    Array.from({ length: replicas }, (_, dp) => paddedSlots(tp, named ? (faulty.get(dp) ?? []) : [], spares));
  const launchesAll = fields.placement.value !== 'packed' && ep === 1 && !hasExperts(module);
  const most = Math.min(tp - 1, Math.floor(MAX_WRITTEN_SLOTS / replicas));
  const nominal = launchesAll ? fewestSpares(context, tp - first, most) : null;
  const packed = fewestSpares(context, worst, most);
  return [
    nominal === null
      ? null
      : planFix(context, 'Derive the spares from failed_ranks', nominal, lists(nominal, false), false),
    packed !== null && packed !== nominal
      ? planFix(context, 'Launch the healthy slots only (packed placement)', packed, lists(packed, true), true)
      : null,
  ].filter((fix) => fix !== null);
});

/** The least number of spares, from one to another, that the model can be folded from; null for none. */
function fewestSpares({ tp, module }: NtpContext, from: number, to: number): number | null {
  const { num_attention_heads: heads, ffn_hidden_size: columns } = module.model.value ?? {};
  const units = [heads?.value, columns?.value].filter((size) => size !== undefined && size % tp === 0);
  for (let spares = from; spares <= to; spares++) {
    if (units.every((size) => canFold(tp, spares, size ?? 0))) {
      return spares;
    }
  }
  return null;
}

/** One edit of the settings of a plan; packed placement launches fewer ranks than the grid has. */
function planFix(
  { facts, text, span, fields, tp, shape }: NtpContext,
  title: string,
  spares: number,
  lists: readonly (readonly number[])[],
  isPacked: boolean,
): Fix {
  const entries = lists.map((slots, dp) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`).join(', ');
  const launched = shape.cp * (tp * shape.dp - lists.length * spares);
  const edits = [
    setKey(text, span, 'tp_spares', fields.tp_spares, spares),
    setKey(text, span, 'num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, lists.length),
    setKey(text, span, 'non_active_ranks_per_dp', fields.non_active_ranks_per_dp, `[${entries}]`),
    ...(isPacked
      ? [
          setKey(text, span, 'placement', fields.placement, 'packed'),
          setKey(text, facts.span, 'world_size', facts.root.world_size, launched),
        ]
      : []),
  ].filter((edit) => edit !== null);
  return suggestion(title, edits);
}
