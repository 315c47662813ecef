import type { Fix } from '../../diagnostic';
import type { SlotEntryKeys } from '../../format/keys';
import { type Section, valuesOf } from '../../format/spec';
import { paddedSlots } from '../../topology/ntp';
import type { ResolvedNtp } from '../../topology/resolved';
import { changeFix } from '../fixes';
import { both } from '../numbers';

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
