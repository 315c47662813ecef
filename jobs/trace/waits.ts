import { getOrInsert } from '../collections';
import type { Entry, RunGroup } from './evidence';
import type { Entered, RankRun, Run } from './rankRun';

/** The name of the set-up of a communicator, in which the members wait for the rank that makes its id. */
export const SET_UP = 'set-up';

/** A rank that waits in an operation, and the ranks that it waits for. */
export interface Wait {
  readonly rank: number;
  readonly entry: Entry;
  /** Members that have not entered the operation. */
  readonly absent: readonly number[];
  /** Members that may have entered it: no file tells. */
  readonly unknown: readonly number[];
  /** Members that have entered it, but are blocked in an earlier operation. */
  readonly behind: readonly number[];
}

/** The ranks that keep a wait from ending. */
export function waitsFor({ absent, unknown, behind }: Wait): readonly number[] {
  return absent.length + unknown.length > 0 ? [...absent, ...unknown] : behind;
}

/** The wait-for graph: an edge from each rank to each member that its pending operation lacks. */
export interface WaitGraph {
  /** By rank, the operation that blocks it: the first pending one that lacks a member. */
  readonly waits: ReadonlyMap<number, Wait>;
  /** By rank, a pending operation that every member has entered: in flight, or stuck below torch. */
  readonly stalled: ReadonlyMap<number, Entry>;
  /** Ranks that others wait for and that do not wait, in ascending order, with the waits for them. */
  readonly roots: ReadonlyMap<number, readonly Wait[]>;
}

export function waitGraph(run: Run): WaitGraph {
  const waits = new Map<number, Wait>();
  const stalled = new Map<number, Entry>();
  const instances = new Instances(run);
  for (const rank of run.all) {
    const found = rank.pending
      .slice(0, MAX_PENDING)
      .map((entry) => ({ rank: rank.rank, entry, ...instances.lacking(rank, entry) }))
      // a member whose dump lacks the operation is late; one without a dump may have entered it after the others were dumped
      .filter(({ entry, absent }) => absent.length > 0 || rank.isSettled(entry.created));
    const held = found.find((wait) => wait.absent.length > 0) ?? found.find((wait) => waitsFor(wait).length > 0);
    const [first] = rank.pending;
    if (held) {
      waits.set(rank.rank, held);
    } else if (first) {
      stalled.set(rank.rank, first);
    }
  }
  return { waits, stalled, roots: rootsOf(waits, stalled) };
}

/** The roots, each with one wait an operation: all members of a large group wait for the same ranks. */
function rootsOf(waits: ReadonlyMap<number, Wait>, stalled: ReadonlyMap<number, Entry>): Map<number, Wait[]> {
  const roots = new Map<number, Wait[]>();
  const seen = new Set<readonly number[]>();
  for (const wait of waits.values()) {
    for (const lacking of [wait.absent, wait.unknown]) {
      if (seen.has(lacking)) {
        continue;
      }
      seen.add(lacking);
      for (const rank of lacking.filter((one) => !waits.has(one) && !stalled.has(one))) {
        roots.set(rank, [...(roots.get(rank) ?? []), wait]);
      }
    }
  }
  return new Map([...roots].sort(([a], [b]) => a - b));
}

/** The most pending operations of a rank that are looked at, the oldest first. */
const MAX_PENDING = 256;

type Lacking = Pick<Wait, 'absent' | 'unknown' | 'behind'>;

/** The members that operations lack, computed once for all members of a collective. */
class Instances {
  readonly #known = new Map<RunGroup, Map<number, Lacking>>();

  constructor(readonly run: Run) {}

  lacking(rank: RankRun, entry: Entry): Lacking {
    if (entry.p2p) {
      const told = entry.operation.peer !== null || rank.evidence.source === 'log';
      return this.#lackingOf(rank, entry, told ? peerOf(rank.rank, entry) : []);
    }
    const bySeq = getOrInsert(this.#known, entry.group, () => new Map());
    const found = getOrInsert(bySeq, entry.seq, () => this.#lackingOf(rank, entry, entry.group.ranks));
    return found.behind.includes(rank.rank)
      ? { ...found, behind: found.behind.filter((member) => member !== rank.rank) }
      : found;
  }

  #lackingOf(rank: RankRun, entry: Entry, members: readonly number[]): Lacking {
    const entered = members.map((member) => enteredBy(this.run.ranks.get(member), rank, entry));
    return {
      absent: members.filter((_, i) => entered[i] === false),
      unknown: members.filter((_, i) => entered[i] === null),
      behind: members.filter((member) => isBehind(this.run.ranks.get(member), entry)),
    };
  }
}

/** The rank at the other end of a transfer; both neighbours where a log does not tell it. */
function peerOf(rank: number, { group, operation }: Entry): readonly number[] {
  if (operation.peer === null) {
    const own = group.ranks.indexOf(rank);
    return own < 0 ? [] : group.ranks.filter((_, i) => i === own - 1 || i === own + 1);
  }
  const peer = group.ranks[operation.peer];
  return peer === undefined || peer === rank ? [] : [peer];
}

function enteredBy(other: RankRun | undefined, rank: RankRun, entry: Entry): Entered {
  if (entry.operation.name === SET_UP) {
    // the id of the communicator is not in the store
    return false;
  }
  if (entry.p2p && entry.operation.peer === null) {
    // a log tells who is in a transfer of the group, but not with whom
    return other?.pending.some(({ p2p, group }) => p2p && group === entry.group) ? true : null;
  }
  if (!other) {
    return null;
  }
  const entered = entry.p2p ? transferEntered(other, rank, entry) : other.entered(entry.group, entry.seq);
  return entered === false && !other.isSettled(entry.created) ? null : entered;
}

/**
 * Whether the other end of a transfer has entered it. Each end counts its own transfers, so the n-th of one belongs to the n-th of
 * the other; where a ring has dropped its beginning, the transfers that are pending at both ends belong together.
 */
function transferEntered(other: RankRun, rank: RankRun, { group, operation, record, created }: Entry): Entered {
  const counterpart = operation.name === 'send' ? 'recv' : 'send';
  const own = rank.transfers(group, operation.name, operation.peer ?? -1);
  const theirs = other.transfers(group, counterpart, group.ranks.indexOf(rank.rank));
  const nth = own.findIndex((entry) => entry.record === record);
  const there = rank.fromStart && other.fromStart ? theirs.length > nth : theirs.some(({ completed }) => !completed);
  // a rank that was dumped early may have met the other end since
  const tells = other.whole && (rank.fromStart ? other.fromStart : rank.isSettled(created));
  return there || (tells ? false : null);
}

/** Whether a rank that has entered an operation is blocked in an earlier one. */
function isBehind(other: RankRun | undefined, { group, seq, p2p }: Entry): boolean {
  const first = other?.pending[0];
  // a log does not tell in which order a rank has entered its operations
  if (!other || !first || other.evidence.source === 'log') {
    return false;
  }
  const own = p2p ? undefined : other.entryOf(group, seq);
  return own ? first.record < own.record : first.group !== group;
}
