import { activeSlots, firstUnlikeSlices } from '../../topology/ntp';
import { example, LAST_SLOT, ntpRule } from './example';
import { UNLIKE_SLICES } from './prediction';
import { slotText } from './slots';
import { atStep } from './steps';

export const ntpCpSlices = ntpRule({
  code: 'ntp-cp-slices',
  severity: 'error',
  title: 'The CP slices of a replica differ',
  what: 'The active slots of a replica are not the same in all its context-parallel slices.',
  why: 'A context-parallel group joins the same slot of every slice.',
  failing: example(
    'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, cp: 0, local_ranks: [3]}, {dp: 0, cp: 1, local_ranks: [2]}]',
    'tp: 4, cp: 2',
    16,
  ),
  passing: example(LAST_SLOT),
  check: atStep('slices', function* (context) {
    const { fields, shape, ntp, keySpan } = context;
    const odd = firstUnlikeSlices(ntp, shape);
    if (!odd) {
      return;
    }
    const { dp, cp } = odd;
    const entries = fields.non_active_ranks_per_dp.value?.filter(({ value }) => value?.dp.value === dp) ?? [];
    const entry = entries.find(({ value }) => value?.cp.value === cp) ?? entries[0];
    const active = (slice: number) => slotText(activeSlots(ntp, dp, slice, 0));
    yield {
      message: `Replica dp ${dp} keeps the slots ${active(0)} in slice cp 0, but ${active(cp)} in slice cp ${cp}. Write one entry without cp.`,
      span: entry?.value?.local_ranks.span ?? keySpan,
      predicts: UNLIKE_SLICES,
    };
  }),
});
