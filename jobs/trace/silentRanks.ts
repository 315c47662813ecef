import type { Entry, RunGroup } from './evidence';
import { disagreement } from './mismatch';
import type { RankRun, Run } from './rankRun';
import type { Wait } from './waits';

/** Whether a rank without a dump may wait itself: for a rank whose dump shows it absent, or for another silent rank. */
export type MayWait = 'for-seen' | 'for-silent' | 'no' | 'unknown';

/** Which ranks and groups correspond to each other, according to the layout. */
export interface Programs {
  /** A key: ranks with the same one run the same program. */
  programOf(rank: number): string;
  /** The group of a rank that corresponds to another rank's `group`; undefined for unknown. */
  groupLike(group: RunGroup, rank: number): RunGroup | undefined;
}

/**
 * Whether other ranks may have blocked a silent rank before the operation that others wait for it in. It runs the program of its
 * peers, so it had to enter the same operations before that one, with the members of its own groups. If all of those members
 * entered them, only the silent rank itself is to blame.
 */
export function mayWait(silent: number, waits: readonly Wait[], run: Run, programs: Programs): MayWait {
  // where dumps show others absent or behind, the silent rank may be waiting itself
  const decisive = waits.filter(
    ({ absent, behind }) => (absent.length === 0 && behind.length === 0) || absent.includes(silent),
  );
  if (decisive.length === 0) {
    return 'for-seen';
  }
  const peer = furthestPeer(silent, run, programs);
  if (!peer) {
    return 'unknown';
  }
  const waited = new Set(decisive.map(({ entry }) => keyOf(entry.group, entry)));
  const counts = new Map<string, number>();
  let answer: MayWait = 'no';
  for (const entry of peer.evidence.entries) {
    const group = programs.groupLike(entry.group, silent);
    if (group && !entry.p2p && waited.has(keyOf(group, entry))) {
      return answer;
    }
    const nth = nthTransfer(entry, counts);
    const missing = group ? missingPartner(silent, entry, group, nth, { run, peer }) : 'for-silent';
    if (missing === 'for-seen') {
      return missing;
    }
    answer = missing ?? answer;
  }
  // the peer did not reach the operation either: only its own wait is known
  return answer === 'no' && decisive.every(({ entry }) => !entry.p2p) ? 'unknown' : answer;
}

/** The rank with the same program whose dump goes furthest. */
function furthestPeer(silent: number, run: Run, programs: Programs): RankRun | undefined {
  const program = programs.programOf(silent);
  let best: RankRun | undefined;
  for (const rank of run.all) {
    if (rank.whole && programs.programOf(rank.rank) === program && rank.lastRecord > (best?.lastRecord ?? -1)) {
      best = rank;
    }
  }
  return best;
}

function keyOf(group: RunGroup, { seq }: Entry): string {
  return `${group.name} ${seq}`;
}

/** The number of a transfer among those of its group, direction and other end; `counts` holds how many came before. */
export function nthTransfer({ group, operation }: Entry, counts: Map<string, number>): number {
  const key = `${group.name} ${operation.name} ${operation.peer}`;
  const nth = counts.get(key) ?? 0;
  counts.set(key, nth + 1);
  return nth;
}

/** The kind of partner of the silent rank that has not entered its operation; null where all have. */
function missingPartner(
  silent: number,
  entry: Entry,
  group: RunGroup,
  nth: number,
  { run, peer }: { readonly run: Run; readonly peer: RankRun },
): 'for-seen' | 'for-silent' | null {
  const partners =
    entry.operation.peer === null ? group.ranks : group.ranks.slice(entry.operation.peer, entry.operation.peer + 1);
  let found: 'for-silent' | null = null;
  for (const partner of partners.filter((one) => one !== silent)) {
    const other = run.ranks.get(partner);
    const entered =
      other && (entry.p2p ? transferThere(other, silent, entry, group, nth, peer) : other.entered(group, entry.seq));
    const theirs = entry.p2p ? undefined : other?.entryOf(group, entry.seq)?.operation;
    if (entered === false || (theirs && disagreement(theirs, entry.operation) !== null)) {
      return 'for-seen';
    }
    if (entered !== true) {
      found = 'for-silent';
    }
  }
  return found;
}

function transferThere(
  other: RankRun,
  silent: number,
  { operation, completed }: Entry,
  group: RunGroup,
  nth: number,
  peer: RankRun,
): boolean {
  const theirs = other.transfers(group, operation.name === 'send' ? 'recv' : 'send', group.ranks.indexOf(silent));
  return peer.fromStart && other.fromStart ? theirs.length > nth : completed || theirs.some((one) => !one.completed);
}
