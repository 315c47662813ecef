import type { Edit, Fix, Span } from '../../diagnostic';
import { setKey } from '../../format/edit';
import type { SlotEntryKeys } from '../../format/keys';
import { MAX_DIAGNOSTICS } from '../../format/limits';
import { type Field, type Section, valuesOf } from '../../format/spec';
import { activeSlots, firstUnlikeSlices, lastSlots, MAX_WRITTEN_SLOTS, paddedSlots } from '../../topology/ntp';
import type { ResolvedNtp } from '../../topology/resolved';
import { changeFix, replaceFix, suggestion } from '../fixes';
import { both, countOf } from '../numbers';
import type { Report } from '../rule';
import { ntpReplicaRange } from './degrees';
import {
  example,
  type Found,
  LAST_SLOT,
  MAX_REPLICA_SLOTS,
  type NtpContext,
  type NtpPage,
  slotText,
} from './ntpContext';

export const ntpUnappliedEntry: NtpPage = {
  code: 'ntp-unapplied-entry',
  severity: 'error',
  title: 'An entry for a replica that is not reduced',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'An entry names a replica at or beyond `num_reduced_tp_dp_ranks`, or a place that another entry names already.',
  why: 'Its groups stay full, with the broken GPUs in them, while the reshard maps treat it as reduced. Of two entries for one place only one is read.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}, {dp: 1, local_ranks: [3]}]'),
  passing: example(LAST_SLOT),
};

/** What is wrong with single entries of the map. */
export function* entryReports(context: NtpContext): Iterable<Found> {
  const seen = new Set<string>();
  let count = 0;
  for (const { value: entry, span } of context.fields.non_active_ranks_per_dp.value ?? []) {
    const dp = entry?.dp.value;
    if (!entry || dp === undefined || !entry.local_ranks.value) {
      continue;
    }
    const key = `${dp}/${entry.cp.value}/${entry.pp.value}`;
    const found = seen.has(key)
      ? repeatedReport(entry, dp)
      : (rangeReport(context, entry) ?? unappliedReport(context, entry, dp) ?? slotReport(context, entry, span));
    seen.add(key);
    if (found) {
      yield found;
      // more are not listed, and each costs as much as a list of all slots
      if (++count > MAX_DIAGNOSTICS) {
        return;
      }
    }
  }
}

function repeatedReport(entry: Section<SlotEntryKeys>, dp: number): Found {
  const message = `Replica dp ${dp} has an entry already; only one of them would be read. Keep one.`;
  return [ntpUnappliedEntry.code, { message, span: entry.dp.span }];
}

function rangeReport({ shape, pp }: NtpContext, entry: Section<SlotEntryKeys>): Found | null {
  const places = [
    ['dp', entry.dp, shape.dp],
    ['cp', entry.cp, shape.cp],
    ['pp', entry.pp, pp],
  ] as const;
  const outside = places.find(([, field, size]) => (field.value ?? 0) >= size);
  if (!outside) {
    return null;
  }
  const [name, field, size] = outside;
  return [
    ntpReplicaRange.code,
    {
      message: `${name} ${field.value} is outside the grid, which has ${name} 0 to ${size - 1}.`,
      span: field.span,
      fixes: [changeFix(name, field.span, size - 1)],
    },
  ];
}

function unappliedReport(context: NtpContext, entry: Section<SlotEntryKeys>, dp: number): Found | null {
  const { ntp, fields, text, span } = context;
  if (dp < ntp.numReducedTpDpRanks) {
    return null;
  }
  const count = fields.num_reduced_tp_dp_ranks;
  const edit = setKey(text, span, 'num_reduced_tp_dp_ranks', count, dp + 1);
  const one = ntp.numReducedTpDpRanks === 1;
  return [
    ntpUnappliedEntry.code,
    {
      message: `Replica dp ${dp} keeps its full TP group, since only ${countOf(ntp.numReducedTpDpRanks, 'replica')} from dp 0 ${one ? 'is' : 'are'} reduced; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks ${dp + 1}, or drop the entry.`,
      span: entry.dp.span,
      related: count.written
        ? [{ message: `num_reduced_tp_dp_ranks is ${ntp.numReducedTpDpRanks} here`, span: count.span }]
        : [],
      fixes: edit ? [suggestion(`Change num_reduced_tp_dp_ranks to ${dp + 1}`, [edit])] : [],
    },
  ];
}

export const ntpSlotRange: NtpPage = {
  code: 'ntp-slot-range',
  severity: 'error',
  title: 'A local slot outside the replica, or twice',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A slot of `local_ranks` is not in `[0, tp_base)`, or is named twice.',
  why: 'Slots outside are ignored and repeated ones count once, so the replica keeps more ranks than the others assume.',
  failing: example('tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]'),
  passing: example(LAST_SLOT),
};

export const ntpSlotCount: NtpPage = {
  code: 'ntp-slot-count',
  severity: 'error',
  title: 'Another number of slots than tp_spares',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'An entry does not name exactly `tp_spares` slots.',
  why: 'All reduced replicas must have one TP size: the reshard maps and the gradient all-reduce count on it.',
  failing: example('tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]'),
  passing: example('tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [2, 3]}]'),
};

/** What is wrong with the slots of one entry: the first of those outside, those named twice, and their number. */
function slotReport({ ntp }: NtpContext, entry: Section<SlotEntryKeys>, entrySpan: Span): Found | null {
  const { span } = entry.local_ranks;
  const seen = new Set<number>();
  for (const { value: slot, span: slotSpan } of entry.local_ranks.value ?? []) {
    const fault =
      slot === undefined
        ? null
        : slot >= ntp.tpBase
          ? `The local slot ${slot} is outside 0 to ${ntp.tpBase - 1}; it would be ignored. Name local TP slots, not global ranks.`
          : seen.has(slot)
            ? `The local slot ${slot} is named twice; it would count once. Name each slot once.`
            : null;
    if (fault !== null) {
      return [ntpSlotRange.code, { message: fault, span: slotSpan, fixes: slotFixes(entry, ntp) }];
    }
    if (slot !== undefined) {
      seen.add(slot);
    }
  }
  return seen.size === ntp.tpSpares ? null : countReport(entry, ntp, seen.size, span, entrySpan);
}

function countReport(
  entry: Section<SlotEntryKeys>,
  ntp: ResolvedNtp,
  count: number,
  span: Span,
  entrySpan: Span,
): Found {
  const slots = wholeSlots(entry, ntp);
  const mend = slots ? `Name ${slotText(slots)}.` : `Use tp_spares ${count} for all replicas.`;
  return [
    ntpSlotCount.code,
    {
      message: `${countOf(count, 'slot')} named, but tp_spares is ${ntp.tpSpares}: the replica's TP size would differ from what the others assume. ${mend}`,
      span,
      related: [{ message: 'in this entry', span: entrySpan }],
      fixes: slotFixes(entry, ntp),
    },
  ];
}

/** The slots of an entry that exist, padded from the highest healthy ones; null where there are more than spares. */
function wholeSlots(entry: Section<SlotEntryKeys>, { tpBase, tpSpares }: ResolvedNtp): number[] | null {
  const named = new Set(valuesOf(entry.local_ranks.value).filter((slot) => slot < tpBase));
  return named.size <= tpSpares && tpSpares <= MAX_REPLICA_SLOTS ? paddedSlots(tpBase, [...named], tpSpares) : null;
}

/** Names as many slots as there are spares, where no named one must go. */
function slotFixes(entry: Section<SlotEntryKeys>, ntp: ResolvedNtp): Fix[] {
  const slots = wholeSlots(entry, ntp);
  return slots ? [replaceFix(entry.local_ranks.span, `[${slots.join(', ')}]`)] : [];
}

export const ntpCpSlices: NtpPage = {
  code: 'ntp-cp-slices',
  severity: 'error',
  title: 'CP slices of a replica that differ',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The active slots of a replica are not the same in all its context-parallel slices.',
  why: 'Context-parallel groups join equal slots; Megatron-LM stops.',
  failing: example(
    'tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, cp: 0, local_ranks: [3]}, {dp: 0, cp: 1, local_ranks: [2]}]',
    'tp: 4, cp: 2',
    16,
  ),
  passing: example(LAST_SLOT),
};

/** The only words that Megatron-LM's helper has for a map: of slices that do not agree. */
const UNLIKE_SLICES =
  'Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.';

/** What Megatron-LM's helper says of the map, whatever else is wrong with it; null where it says nothing. */
export function mapPrediction({ ntp, shape }: NtpContext): string | null {
  return firstUnlikeSlices(ntp, shape) ? UNLIKE_SLICES : null;
}

/** CP slices of one replica that do not agree. */
export function* sliceReports({ fields, shape, ntp, keySpan }: NtpContext): Iterable<Found> {
  const odd = firstUnlikeSlices(ntp, shape);
  if (!odd) {
    return;
  }
  const { dp, cp } = odd;
  const entries = fields.non_active_ranks_per_dp.value?.filter(({ value }) => value?.dp.value === dp) ?? [];
  const entry = entries.find(({ value }) => value?.cp.value === cp) ?? entries[0];
  const kept = (slice: number) => slotText(activeSlots(ntp, dp, slice, 0));
  yield [
    ntpCpSlices.code,
    {
      message: `Replica dp ${dp} keeps the slots ${kept(0)} in slice cp 0 but ${kept(cp)} in slice cp ${cp}. Remove the same slots from every slice: write one entry without cp.`,
      span: entry?.value?.local_ranks.span ?? keySpan,
      predicts: UNLIKE_SLICES,
    },
  ];
}

export const ntpMapIncomplete: NtpPage = {
  code: 'ntp-map-incomplete',
  severity: 'error',
  title: 'A reduced replica without an entry',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'A replica below `num_reduced_tp_dp_ranks` has no entry in `non_active_ranks_per_dp`, or there is no map at all.',
  why: 'The group code goes by the count, the reshard maps by the map alone: parameters are resharded as if the replica were whole.',
  failing: example('tp_spares: 1'),
  passing: example(LAST_SLOT),
};

/** More replicas without an entry are not counted. */
const MAX_MISSING = 1000;

/** The group code asks the count, the reshard maps the map: they must say the same. */
export function* mapReports({ ntp, fields, text, span, keySpan }: NtpContext): Iterable<Found> {
  const missing = missingReplicas(ntp);
  if (missing.length === 0) {
    return;
  }
  const shown = missing.length > 4 ? `${missing.slice(0, 4).join(', ')} and others` : both(missing);
  const field = fields.non_active_ranks_per_dp;
  const writable = missing.length < MAX_MISSING && missing.length * ntp.tpSpares <= MAX_WRITTEN_SLOTS;
  const slots = lastSlots(ntp);
  const added = writable ? missing.map((dp) => `{dp: ${dp}, local_ranks: [${slots.join(', ')}]}`) : [];
  const edit = writable ? mapEdit(text, span, field, added) : null;
  const report: Report = {
    message:
      (ntp.nonActive ?? []).length === 0
        ? `Without non_active_ranks_per_dp the groups are reduced, but the reshard maps treat all replicas as healthy. Write the slots of replica dp ${shown}.`
        : `Replica dp ${shown} is reduced but has no entry: its groups shrink while the reshard maps treat it as healthy. Write an entry.`,
    span: field.written ? field.keySpan : keySpan,
    fixes: edit ? [suggestion(`Write the last slots (${slotText(slots)}) of each replica`, [edit])] : [],
  };
  yield [ntpMapIncomplete.code, report];
}

/** The reduced replicas without an entry: all, or `MAX_MISSING` of them. */
function missingReplicas({ nonActive, numReducedTpDpRanks }: ResolvedNtp): number[] {
  const named = new Set((nonActive ?? []).map((entry) => entry.dp));
  const missing: number[] = [];
  for (let dp = 0; dp < numReducedTpDpRanks && missing.length < MAX_MISSING; dp++) {
    if (!named.has(dp)) {
      missing.push(dp);
    }
  }
  return missing;
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
