import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import { faultySlots, lastSlots, MAX_WRITTEN_SLOTS, uniformSpares } from '../../topology/ntp';
import { suggestion } from '../fixes';
import type { Rule } from '../rule';
import { failedRankFault } from './faults';
import { type NtpContext, sortedValues } from './ntpContext';
import { example, LAST_SLOT, NTP_SOURCES } from './page';
import { ntpPrediction } from './prediction';
import { contextAt } from './steps';

export const ntpFailedRank: Rule = {
  code: 'ntp-failed-rank',
  severity: 'error',
  title: 'A failed rank is still active',
  effect: 'the job waits for a broken GPU',
  what: 'A rank of `failed_ranks` is not among the removed slots.',
  why: 'The job would wait for a broken GPU.',
  failing: example('failed_ranks: [3]'),
  passing: example(`failed_ranks: [3], ${LAST_SLOT}`),
  sources: NTP_SOURCES,
  *check(facts) {
    const context = contextAt(facts, 'failedRanks');
    if (!context) {
      return;
    }
    const fault = failedRankFault(context);
    if (!fault) {
      return;
    }
    const { rank, span, world } = fault;
    const predicts = ntpPrediction(context);
    if (rank >= world) {
      yield { message: `Rank ${rank} does not exist: the world has ranks 0 to ${world - 1}.`, span, predicts };
    } else {
      const { tp, shape } = context;
      yield {
        message: `Rank ${rank} has failed but stays active. Remove slot ${rank % tp} of replica dp ${Math.floor(rank / (tp * shape.cp))}.`,
        span,
        predicts,
        fixes: derivedFixes(context),
      };
    }
  },
};

/**
 * The plans that take the failed ranks out: with every slot launched only the last ones can go, so a failed slot takes those
 * behind it along; with packed placement any slot can. None where a replica has no healthy slot, or where the lists would
 * fill pages.
 */
function derivedFixes(context: NtpContext): Fix[] {
  const { fields, tp, shape } = context;
  const hit = faultySlots(sortedValues(fields.failed_ranks.value), tp, shape.cp);
  const replicas = (hit.at(-1)?.[0] ?? 0) + 1;
  const faulty = new Map(hit);
  const all = Array.from({ length: replicas }, (_, dp): [number, number[]] => [dp, faulty.get(dp) ?? []]);
  const worst = hit.reduce((most, [, slots]) => Math.max(most, slots.length), 0);
  if (worst >= tp || replicas * tp > MAX_WRITTEN_SLOTS) {
    return [];
  }
  const first = hit.reduce((least, [, slots]) => Math.min(least, ...slots), tp);
  const tail = lastSlots({ tpBase: tp, tpSpares: tp - first });
  const { tpSpares, nonActive } = uniformSpares(tp, all);
  const lists = nonActive.map(([, slots]) => slots);
  const isTail = lists.every((slots) => slots.join() === tail.join());
  return [
    ...(first > 0
      ? [
          planFix(
            context,
            'Derive the spares from failed_ranks',
            tp - first,
            all.map(() => tail),
          ),
        ]
      : []),
    ...(isTail ? [] : [planFix(context, 'Launch the healthy slots only (packed placement)', tpSpares, lists, true)]),
  ].filter((fix) => fix !== null);
}

/** One edit of the settings of a plan; packed placement launches fewer ranks too. */
function planFix(
  { facts, text, span, fields, shape }: NtpContext,
  title: string,
  spares: number,
  lists: readonly (readonly number[])[],
  isPacked = false,
): Fix | null {
  const entries = lists.map((slots, dp) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`).join(', ');
  const { world, root } = facts;
  // a file that has packed placement says already how many ranks it launches
  const isNew = isPacked && fields.placement.value !== 'packed';
  const launched = (world.size ?? 0) - lists.length * shape.cp * spares;
  const edits = [
    setKey(text, span, 'tp_spares', fields.tp_spares, spares),
    setKey(text, span, 'num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, lists.length),
    setKey(text, span, 'non_active_ranks_per_dp', fields.non_active_ranks_per_dp, `[${entries}]`),
    ...(isNew
      ? [
          setKey(text, span, 'placement', fields.placement, 'packed'),
          setKey(text, facts.span, 'world_size', root.world_size, launched),
        ]
      : []),
  ].filter((edit) => edit !== null);
  return suggestion(title, joinInsertions(edits));
}

/** Several keys appended at one place would overlap: they become one edit. */
function joinInsertions(edits: readonly Edit[]): Edit[] {
  const result: Edit[] = [];
  for (const edit of edits) {
    const same = result.findIndex(({ span }) => span.start === edit.span.start && span.end === edit.span.end);
    const before = result[same];
    if (before) {
      result[same] = { span: before.span, newText: before.newText + edit.newText };
    } else {
      result.push(edit);
    }
  }
  return result;
}
