import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import {
  conflictingSlots,
  faultySlots,
  isSpare,
  lastSlots,
  MAX_WRITTEN_SLOTS,
  uniformSpares,
} from '../../topology/ntp';
import { suggestion } from '../fixes';
import { example, type Found, LAST_SLOT, type NtpContext, type NtpPage, slotText, sortedValues } from './ntpContext';

export const ntpFailedRank: NtpPage = {
  code: 'ntp-failed-rank',
  severity: 'error',
  title: 'A failed rank that is still active',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A rank of `failed_ranks` is not among the removed slots.',
  why: 'The job would wait for a broken GPU.',
  failing: example('failed_ranks: [3]'),
  passing: example(`failed_ranks: [3], ${LAST_SLOT}`),
};

/** Failed ranks that do not exist, or would still take part. */
export function* failedRankReports(context: NtpContext): Iterable<Found> {
  const { fields, ntp, shape, tp, pp } = context;
  const failed = fields.failed_ranks.value ?? [];
  const world = tp * shape.cp * shape.dp * pp;
  const outside = failed.find(({ value }) => (value ?? 0) >= world);
  if (outside) {
    const message = `There is no rank ${outside.value} in a world of ${world}.`;
    yield [ntpFailedRank.code, { message, span: outside.span }];
    return;
  }
  const active = failed.find(({ value }) => value !== undefined && !isSpare(ntp, shape, value));
  if (active) {
    const rank = active.value ?? 0;
    yield [
      ntpFailedRank.code,
      {
        message: `Rank ${rank} is said to be broken, but is still active. Remove its slot (local ${rank % tp} of replica dp ${Math.floor(rank / (tp * shape.cp))}).`,
        span: active.span,
        fixes: derivedFixes(context),
      },
    ];
  }
}

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

export const ntpDpSync: NtpPage = {
  code: 'ntp-dp-sync',
  severity: 'error',
  title: 'Spares for which data-parallel groups hang',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The removed slots are not the last `tp_spares` of each reduced replica (nominal placement).',
  why: 'Data-parallel groups are never rebuilt: some ranks enter the gradient all-reduce while another member has left or does not come.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [1]}]'),
  passing: example(LAST_SLOT),
};

/** Data-parallel groups in which some ranks wait for others that never come. */
export function* syncReports(context: NtpContext): Iterable<Found> {
  const { shape, ntp, keySpan } = context;
  const hanging = ntp.placement === 'nominal' ? conflictingSlots(ntp, shape) : [];
  if (hanging.length === 0) {
    return;
  }
  const tail = slotText(lastSlots(ntp));
  const lists = otherLists(context);
  yield [
    ntpDpSync.code,
    {
      message: `Data-parallel groups are not rebuilt, so those of the local ${hanging.length === 1 ? 'slot' : 'slots'} ${slotText(hanging)} would hang: some ranks enter the gradient all-reduce while others have left or stay out. Remove the last ${ntp.tpSpares === 1 ? 'slot' : `${ntp.tpSpares} slots`} (${tail}) of each replica, or use packed placement.`,
      span: lists[0] ?? keySpan,
      fixes: tailFixes(context, lists),
    },
  ];
}

/** The lists of slots that are not the last ones. */
function otherLists({ ntp, fields }: NtpContext) {
  const tail = lastSlots(ntp).join();
  return (fields.non_active_ranks_per_dp.value ?? []).flatMap(({ value }) =>
    value && sortedValues(value.local_ranks.value).join() !== tail ? [value.local_ranks.span] : [],
  );
}

/** Names the last slots everywhere, unless a failed rank would come back. */
function tailFixes({ ntp, fields }: NtpContext, lists: readonly Edit['span'][]): Fix[] {
  const newText = `[${lastSlots(ntp).join(', ')}]`;
  return lists.length > 0 && (fields.failed_ranks.value ?? []).length === 0
    ? [
        suggestion(
          `Remove the slots ${slotText(lastSlots(ntp))} everywhere`,
          lists.map((span) => ({ span, newText })),
        ),
      ]
    : [];
}
