import { countOf } from '../numbers';
import { example, ntpRule } from './example';
import { faultsOfKind } from './faults';
import { slotFixes, slotText, wholeSlots } from './slots';
import { atStep } from './steps';

export const ntpSlotCount = ntpRule({
  code: 'ntp-slot-count',
  severity: 'error',
  title: 'The number of slots differs from tp_spares',
  effect: 'replicas differ in their TP size',
  what: 'An entry does not name exactly `tp_spares` slots.',
  why: 'All reduced replicas must have one TP size: the reshard maps and the gradient all-reduce count on it.',
  failing: example('tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  check: atStep('entries', function* (context) {
    for (const { entry, count, span } of faultsOfKind(context, 'slot-count')) {
      const slots = wholeSlots(entry, context.ntp);
      yield {
        message: `${countOf(count, 'slot')} ${count === 1 ? 'is' : 'are'} named, but tp_spares is ${context.ntp.tpSpares}. ${slots ? `Name ${slotText(slots)}` : `Use tp_spares ${count} for all replicas`}.`,
        span: entry.local_ranks.span,
        related: [{ message: 'in this entry', span }],
        fixes: slotFixes(entry, context.ntp),
      };
    }
  }),
});
