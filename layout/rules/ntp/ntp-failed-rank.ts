import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import { faultySlots, lastSlots, MAX_WRITTEN_SLOTS, uniformSpares } from '../../topology/ntp';
import { suggestion } from '../fixes';
import type { Rule } from '../rule';
import { failedRankFault } from './faults';
import { type NtpContext, sortedValues } from './ntpContext';
import { example, LAST_SLOT, NTP_SOURCES } from './page';
import { slicesPrediction } from './prediction';
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
    const predicts = slicesPrediction(context);
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

/** One edit of the three settings that follow from the failed ranks; none where they would fill pages. */
function derivedFixes({ text, span, fields, tp, shape }: NtpContext): Fix[] {
  const hit = faultySlots(sortedValues(fields.failed_ranks.value), tp, shape.cp);
  const replicas = (hit.at(-1)?.[0] ?? 0) + 1;
  const worst = hit.reduce((most, [, slots]) => Math.max(most, slots.length), 0);
  if (worst >= tp || replicas * worst > MAX_WRITTEN_SLOTS) {
    return [];
  }
  const faulty = new Map(hit);
  const all = Array.from({ length: replicas }, (_, dp): [number, number[]] => [dp, faulty.get(dp) ?? []]);
  const { tpSpares, nonActive } = uniformSpares(tp, all);
  const tail = lastSlots({ tpBase: tp, tpSpares }).join(', ');
  const lists = nonActive.map(([, slots]) => slots.join(', '));
  const entries = lists.map((slots, dp) => `{dp: ${dp}, local_ranks: [${slots}]}`).join(', ');
  const edits = [
    setKey(text, span, 'tp_spares', fields.tp_spares, tpSpares),
    setKey(text, span, 'num_reduced_tp_dp_ranks', fields.num_reduced_tp_dp_ranks, replicas),
    setKey(text, span, 'non_active_ranks_per_dp', fields.non_active_ranks_per_dp, `[${entries}]`),
  ].filter((edit) => edit !== null);
  const more = lists.every((slots) => slots === tail) ? '' : ' (needs packed placement)';
  return [suggestion(`Derive the spares from failed_ranks${more}`, joinInsertions(edits))];
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
