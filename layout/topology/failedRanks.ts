import type { Edit } from '../diagnostic';
import { lineBreak, setKey } from '../format/edit';
import { sizeAlong } from '../grid/grid';
import type { LayoutFacts } from './facts';
import { faultySlots, isNtpGrid, lastSlots, MAX_TP_BASE, MAX_WRITTEN_SLOTS } from './ntp';
import type { ResolvedLayout, ResolvedModule } from './resolved';

/** How a job continues with nonuniform TP after some of its GPUs have failed. */
export interface FailurePlan {
  readonly failedRanks: readonly number[];
  readonly tpBase: number;
  /** Local TP slots that each reduced replica gives up: the last ones. */
  readonly tpSpares: number;
  /** Replicas that run with fewer ranks: always the first ones. */
  readonly reducedReplicas: number;
  /** How many ranks stop: failed ones, and healthy ones that must go with them. */
  readonly idleRanks: number;
  /** How many would stop if every replica with a failure were dropped instead. */
  readonly droppedRanks: number;
}

/**
 * The smallest nonuniform TP that removes the failed ranks and does not hang. Replicas are reduced from dp 0 on
 * (`num_reduced_tp_dp_ranks`), so a failure in a late replica reduces all before it, too. Data-parallel groups are not rebuilt,
 * so only the last slots can go, alike in every replica: with a failed slot go all behind it
 * (megatron/core/distributed/nonuniform_tp.py).
 * @returns null where nonuniform TP cannot help: modules, pipeline stages, experts, another rank order, or a failed first
 * slot
 */
export function failurePlan(layout: ResolvedLayout, failedRanks: readonly number[]): FailurePlan | null {
  const [module] = layout.modules;
  const [tpBase = 1, cp = 1] = ['tp', 'cp'].map((name) => sizeAlong(module?.dense ?? [], name));
  const packed = layout.ntp?.placement === 'packed';
  if (failedRanks.length === 0 || packed || !module || !canReduce(layout, module)) {
    return null;
  }
  const hit = faultySlots(failedRanks, tpBase, cp);
  const reducedReplicas = (hit.at(-1)?.[0] ?? 0) + 1;
  const tpSpares = tpBase - hit.reduce((least, [, [first = 0]]) => Math.min(least, first), tpBase);
  const idleRanks = reducedReplicas * cp * tpSpares;
  const droppedRanks = hit.length * cp * tpBase;
  return tpSpares < tpBase ? { failedRanks, tpBase, tpSpares, reducedReplicas, idleRanks, droppedRanks } : null;
}

/** Whether nonuniform TP handles the grid; the rules `ntp-modules`, `ntp-grid`, `ntp-pipeline`, `ntp-expert-groups` say why not. */
function canReduce({ mode }: ResolvedLayout, { dense, expert }: ResolvedModule): boolean {
  const isDense = mode === 'homogeneous' && sizeAlong(expert, 'ep') === 1;
  return isDense && isNtpGrid(dense) && sizeAlong(dense, 'tp') <= MAX_TP_BASE;
}

/**
 * The edits that write a plan into the file: a new `ntp` at its end, or the keys of the written one. Null where the file
 * cannot take them, and beyond `MAX_WRITTEN_SLOTS`.
 */
export function failureEdits({ text, root }: LayoutFacts, plan: FailurePlan): Edit[] | null {
  if (plan.reducedReplicas * plan.tpSpares > MAX_WRITTEN_SLOTS) {
    return null;
  }
  const slots = lastSlots(plan).join(', ');
  const entries = Array.from({ length: plan.reducedReplicas }, (_, dp) => `{dp: ${dp}, local_ranks: [${slots}]}`);
  const values = {
    tp_spares: String(plan.tpSpares),
    num_reduced_tp_dp_ranks: String(plan.reducedReplicas),
    non_active_ranks_per_dp: `[${entries.join(', ')}]`,
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
  const keys = ['tp_spares', 'num_reduced_tp_dp_ranks', 'failed_ranks', 'non_active_ranks_per_dp'] as const;
  const edits = keys.map((key) => setKey(text, span, key, fields[key], values[key]));
  const known = edits.filter((edit) => edit !== null);
  return known.length === edits.length ? known : null;
}
