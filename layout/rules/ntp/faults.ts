import type { Span } from '../../diagnostic';
import type { SlotEntryKeys } from '../../format/keys';
import { MAX_DIAGNOSTICS } from '../../format/limits';
import type { Field, Section } from '../../format/spec';
import { memoizeRecent } from '../../memoize';
import { isSpare } from '../../topology/ntp';
import type { NtpContext } from './ntpContext';

/** What is wrong with one entry of `non_active_ranks_per_dp`. */
export type EntryFault =
  | { readonly kind: 'repeated' | 'unapplied'; readonly entry: SlotEntry; readonly dp: number }
  | {
      readonly kind: 'outside';
      readonly name: 'dp' | 'cp' | 'pp';
      readonly field: Field<number>;
      /** How many there are. */
      readonly size: number;
    }
  | {
      readonly kind: 'slot-outside' | 'slot-twice';
      readonly entry: SlotEntry;
      readonly slot: number;
      readonly span: Span;
    }
  | {
      readonly kind: 'slot-count';
      readonly entry: SlotEntry;
      readonly count: number;
      /** The whole entry. */
      readonly span: Span;
    };

type SlotEntry = Section<SlotEntryKeys>;

/** The first fault of each entry of the map. */
export const entryFaults: (context: NtpContext) => readonly EntryFault[] = memoizeRecent((context) => [
  ...faultsOf(context),
]);

/** Those of one kind. */
export function faultsOfKind<K extends EntryFault['kind']>(
  context: NtpContext,
  ...kinds: readonly K[]
): Extract<EntryFault, { kind: K }>[] {
  const wanted: readonly string[] = kinds;
  return entryFaults(context).filter((fault): fault is Extract<EntryFault, { kind: K }> => wanted.includes(fault.kind));
}

function* faultsOf(context: NtpContext): Iterable<EntryFault> {
  const seen = new Set<string>();
  let count = 0;
  for (const { value: entry, span } of context.fields.non_active_ranks_per_dp.value ?? []) {
    const dp = entry?.dp.value;
    if (!entry || dp === undefined || !entry.local_ranks.value) {
      continue;
    }
    const place = `${dp}/${entry.cp.value}/${entry.pp.value}`;
    const fault = seen.has(place)
      ? ({ kind: 'repeated', entry, dp } as const)
      : (outsideFault(context, entry) ??
        (dp < context.ntp.numReducedTpDpRanks
          ? slotFault(context, entry, span)
          : ({ kind: 'unapplied', entry, dp } as const)));
    seen.add(place);
    if (fault) {
      yield fault;
      // more are not listed, and each costs as much as a list of all slots
      if (++count > MAX_DIAGNOSTICS) {
        return;
      }
    }
  }
}

function outsideFault({ shape, pp }: NtpContext, entry: SlotEntry): EntryFault | null {
  const places = [
    ['dp', entry.dp, shape.dp],
    ['cp', entry.cp, shape.cp],
    ['pp', entry.pp, pp],
  ] as const;
  const outside = places.find(([, field, size]) => (field.value ?? 0) >= size);
  return outside ? { kind: 'outside', name: outside[0], field: outside[1], size: outside[2] } : null;
}

/** The first of the slots outside, of those named twice, and their number. */
function slotFault({ ntp }: NtpContext, entry: SlotEntry, span: Span): EntryFault | null {
  const seen = new Set<number>();
  for (const { value: slot, span: slotSpan } of entry.local_ranks.value ?? []) {
    if (slot !== undefined && (slot >= ntp.tpBase || seen.has(slot))) {
      return { kind: slot >= ntp.tpBase ? 'slot-outside' : 'slot-twice', entry, slot, span: slotSpan };
    }
    if (slot !== undefined) {
      seen.add(slot);
    }
  }
  return seen.size === ntp.tpSpares ? null : { kind: 'slot-count', entry, count: seen.size, span };
}

/** A failed rank that does not exist, or else the first that still takes part; null where there is none. */
export function failedRankFault({ fields, ntp, shape, tp, pp }: NtpContext): FailedRankFault | null {
  const failed = fields.failed_ranks.value ?? [];
  const world = tp * shape.cp * shape.dp * pp;
  const found =
    failed.find(({ value }) => (value ?? 0) >= world) ??
    failed.find(({ value }) => value !== undefined && !isSpare(ntp, shape, value));
  return found?.value === undefined ? null : { rank: found.value, span: found.span, world };
}

/** A rank of `failed_ranks` that no plan takes out. */
export interface FailedRankFault {
  readonly rank: number;
  readonly span: Span;
  /** How many ranks the full grid has. */
  readonly world: number;
}

/** More replicas without an entry are not counted. */
export const MAX_MISSING = 1000;

/** The reduced replicas without an entry: all, or `MAX_MISSING` of them. */
export function missingReplicas({ ntp: { nonActive, numReducedTpDpRanks } }: NtpContext): number[] {
  const named = new Set((nonActive ?? []).map((entry) => entry.dp));
  const missing: number[] = [];
  for (let dp = 0; dp < numReducedTpDpRanks && missing.length < MAX_MISSING; dp++) {
    if (!named.has(dp)) {
      missing.push(dp);
    }
  }
  return missing;
}
