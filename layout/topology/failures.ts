import type { Edit } from '../finding';
import { lineBreak, setKey } from '../format/edit';
import type { LayoutFacts } from './facts';
import { faultySlots, uniformSpares } from './ntp';
import type { ResolvedLayout } from './resolved';

/** How a job goes on by nonuniform TP after some of its GPUs have failed. */
export interface FailurePlan {
  readonly failedRanks: readonly number[];
  readonly tpBase: number;
  /** Local TP slots that each reduced replica gives up. */
  readonly tpSpares: number;
  /** Replicas that run with fewer ranks: always the first ones. */
  readonly reducedReplicas: number;
  readonly nonActive: readonly (readonly [dp: number, slots: readonly number[]])[];
  /** Ranks that stop: failed ones, and healthy ones that must go with them. */
  readonly idleRanks: number;
}

/**
 * The smallest nonuniform TP that takes the failed ranks out. Replicas are reduced from dp 0 on, so that a failure in a
 * late one reduces all before it too (`num_reduced_tp_dp_ranks` in megatron/core/distributed/nonuniform_tp.py).
 * @returns null where nonuniform TP cannot help: modules, pipeline stages, no tensor parallelism, a whole TP group failed
 */
export function failurePlan(layout: ResolvedLayout, failedRanks: readonly number[]): FailurePlan | null {
  const [module] = layout.modules;
  const size = (name: string) => module?.dense.find((dim) => dim.name === name)?.size ?? 1;
  const [tp, cp] = [size('tp'), size('cp')];
  const packed = layout.ntp?.placement === 'packed';
  if (failedRanks.length === 0 || layout.mode !== 'homogeneous' || size('pp') > 1 || size('gtp_remat') > 1 || packed) {
    return null;
  }
  const hit = new Map(faultySlots(failedRanks, tp, cp));
  const reducedReplicas = Math.max(...hit.keys()) + 1;
  const replicas = Array.from({ length: reducedReplicas }, (_, dp) => [dp, hit.get(dp) ?? []] as const);
  const { tpSpares, nonActive } = uniformSpares(tp, replicas);
  return tpSpares < tp
    ? { failedRanks, tpBase: tp, tpSpares, reducedReplicas, nonActive, idleRanks: reducedReplicas * cp * tpSpares }
    : null;
}

/** The edits that write a plan into the file: `ntp` anew at its end, or the keys of the written one. */
export function failureEdits({ text, root }: LayoutFacts, plan: FailurePlan): Edit[] | null {
  const values = {
    tp_spares: String(plan.tpSpares),
    num_reduced_tp_dp_ranks: String(plan.reducedReplicas),
    non_active_ranks_per_dp: `[${plan.nonActive.map(([dp, slots]) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`).join(', ')}]`,
    failed_ranks: `[${plan.failedRanks.join(', ')}]`,
  };
  const fields = root.ntp.value;
  if (!fields) {
    const end = lineBreak(text);
    const lines = Object.entries(values).map(([key, value]) => `  ${key}: ${value}`);
    const gap = text.endsWith('\n') || text === '' ? end : end + end;
    const span = { start: text.length, end: text.length };
    return root.ntp.written ? null : [{ span, newText: `${gap}ntp:${end}${lines.join(end)}${end}` }];
  }
  const { span } = root.ntp;
  const edits = [
    setKey(text, span, 'tp_spares', fields.tp_spares, values.tp_spares),
    setKey(text, span, 'num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, values.num_reduced_tp_dp_ranks),
    setKey(text, span, 'non_active_ranks_per_dp', fields.non_active_ranks_per_dp, values.non_active_ranks_per_dp),
    setKey(text, span, 'failed_ranks', fields.failed_ranks, values.failed_ranks),
  ];
  const known = edits.filter((edit) => edit !== null);
  return known.length === edits.length ? known : null;
}
