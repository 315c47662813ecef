import type { Dim } from '../grid/grid';
import { memoizeRecent } from '../memoize';
import type { ResolvedNonActive, ResolvedNtp } from './resolved';

/** The sizes of the grid that nonuniform TP reconfigures; its ranks are ordered tp, cp, dp from rank 0. */
export interface NtpShape {
  readonly cp: number;
  readonly dp: number;
}

/** A group that replaces one of the base groups, with its members in ascending order. */
export interface ReplacementGroup {
  readonly name: 'tp' | 'cp' | 'tp_cp';
  readonly ranks: readonly number[];
}

/** A DP-CP group in which some ranks enter the gradient all-reduce and others do not, or have exited: a hang. */
export interface SyncConflict {
  readonly group: readonly number[];
  readonly syncing: readonly number[];
  readonly kept_not_syncing: readonly number[];
  readonly exited: readonly number[];
}

/**
 * The largest TP size for which nonuniform TP is computed slot by slot: the slots of a replica lie in one NVLink domain, and the
 * largest of those has 576 GPUs.
 */
export const MAX_TP_BASE = 1024;

/** The most slots that an edit writes into a file: a person must be able to read it. */
export const MAX_WRITTEN_SLOTS = 4096;

/**
 * Whether ranks are ordered as nonuniform_tp.py assumes: tp, cp, dp, the fastest first, and no other dimension.
 * @param dense the dimensions of the dense grid in rank order
 */
export function isNtpGrid(dense: readonly Dim[]): boolean {
  const names = dense.filter(({ size }) => size > 1).map(({ name }) => name);
  return names.join() === ['tp', 'cp', 'dp'].filter((name) => names.includes(name)).join();
}

/**
 * The slots followed by the highest of the others, up to `count` slots in all; ascending: the spares of a hit replica where the
 * worst has `count` (`compute_uniform_tp_spares_with_parity` in megatron/core/distributed/nonuniform_tp.py).
 */
export function paddedSlots(tpBase: number, slots: readonly number[], count: number): number[] {
  const padded = new Set(slots);
  for (let slot = tpBase - 1; slot >= 0 && padded.size < count; slot--) {
    padded.add(slot);
  }
  return [...padded].sort((a, b) => a - b);
}

/** The last `tpSpares` slots: those that exit where the file names none. */
export function lastSlots({ tpBase, tpSpares }: Pick<ResolvedNtp, 'tpBase' | 'tpSpares'>): number[] {
  return paddedSlots(tpBase, [], tpSpares);
}

/** The faulty slots of each replica, from global ranks. */
export function faultySlots(failedRanks: readonly number[], tp: number, cp: number): [dp: number, slots: number[]][] {
  const byReplica = new Map<number, Set<number>>();
  for (const rank of failedRanks) {
    const dp = Math.floor(rank / (tp * cp));
    byReplica.set(dp, (byReplica.get(dp) ?? new Set()).add(rank % tp));
  }
  return [...byReplica].sort(([a], [b]) => a - b).map(([dp, slots]) => [dp, [...slots].sort((a, b) => a - b)]);
}

/** The map's entries of one replica: the slots that exit, by the place for which an entry is written. */
interface ReplicaEntries {
  /** Keyed by `placeKey`. */
  readonly slots: Map<string, ReadonlySet<number>>;
  /** The context-parallel slices that have an entry of their own. */
  readonly slices: Set<number>;
}

/** The key of an entry for one slice, for one stage of the replica (`cp` left out), or for all of it. */
function placeKey(cp: number | null, pp: number | null): string {
  return cp === null ? `*/${pp ?? '*'}` : `${cp}/${pp ?? 0}`;
}

/** The entries by replica; of several for one place the first counts. */
const indexOf = memoizeRecent((entries: readonly ResolvedNonActive[]): ReadonlyMap<number, ReplicaEntries> => {
  const index = new Map<number, ReplicaEntries>();
  for (const { dp, cp, pp, localRanks } of entries) {
    const replica = index.get(dp) ?? { slots: new Map(), slices: new Set() };
    index.set(dp, replica);
    const key = placeKey(cp, pp);
    if (!replica.slots.has(key)) {
      replica.slots.set(key, new Set(localRanks));
    }
    if (cp !== null) {
      replica.slices.add(cp);
    }
  }
  return index;
});

const NO_ENTRIES: readonly ResolvedNonActive[] = [];

/** The map by replica. */
function byReplica({ nonActive }: ResolvedNtp): ReadonlyMap<number, ReplicaEntries> {
  return indexOf(nonActive ?? NO_ENTRIES);
}

/** The slots that an entry removes from a slice: the entry of the slice itself comes before that of its replica. */
function entryOf(ntp: ResolvedNtp, dp: number, cp: number, pp: number): ReadonlySet<number> | undefined {
  const slots = byReplica(ntp).get(dp)?.slots;
  return slots && (slots.get(placeKey(cp, pp)) ?? slots.get(placeKey(null, pp)) ?? slots.get(placeKey(null, null)));
}

/** Whether a local TP slot of a replica's slice is removed once the replica is reduced. */
function isRemoved(ntp: ResolvedNtp, dp: number, cp: number, pp: number, slot: number): boolean {
  const entry = entryOf(ntp, dp, cp, pp);
  return entry ? entry.has(slot) : slot >= ntp.tpBase - ntp.tpSpares;
}

/** The local TP slots that stay active in one slice of a replica (`get_active_ranks_for_dp`). */
export function activeSlots(ntp: ResolvedNtp, dp: number, cp: number, pp: number): number[] {
  const entry = entryOf(ntp, dp, cp, pp);
  const slots = Array.from({ length: entry ? ntp.tpBase : Math.max(0, ntp.tpBase - ntp.tpSpares) }, (_, slot) => slot);
  return entry ? slots.filter((slot) => !entry.has(slot)) : slots;
}

/** Whether Megatron-LM takes a slice for reduced; without a map the count of reduced replicas decides. */
export function countsAsReduced(ntp: ResolvedNtp, dp: number, cp: number): boolean {
  return byReplica(ntp).size > 0 ? entryOf(ntp, dp, cp, 0) !== undefined : dp < ntp.numReducedTpDpRanks;
}

/** How many replicas, from dp 0 on, are reduced. */
function reducedReplicas(ntp: ResolvedNtp, { dp }: NtpShape): number {
  return ntp.tpSpares === 0 ? 0 : Math.min(ntp.numReducedTpDpRanks, dp);
}

/** How many ranks exit. */
export function spareCount(ntp: ResolvedNtp, shape: NtpShape): number {
  return ntp.tpSpares * reducedReplicas(ntp, shape) * shape.cp;
}

/** Whether a global rank exits after the groups are made. Its cost does not depend on the size of the world. */
export function isSpare(ntp: ResolvedNtp, shape: NtpShape, rank: number): boolean {
  const slice = Math.floor(rank / ntp.tpBase);
  const dp = Math.floor(slice / shape.cp);
  return dp < reducedReplicas(ntp, shape) && isRemoved(ntp, dp, slice % shape.cp, 0, rank % ntp.tpBase);
}

/** Every reduced slice with its active slots, replica by replica. */
export function* reducedSlices(
  ntp: ResolvedNtp,
  shape: NtpShape,
): Generator<{ dp: number; cp: number; active: number[] }> {
  const count = reducedReplicas(ntp, shape);
  for (let dp = 0; dp < count; dp++) {
    yield* replicaSlices(ntp, shape, dp);
  }
}

/** The slices of one reduced replica, in order. */
function replicaSlices(ntp: ResolvedNtp, shape: NtpShape, dp: number): { dp: number; cp: number; active: number[] }[] {
  return Array.from({ length: shape.cp }, (_, cp) => ({ dp, cp, active: activeSlots(ntp, dp, cp, 0) }));
}

/** The first global rank of a slice. */
const baseOf = (ntp: ResolvedNtp, shape: NtpShape, dp: number, cp: number): number => (dp * shape.cp + cp) * ntp.tpBase;

/**
 * The groups that every rank creates again, in order: per reduced replica the TP group of each slice, then with cp > 1 the
 * CP group of each active slot and one TP-CP group (`initialize_nonuniform_tp_process_groups`).
 */
export function* replacementGroups(ntp: ResolvedNtp, shape: NtpShape): Generator<ReplacementGroup> {
  const count = reducedReplicas(ntp, shape);
  for (let replica = 0; replica < count; replica++) {
    const slices = replicaSlices(ntp, shape, replica);
    const tp = slices.map(({ dp, cp, active }) => active.map((slot) => baseOf(ntp, shape, dp, cp) + slot));
    yield* tp.map((ranks) => ({ name: 'tp' as const, ranks }));
    if (shape.cp > 1) {
      const slots = slices[0]?.active ?? [];
      yield* slots.map((_, i) => ({ name: 'cp' as const, ranks: tp.map((ranks) => ranks[i] ?? 0) }));
      yield { name: 'tp_cp', ranks: tp.flat() };
    }
  }
}

/** The global ranks that exit after the groups are made, ascending. */
export function spareRanks(ntp: ResolvedNtp, shape: NtpShape): number[] {
  const ranks = reducedReplicas(ntp, shape) * shape.cp * ntp.tpBase;
  const spares: number[] = [];
  for (let rank = 0; rank < ranks; rank++) {
    if (isSpare(ntp, shape, rank)) {
      spares.push(rank);
    }
  }
  return spares;
}

/** What a rank does at the gradient all-reduce: enters it, does not enter it, or has exited before. */
export type SyncState = 'syncing' | 'kept_not_syncing' | 'exited';

/** The state of every local slot of one slice. */
export function syncStates(ntp: ResolvedNtp, dp: number, cp: number): SyncState[] {
  const rebuilt = ntp.tpSpares > 0 && dp < ntp.numReducedTpDpRanks;
  const active = rebuilt ? activeSlots(ntp, dp, cp, 0) : Array.from({ length: ntp.tpBase }, (_, slot) => slot);
  // a rank of a smaller TP group always syncs; one of a full group only in the slots that reduced replicas have
  const smaller = active.length < ntp.tpBase && countsAsReduced(ntp, dp, cp);
  const states = new Array<SyncState>(ntp.tpBase).fill('exited');
  for (const [place, slot] of active.entries()) {
    states[slot] = smaller || place < ntp.tpBase - ntp.tpSpares ? 'syncing' : 'kept_not_syncing';
  }
  return states;
}

/** The data-parallel groups that hang, as they are never rebuilt: one for each local slot in which states differ. */
export function syncConflicts(ntp: ResolvedNtp, shape: NtpShape): SyncConflict[] {
  const slices = Array.from({ length: shape.dp * shape.cp }, (_, i) =>
    syncStates(ntp, Math.floor(i / shape.cp), i % shape.cp),
  );
  return conflictingSlots(ntp, shape).map((slot) => {
    const group = slices.map((_, slice) => slice * ntp.tpBase + slot);
    const inState = (state: SyncState) => group.filter((_, slice) => slices[slice]?.[slot] === state);
    return {
      group,
      syncing: inState('syncing'),
      kept_not_syncing: inState('kept_not_syncing'),
      exited: inState('exited'),
    };
  });
}

/** The local slots whose data-parallel group hangs. Its cost grows with the map, not with the world. */
export function conflictingSlots(ntp: ResolvedNtp, shape: NtpShape): number[] {
  const { tpBase, tpSpares } = ntp;
  if (tpSpares === 0) {
    return [];
  }
  // a slice with an entry syncs in all slots but those of the entry; every other one in the slots of the default
  const removedBy = new Uint32Array(tpBase);
  let entries = 0;
  let others = false;
  for (const { dp, cp } of unlikeSlices(ntp, shape)) {
    const entry = dp < ntp.numReducedTpDpRanks ? entryOf(ntp, dp, cp, 0) : undefined;
    const slots = [...(entry ?? [])].filter((slot) => slot < tpBase);
    entries += slots.length > 0 ? 1 : 0;
    others ||= slots.length === 0;
    for (const slot of slots) {
      removedBy[slot] = (removedBy[slot] ?? 0) + 1;
    }
  }
  const conflicts: number[] = [];
  for (const [slot, removed] of removedBy.entries()) {
    const kept = slot < tpBase - tpSpares;
    const syncs = removed < entries || (others && kept);
    const stays = removed > 0 || (others && !kept);
    if (syncs && stays) {
      conflicts.push(slot);
    }
  }
  return conflicts;
}

/**
 * Slices that stand for all slices of the grid: `slicesOf` each replica that the map names, and one slice of a reduced and of a
 * healthy replica that it does not name, whose slices are all alike.
 */
function* unlikeSlices(ntp: ResolvedNtp, shape: NtpShape): Iterable<{ readonly dp: number; readonly cp: number }> {
  const named = byReplica(ntp);
  for (const dp of named.keys()) {
    if (dp < shape.dp) {
      yield* slicesOf(ntp, shape, dp).map((cp) => ({ dp, cp }));
    }
  }
  const reduced = reducedReplicas(ntp, shape);
  for (const dp of [firstWithout(named, 0, reduced), firstWithout(named, reduced, shape.dp)]) {
    if (dp !== null) {
      yield { dp, cp: 0 };
    }
  }
}

/** The slices of a replica that entries name, and the first of the others, which are all alike; ascending. */
function slicesOf(ntp: ResolvedNtp, shape: NtpShape, dp: number): number[] {
  const named = byReplica(ntp).get(dp)?.slices ?? new Set();
  const other = firstWithout(named, 0, shape.cp);
  return [...named, ...(other === null ? [] : [other])].filter((cp) => cp < shape.cp).sort((a, b) => a - b);
}

/** The first number of `[from, to)` that is not among some; null where all are. */
function firstWithout(some: { has(value: number): boolean }, from: number, to: number): number | null {
  let value = from;
  while (value < to && some.has(value)) {
    value++;
  }
  return value < to ? value : null;
}

/**
 * The first reduced replica whose slices do not keep the same slots, and the first slice that differs from slice 0; null where there
 * is none. Its cost grows with the map.
 */
export function firstUnlikeSlices(
  ntp: ResolvedNtp,
  shape: NtpShape,
): { readonly dp: number; readonly cp: number } | null {
  for (const [dp, { slices }] of byReplica(ntp)) {
    if (slices.size === 0 || dp >= ntp.numReducedTpDpRanks) {
      continue;
    }
    const first = entryOf(ntp, dp, 0, 0);
    const odd = slicesOf(ntp, shape, dp).find((cp) => !sameSlots(ntp, first, entryOf(ntp, dp, cp, 0)));
    if (odd !== undefined) {
      return { dp, cp: odd };
    }
  }
  return null;
}

/** How many slots of a replica's first slice are removed, those outside the replica included. */
const removedCount = (ntp: ResolvedNtp, dp: number): number => entryOf(ntp, dp, 0, 0)?.size ?? ntp.tpSpares;

/** The first reduced replica of which no slot stays; null where there is none. */
export function replicaWithoutSlots(ntp: ResolvedNtp): number | null {
  const named = byReplica(ntp);
  const emptied = [...named.keys()].filter(
    (dp) =>
      dp < ntp.numReducedTpDpRanks && removedCount(ntp, dp) >= ntp.tpBase && activeSlots(ntp, dp, 0, 0).length === 0,
  );
  const unnamed = ntp.tpSpares < ntp.tpBase ? null : firstWithout(named, 0, ntp.numReducedTpDpRanks);
  const first = Math.min(...emptied, unnamed ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(first) ? first : null;
}

/** Whether two entries (or the default, where there is none) remove the same slots. */
function sameSlots(ntp: ResolvedNtp, a: ReadonlySet<number> | undefined, b: ReadonlySet<number> | undefined): boolean {
  const slotsOf = (entry: typeof a) => new Set([...(entry ?? lastSlots(ntp))].filter((slot) => slot < ntp.tpBase));
  const [one, other] = [slotsOf(a), slotsOf(b)];
  return a === b || (one.size === other.size && [...one].every((slot) => other.has(slot)));
}
