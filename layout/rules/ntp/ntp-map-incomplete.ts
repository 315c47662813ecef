import type { Fix } from '../../diagnostic';
import { lastSlots } from '../../topology/ntp';
import { suggestion } from '../fixes';
import { both } from '../numbers';
import { example, ntpRule } from './example';
import { MAX_MISSING, missingReplicas } from './faults';
import type { NtpContext } from './ntpContext';
import { entriesEdit, slotText } from './slots';
import { atStep } from './steps';

export const ntpMapIncomplete = ntpRule({
  code: 'ntp-map-incomplete',
  severity: 'error',
  title: 'A reduced replica has no entry',
  effect: 'parameters are resharded as if the replica were whole',
  what: 'A replica below `num_reduced_tp_dp_ranks` has no entry in `non_active_ranks_per_dp`, or there is no map at all.',
  why: 'The code that makes the groups reads the count; the reshard maps read the entries alone.',
  failing: example('tp_spares: 1'),
  check: atStep('map', function* (context) {
    const { ntp, fields, keySpan } = context;
    const missing = missingReplicas(context);
    const shown = missing.length > 4 ? `${missing.slice(0, 4).join(', ')} and others` : both(missing);
    const field = fields.non_active_ranks_per_dp;
    yield {
      message:
        (ntp.nonActive ?? []).length === 0
          ? `non_active_ranks_per_dp is missing: the groups shrink, but the reshard maps take all replicas as whole. Write the slots of replica dp ${shown}.`
          : `Replica dp ${shown} has no entry: its groups shrink, but the reshard maps take it as whole. Write an entry.`,
      span: field.written ? field.keySpan : keySpan,
      fixes: [lastSlotsFix(context, missing)],
    };
  }),
});

/** Writes an entry of the last slots for each missing replica. */
function lastSlotsFix(context: NtpContext, missing: readonly number[]): Fix | null {
  return suggestion(`Write the last slots (${slotText(lastSlots(context.ntp))}) of each replica`, [
    missing.length < MAX_MISSING ? entriesEdit(context, missing) : null,
  ]);
}
