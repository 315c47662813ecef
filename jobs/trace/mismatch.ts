import { getOrInsert, groupedBy } from '../collections';
import type { Entry, Operation, RunGroup } from './evidence';
import type { RankRun, Run } from './rankRun';
import type { Mismatch } from './verification';

/** An operation that the members of a group have entered differently. */
export interface Conflict {
  readonly group: RunGroup;
  readonly seq: number;
  readonly what: Mismatch['what'];
  /** The entry of each member whose ring holds the operation. */
  readonly byRank: ReadonlyMap<number, Entry>;
}

/** Operations whose members must all have the same number of elements. */
const EVEN = new Set([
  'all_reduce',
  'all_reduce_barrier',
  'broadcast',
  'reduce',
  '_broadcast_oop',
  '_reduce_oop',
  '_all_gather_base',
  '_reduce_scatter_base',
  'send',
  'recv',
]);

/** Bytes of an element, by torch's name of its type. */
const BYTES: Readonly<Record<string, number>> = {
  ...{ Double: 8, Long: 8, Float: 4, Int: 4, Half: 2, BFloat16: 2, Short: 2, Byte: 1, Char: 1, Bool: 1 },
  ...{ Float8_e4m3fn: 1, Float8_e5m2: 1 },
};

/** Bytes of an element, by torch's name of its type; undefined for unknown. */
export const elementBytes = (dtype: string): number | undefined => BYTES[dtype];

/** The most operations of a batch that are distinguished. */
const MAX_BATCH = 1024;

/** The name of an operation of which only the number is told. */
export const UNTOLD = 'operation';

/** The property in which two members of a collective disagree; null for none. */
export function disagreement(a: Operation, b: Operation): Mismatch['what'] | null {
  if (a === b) {
    return null;
  }
  if (a.name !== b.name) {
    return 'op';
  }
  if (EVEN.has(a.name) && (differ(a.input, b.input) || differ(a.output, b.output))) {
    return 'size';
  }
  return a.dtype !== b.dtype && a.dtype !== '' && b.dtype !== '' ? 'dtype' : null;
}

/** Whether two numbers of elements differ; -1 is unknown. */
function differ(a: number, b: number): boolean {
  return a !== b && a >= 0 && b >= 0;
}

/**
 * Pending transfers whose two ends disagree in bytes. The n-th transfer from one rank to another is the n-th that the other
 * receives; rings that have dropped their beginning are skipped.
 */
export function transferConflicts(run: Run): Conflict[] {
  const found: Conflict[] = [];
  for (const sender of run.all.filter(({ fromStart }) => fromStart)) {
    for (const sends of transfersBy(withOperation(sender), 'send').values()) {
      const [{ group, operation } = {}] = sends;
      const receiver = group && run.ranks.get(group.ranks[operation?.peer ?? -1] ?? -1);
      if (!group || !receiver?.fromStart) {
        continue;
      }
      const receives = transfersBy(withOperation(receiver), 'recv').get(
        `${group.name} ${group.ranks.indexOf(sender.rank)}`,
      );
      const nth = sends.findIndex((send, i) => differsInBytes(send, receives?.[i]));
      const [send, receive] = [sends[nth], receives?.[nth]];
      if (send && receive && !(send.completed && receive.completed)) {
        const byRank = new Map([
          [sender.rank, send],
          [receiver.rank, receive],
        ]);
        found.push({ group, seq: send.seq, what: 'size', byRank });
      }
    }
  }
  return found.sort((a, b) => oldest(a) - oldest(b));
}

/** The transfers of one direction by group and peer, in order. */
const transfersBy = (entries: readonly Entry[], name: string): Map<string, Entry[]> =>
  groupedBy(
    entries.filter(({ p2p, operation }) => p2p && operation.name === name && operation.peer !== null),
    ({ group, operation }) => `${group.name} ${operation.peer}`,
  );

function differsInBytes(send: Entry, receive: Entry | undefined): boolean {
  const [sent, received] = [bytesOf(send, send.operation.input), receive && bytesOf(receive, receive.operation.output)];
  return sent !== null && received != null && sent !== received;
}

/** Null for unknown. */
function bytesOf({ operation: { dtype } }: Entry, elements: number): number | null {
  const size = BYTES[dtype];
  return size === undefined || elements < 0 ? null : elements * size;
}

/** By operation, how the elements of its outputs and inputs relate in a group of a size; torch refuses any other. */
const RELATIONS: Readonly<Record<string, (operation: Operation, members: number) => boolean>> = {
  all_reduce: ({ input, output }) => input === output,
  _all_gather_base: ({ input, output }, members) => output === input * members,
  _reduce_scatter_base: ({ input, output }, members) => input === output * members,
};

/** Whether one of two operations has sizes that torch accepts, and the other has not: then its dump is damaged. */
function isDamage(a: Operation, b: Operation, { ranks }: RunGroup): boolean {
  const relation = RELATIONS[a.name];
  return relation !== undefined && a.name === b.name && relation(a, ranks.length) !== relation(b, ranks.length);
}

/** The first conflict of each group, the oldest first: later conflicts of a group are consequences. */
export function conflicts(run: Run): Conflict[] {
  const first = new Map<RunGroup, number>();
  const seen = new Map<RunGroup, Map<number, Operation>>();
  for (const rank of run.all) {
    forEachCollective(withOperation(rank), (entry, key) => {
      const operations = getOrInsert(seen, entry.group, () => new Map());
      const known = operations.get(key);
      if (known === undefined) {
        operations.set(key, entry.operation);
      } else if (disagreement(known, entry.operation) !== null && !isDamage(known, entry.operation, entry.group)) {
        first.set(entry.group, Math.min(key, first.get(entry.group) ?? key));
      }
    });
  }
  return [...first].flatMap(([group, key]) => conflictAt(run, group, key) ?? []).sort((a, b) => oldest(a) - oldest(b));
}

/** The entries with an operation: RAS and older logs tell only their numbers. */
function withOperation(rank: RankRun | undefined): readonly Entry[] {
  return !rank
    ? []
    : rank.evidence.source === 'log'
      ? rank.evidence.entries.filter(({ operation }) => operation.name !== UNTOLD)
      : rank.evidence.entries;
}

/** Calls `visit` with each collective and a key that is equal on all members of its group. */
function forEachCollective(entries: readonly Entry[], visit: (entry: Entry, key: number) => void): void {
  const last = new Map<RunGroup, { seq: number; nth: number }>();
  for (const entry of entries) {
    if (!entry.p2p) {
      const before = last.get(entry.group);
      const nth = before?.seq === entry.seq ? before.nth + 1 : 0;
      last.set(entry.group, { seq: entry.seq, nth });
      visit(entry, entry.seq * MAX_BATCH + Math.min(nth, MAX_BATCH - 1));
    }
  }
}

function conflictAt(run: Run, group: RunGroup, key: number): Conflict | null {
  const byRank = new Map<number, Entry>();
  for (const member of group.ranks) {
    forEachCollective(withOperation(run.ranks.get(member)), (entry, at) => {
      if (entry.group === group && at === key) {
        byRank.set(member, entry);
      }
    });
  }
  const [sample, ...others] = byRank.values();
  const what = sample && others.map((other) => disagreement(sample.operation, other.operation)).find((kind) => kind);
  return what ? { group, seq: Math.floor(key / MAX_BATCH), what, byRank } : null;
}

function oldest({ byRank }: Conflict): number {
  return Math.min(...[...byRank.values()].map(({ created }) => created));
}

/** The members of a conflict by operation, the largest camp first. */
export function camps({ byRank }: Conflict): { readonly operation: Operation; readonly ranks: number[] }[] {
  const found: { operation: Operation; ranks: number[] }[] = [];
  for (const [rank, { operation }] of byRank) {
    const camp = found.find((one) => disagreement(one.operation, operation) === null);
    if (camp) {
      camp.ranks.push(rank);
    } else {
      found.push({ operation, ranks: [rank] });
    }
  }
  return found.sort((a, b) => b.ranks.length - a.ranks.length);
}
