import { example, ntpRule } from './example';
import { faultsOfKind } from './faults';
import { slotFixes } from './slots';
import { atStep } from './steps';

export const ntpSlotRange = ntpRule({
  code: 'ntp-slot-range',
  severity: 'error',
  title: 'A local slot outside the replica, or named twice',
  effect: 'the replica keeps more ranks than the others assume',
  what: 'A slot of `local_ranks` is not in `[0, tp_base)`, or is named twice.',
  why: 'Megatron-LM ignores slots outside and counts repeated ones once.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]'),
  check: atStep('entries', function* (context) {
    for (const { kind, slot, span, entry } of faultsOfKind(context, 'slot-outside', 'slot-twice')) {
      yield {
        message:
          kind === 'slot-outside'
            ? `Slot ${slot} is outside 0 to ${context.ntp.tpBase - 1} and would be ignored. Name local TP slots, not global ranks.`
            : `Slot ${slot} is named twice. Name each slot once.`,
        span,
        fixes: slotFixes(entry, context.ntp),
      };
    }
  }),
});
