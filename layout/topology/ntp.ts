import type { ResolvedNonActive, ResolvedNtp } from './resolved';

/** The sizes of the grid that nonuniform TP reconfigures; its ranks lie in the order tp, cp, dp from rank 0. */
export interface NtpShape {
  readonly cp: number;
  readonly dp: number;
}

/** A group that replaces one of the base groups, with its members in ascending order. */
export interface ReplacementGroup {
  readonly name: 'tp' | 'cp' | 'tp_cp';
  readonly ranks: readonly number[];
}

/** A DP-CP group in which some ranks enter the gradient all-reduce and another has left or does not: a hang. */
export interface SyncConflict {
  readonly group: readonly number[];
  readonly syncing: readonly number[];
  readonly kept_not_syncing: readonly number[];
  readonly exited: readonly number[];
}

/** The broken local TP slots of one replica. */
export type FaultySlots = readonly [dp: number, slots: readonly number[]];

/**
 * The spares that all hit replicas need alike: as many as the worst has, the others padded from their highest healthy
 * slots (`compute_uniform_tp_spares_with_parity` in megatron/core/distributed/nonuniform_tp.py).
 */
export function uniformSpares(
  tpBase: number,
  faulty: readonly FaultySlots[],
): { tpSpares: number; nonActive: [dp: number, slots: number[]][] } {
  const tpSpares = faulty.reduce((most, [, slots]) => Math.max(most, slots.length), 0);
  const nonActive = faulty.map(([dp, slots]): [number, number[]] => {
    const padded = [...slots];
    for (let slot = tpBase - 1; slot >= 0 && padded.length < tpSpares; slot--) {
      if (!padded.includes(slot)) {
        padded.push(slot);
      }
    }
    return [dp, padded.sort((a, b) => a - b)];
  });
  return { tpSpares, nonActive };
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

/** The entry of the map that a slice reads: its own (dp, cp, pp) before its replica's. */
function entryOf({ nonActive }: ResolvedNtp, dp: number, cp: number, pp: number): ResolvedNonActive | undefined {
  const entries = nonActive?.filter((entry) => entry.dp === dp) ?? [];
  return (
    entries.find((entry) => entry.cp !== null && entry.cp === cp && (entry.pp ?? 0) === pp) ??
    entries.find((entry) => entry.cp === null && entry.pp === null)
  );
}

/** The local TP slots that stay active in one slice of a replica (`get_active_ranks_for_dp`). */
export function activeSlots(ntp: ResolvedNtp, dp: number, cp: number, pp: number): number[] {
  const entry = entryOf(ntp, dp, cp, pp);
  const slots = Array.from({ length: entry ? ntp.tpBase : Math.max(0, ntp.tpBase - ntp.tpSpares) }, (_, slot) => slot);
  return entry ? slots.filter((slot) => !entry.localRanks.includes(slot)) : slots;
}

/** Whether the map speaks of a slice; without a map the count of reduced replicas decides. */
function countsAsReduced(ntp: ResolvedNtp, dp: number, cp: number): boolean {
  return ntp.nonActive && ntp.nonActive.length > 0
    ? entryOf(ntp, dp, cp, 0) !== undefined
    : dp < ntp.numReducedTpDpRanks;
}

/** Every reduced slice with its active slots, replica by replica. */
export function reducedSlices(ntp: ResolvedNtp, { cp, dp }: NtpShape): { dp: number; cp: number; active: number[] }[] {
  if (ntp.tpSpares === 0) {
    return [];
  }
  const replicas = Math.min(ntp.numReducedTpDpRanks, dp);
  return Array.from({ length: replicas * cp }, (_, i) => {
    const place = { dp: Math.floor(i / cp), cp: i % cp };
    return { ...place, active: activeSlots(ntp, place.dp, place.cp, 0) };
  });
}

/** The first global rank of a slice. */
const baseOf = (ntp: ResolvedNtp, shape: NtpShape, dp: number, cp: number): number => (dp * shape.cp + cp) * ntp.tpBase;

/**
 * The groups that every rank creates anew, in order: per reduced replica the TP group of each slice, then with cp > 1 the
 * CP group of each active slot and one TP-CP group (`initialize_nonuniform_tp_process_groups`).
 */
export function replacementGroups(ntp: ResolvedNtp, shape: NtpShape): ReplacementGroup[] {
  const slices = reducedSlices(ntp, shape);
  const groups: ReplacementGroup[] = [];
  for (let first = 0; first < slices.length; first += shape.cp) {
    const replica = slices.slice(first, first + shape.cp);
    const tp = replica.map(({ dp, cp, active }) => active.map((slot) => baseOf(ntp, shape, dp, cp) + slot));
    groups.push(...tp.map((ranks) => ({ name: 'tp' as const, ranks })));
    if (shape.cp > 1) {
      const slots = replica[0]?.active ?? [];
      groups.push(...slots.map((_, i) => ({ name: 'cp' as const, ranks: tp.map((ranks) => ranks[i] ?? 0) })));
      groups.push({ name: 'tp_cp', ranks: tp.flat() });
    }
  }
  return groups;
}

/** How many ranks leave. */
export function spareCount(ntp: ResolvedNtp, { cp, dp }: NtpShape): number {
  return ntp.tpSpares * Math.min(ntp.numReducedTpDpRanks, dp) * cp;
}

/** The global ranks that leave after the groups are made, ascending. */
export function spareRanks(ntp: ResolvedNtp, shape: NtpShape): number[] {
  return reducedSlices(ntp, shape).flatMap(({ dp, cp, active }) =>
    Array.from({ length: ntp.tpBase }, (_, slot) => slot)
      .filter((slot) => !active.includes(slot))
      .map((slot) => baseOf(ntp, shape, dp, cp) + slot),
  );
}

/** What a rank does at the gradient all-reduce: enters it, stays out of it, or has left the job. */
type SyncState = 'syncing' | 'kept_not_syncing' | 'exited';

function syncState(ntp: ResolvedNtp, dp: number, cp: number, slot: number): SyncState {
  const rebuilt = dp < ntp.numReducedTpDpRanks;
  const active = rebuilt ? activeSlots(ntp, dp, cp, 0) : null;
  if (active && !active.includes(slot)) {
    return 'exited';
  }
  // a rank of a smaller TP group always syncs; one of a full group only in the slots that reduced replicas have
  const smaller = active !== null && active.length < ntp.tpBase && countsAsReduced(ntp, dp, cp);
  const place = active ? active.indexOf(slot) : slot;
  return smaller || place < ntp.tpBase - ntp.tpSpares ? 'syncing' : 'kept_not_syncing';
}

/** The data-parallel groups that hang, since they are never rebuilt: one for each local slot in which states differ. */
export function syncConflicts(ntp: ResolvedNtp, shape: NtpShape): SyncConflict[] {
  return conflictingSlots(ntp, shape).map((slot) => {
    const states: Record<SyncState, number[]> = { syncing: [], kept_not_syncing: [], exited: [] };
    const group: number[] = [];
    for (let dp = 0; dp < shape.dp; dp++) {
      for (let cp = 0; cp < shape.cp; cp++) {
        const rank = baseOf(ntp, shape, dp, cp) + slot;
        group.push(rank);
        states[syncState(ntp, dp, cp, slot)].push(rank);
      }
    }
    return { group, ...states };
  });
}

/**
 * The local slots whose data-parallel group hangs. Replicas that no entry names behave alike, so of those one reduced and
 * one healthy are looked at: the cost does not grow with the world.
 */
export function conflictingSlots(ntp: ResolvedNtp, shape: NtpShape): number[] {
  if (ntp.tpSpares === 0) {
    return [];
  }
  const named = new Set((ntp.nonActive ?? []).map((entry) => entry.dp).filter((dp) => dp < shape.dp));
  const unnamed = (from: number, to: number) => {
    let dp = from;
    while (dp < to && named.has(dp)) {
      dp++;
    }
    return dp < to ? [dp] : [];
  };
  const reduced = Math.min(ntp.numReducedTpDpRanks, shape.dp);
  const replicas = [...named, ...unnamed(0, reduced), ...unnamed(reduced, shape.dp)];
  const slots: number[] = [];
  for (let slot = 0; slot < ntp.tpBase; slot++) {
    const states = new Set(
      replicas.flatMap((dp) => Array.from({ length: shape.cp }, (_, cp) => syncState(ntp, dp, cp, slot))),
    );
    if (states.has('syncing') && states.size > 1) {
      slots.push(slot);
    }
  }
  return slots;
}

/** How many elements each rank of a healthy replica sends to and receives from each other one. */
export interface ReshardSplits {
  readonly send: readonly (readonly number[])[];
  readonly recv: readonly (readonly number[])[];
}

/**
 * The splits by which a healthy replica folds the shards of its spare slots onto the slots that reduced replicas have: the
 * shards of the spares go round robin (`ntp_map`).
 * @param numShards units that the dimension is cut into, such as heads
 * @param partitionSize elements of the partition dimension on one rank
 * @returns null where Megatron-LM fails: too few shards for the reduced ranks
 */
export function reshardSplits(
  tpBase: number,
  tpSpares: number,
  numShards: number,
  partitionSize: number,
): ReshardSplits | null {
  const reduced = tpBase - tpSpares;
  if (reduced < 1 || numShards < 1 || Math.ceil(numShards / Math.ceil(numShards / reduced)) < reduced) {
    return null;
  }
  const perRank = Math.floor(numShards / tpBase);
  const perShard = Math.floor((partitionSize * tpBase) / numShards);
  const zeros = () => Array.from({ length: tpBase }, () => new Array<number>(tpBase).fill(0));
  const send = zeros();
  const recv = zeros();
  for (let shard = 0; shard < perRank * tpSpares; shard++) {
    const from = reduced + Math.floor(shard / perRank);
    const to = shard % reduced;
    const row = send[from];
    const column = recv[to];
    if (row && column) {
      row[to] = (row[to] ?? 0) + perShard;
      column[from] = (column[from] ?? 0) + perShard;
    }
  }
  return { send, recv };
}

/** A family of explicit groups, each a list of launched ranks. */
export interface ExplicitFamily {
  readonly name: string;
  readonly lists: readonly (readonly number[])[];
}

/** Whether only the active ranks are launched, so that every group is explicit. */
export function isPacked(ntp: ResolvedNtp | null): ntp is ResolvedNtp {
  return ntp !== null && ntp.placement === 'packed' && ntp.tpSpares > 0;
}

/** The launched rank of every slot of every slice: `null` for a slot that is not launched. */
export function packedRanks(ntp: ResolvedNtp, { cp, dp }: NtpShape): (number | null)[][] {
  let next = 0;
  return Array.from({ length: dp * cp }, (_, i) => {
    const replica = Math.floor(i / cp);
    const active = replica < ntp.numReducedTpDpRanks ? new Set(activeSlots(ntp, replica, i % cp, 0)) : null;
    return Array.from({ length: ntp.tpBase }, (_, slot) => (active && !active.has(slot) ? null : next++));
  });
}

/**
 * The groups of packed placement, in the order of the nominal ones: TP groups of each slice's launched ranks; DP groups
 * over matching active slots, the first of each replica, the second, and so on; healthy replicas' slots beyond those that
 * reduced ones have stand alone, since their gradients travel by the reshard splits.
 */
export function packedFamilies(ntp: ResolvedNtp, shape: NtpShape): ExplicitFamily[] {
  const slices = packedRanks(ntp, shape).map((slots) => slots.filter((rank) => rank !== null));
  const reduced = ntp.tpBase - ntp.tpSpares;
  const of = (dp: number, cp: number) => slices[dp * shape.cp + cp] ?? [];
  const count = (n: number) => Array.from({ length: n }, (_, i) => i);
  const replicas = count(shape.dp);
  const cps = count(shape.cp);
  const matching = (members: (slot: number) => number[]) => count(reduced).map(members);
  const extras = slices.flatMap((ranks) => ranks.slice(reduced).map((rank) => [rank]));
  const cp = replicas.flatMap((dp) => of(dp, 0).map((_, place) => cps.map((slice) => of(dp, slice)[place] ?? 0)));
  const tpCp = replicas.map((dp) => cps.flatMap((slice) => of(dp, slice)));
  return [
    {
      name: 'dp_cp',
      lists: [...matching((slot) => replicas.flatMap((dp) => cps.map((slice) => of(dp, slice)[slot] ?? 0))), ...extras],
    },
    {
      name: 'dp',
      lists: [...cps.flatMap((slice) => matching((slot) => replicas.map((dp) => of(dp, slice)[slot] ?? 0))), ...extras],
    },
    { name: 'cp', lists: cp },
    { name: 'mp', lists: slices },
    { name: 'tp', lists: slices },
    { name: 'tp_cp', lists: tpCp },
  ];
}
