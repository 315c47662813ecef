import type { Edit, Fix } from '../../diagnostic';
import { setKey } from '../../format/edit';
import type { NtpKeys, SlotEntryKeys } from '../../format/keys';
import { type Section, valuesOf } from '../../format/spec';
import { lastSlots, MAX_WRITTEN_SLOTS, paddedSlots } from '../../topology/ntp';
import type { ResolvedNtp } from '../../topology/resolved';
import { changeFix } from '../fixes';
import { both } from '../numbers';
import type { NtpContext } from './ntpContext';

/** Ascending slots in words: `0 to 5 and 7`. */
export function slotText(slots: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const slot of slots) {
    const run = runs.at(-1);
    if (run && run[1] === slot - 1) {
      run[1] = slot;
    } else {
      runs.push([slot, slot]);
    }
  }
  const words = runs.flatMap(([first, last]) =>
    last - first > 1 ? [`${first} to ${last}`] : first < last ? [`${first}`, `${last}`] : [`${first}`],
  );
  return both(words);
}

/** The most slots that an entry of the map removes. */
export function removedSlots({ non_active_ranks_per_dp: map }: Section<NtpKeys>): number {
  return (map.value ?? []).reduce((most, { value }) => Math.max(most, value?.local_ranks.value?.length ?? 0), 0);
}

/** No fix writes more slots of one replica than this. */
const MAX_REPLICA_SLOTS = 128;

/** The slots of an entry that exist, padded from the highest healthy ones; null where there are more than spares. */
export function wholeSlots(entry: Section<SlotEntryKeys>, { tpBase, tpSpares }: ResolvedNtp): number[] | null {
  const named = new Set(valuesOf(entry.local_ranks.value).filter((slot) => slot < tpBase));
  return named.size <= tpSpares && tpSpares <= MAX_REPLICA_SLOTS ? paddedSlots(tpBase, [...named], tpSpares) : null;
}

/** Names as many slots as there are spares, where no named one must go. */
export function slotFixes(entry: Section<SlotEntryKeys>, ntp: ResolvedNtp): (Fix | null)[] {
  const slots = wholeSlots(entry, ntp);
  return slots ? [changeFix('local_ranks', entry.local_ranks, `[${slots.join(', ')}]`)] : [];
}

/** The edit that adds an entry of the last slots for each of some replicas; null where they would fill pages. */
export function entriesEdit({ ntp, fields, text, span }: NtpContext, replicas: readonly number[]): Edit | null {
  if (replicas.length * ntp.tpSpares > MAX_WRITTEN_SLOTS) {
    return null;
  }
  const slots = lastSlots(ntp).join(', ');
  const added = replicas.map((dp) => `{dp: ${dp}, local_ranks: [${slots}]}`);
  const field = fields.non_active_ranks_per_dp;
  const { start } = field.span;
  if ((field.value ?? []).length === 0) {
    return setKey(text, span, 'non_active_ranks_per_dp', field, `[${added.join(', ')}]`);
  }
  if (text[start] === '[') {
    return { span: { start: start + 1, end: start + 1 }, newText: `${added.join(', ')}, ` };
  }
  const indent = text.slice(text.lastIndexOf('\n', start) + 1, start);
  return /^[ ]*$/.test(indent)
    ? { span: { start, end: start }, newText: added.map((entry) => `- ${entry}\n${indent}`).join('') }
    : null;
}
