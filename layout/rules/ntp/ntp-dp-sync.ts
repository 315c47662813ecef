import type { Edit, Fix } from '../../diagnostic';
import { conflictingSlots, lastSlots } from '../../topology/ntp';
import { suggestion } from '../fixes';
import { example, ntpRule } from './example';
import { type NtpContext, sortedValues } from './ntpContext';
import { slotText } from './slots';
import { atStep } from './steps';

export const ntpDpSync = ntpRule({
  code: 'ntp-dp-sync',
  severity: 'error',
  title: 'These spares make data-parallel groups hang',
  effect: 'the job hangs in the gradient all-reduce',
  what: 'The removed slots are not the last `tp_spares` of each reduced replica (nominal placement).',
  why: 'Data-parallel groups are never rebuilt: some ranks enter the gradient all-reduce while another member has left or does not come.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [1]}]'),
  check: atStep('sync', function* (context) {
    const { shape, ntp, keySpan } = context;
    const hanging = conflictingSlots(ntp, shape);
    const lists = otherLists(context);
    const last = ntp.tpSpares === 1 ? 'slot' : `${ntp.tpSpares} slots`;
    yield {
      message: `The data-parallel groups of ${hanging.length === 1 ? 'slot' : 'slots'} ${slotText(hanging)} hang: some of their ranks enter the gradient all-reduce, others have left. Remove the last ${last} (${slotText(lastSlots(ntp))}) of each replica, or use packed placement.`,
      span: lists[0] ?? keySpan,
      fixes: tailFixes(context, lists),
    };
  }),
});

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
          `Remove ${ntp.tpSpares === 1 ? 'slot' : 'slots'} ${slotText(lastSlots(ntp))} everywhere`,
          lists.map((span) => ({ span, newText })),
        ),
      ]
    : [];
}
