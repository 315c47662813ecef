import type { Edit, Fix, Span } from '../../diagnostic';
import { setKey } from '../../format/edit';
import type { Field } from '../../format/spec';
import { lastSlots, MAX_WRITTEN_SLOTS } from '../../topology/ntp';
import { suggestion } from '../fixes';
import { both } from '../numbers';
import type { Rule } from '../rule';
import { example, NTP_SOURCES } from './example';
import { MAX_MISSING, missingReplicas } from './faults';
import type { NtpContext } from './ntpContext';
import { slotText } from './slots';
import { atStep } from './steps';

export const ntpMapIncomplete: Rule = {
  code: 'ntp-map-incomplete',
  severity: 'error',
  title: 'A reduced replica has no entry',
  effect: 'parameters are resharded as if the replica were whole',
  what: 'A replica below `num_reduced_tp_dp_ranks` has no entry in `non_active_ranks_per_dp`, or there is no map at all.',
  why: 'The code that makes the groups reads the count; the reshard maps read the entries alone.',
  failing: example('tp_spares: 1'),
  sources: NTP_SOURCES,
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
};

/** Writes an entry of the last slots for each missing replica; null where they would fill pages. */
function lastSlotsFix({ ntp, fields, text, span }: NtpContext, missing: readonly number[]): Fix | null {
  if (missing.length >= MAX_MISSING || missing.length * ntp.tpSpares > MAX_WRITTEN_SLOTS) {
    return null;
  }
  const slots = lastSlots(ntp);
  const added = missing.map((dp) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`);
  const edit = mapEdit(text, span, fields.non_active_ranks_per_dp, added);
  return suggestion(`Write the last slots (${slotText(slots)}) of each replica`, [edit]);
}

/** The edit that adds entries to the map, in flow style. */
function mapEdit(text: string, map: Span, field: Field<readonly unknown[]>, added: readonly string[]): Edit | null {
  const value = field.value ?? [];
  if (value.length === 0) {
    return setKey(text, map, 'non_active_ranks_per_dp', field, `[${added.join(', ')}]`);
  }
  if (text[field.span.start] === '[') {
    return { span: { start: field.span.start + 1, end: field.span.start + 1 }, newText: `${added.join(', ')}, ` };
  }
  const start = text.lastIndexOf('\n', field.span.start) + 1;
  const indent = text.slice(start, field.span.start);
  return /^[ ]*$/.test(indent)
    ? {
        span: { start: field.span.start, end: field.span.start },
        newText: added.map((entry) => `- ${entry}\n${indent}`).join(''),
      }
    : null;
}
