import { memoize } from '../../layout';
import { getOrInsert, groupedBy } from '../collections';
import type { Entry, Operation, RunGroup } from './evidence';
import type { RankRun, Run } from './rankRun';
import { nthTransfer, type Programs } from './silentRanks';

/**
 * Whether every rank that a rank without a dump could wait for has done what it must: it left a whole dump, and in the groups that
 * it has in common with that rank, its operations are those of another rank with the same program. Where one has sent less, or has
 * left an operation out, the rank without a dump may be its victim.
 * @param since when others came to wait, in nanoseconds since 1970: dumps that were written before show less
 */
export function areInnocent(silent: number, since: number, run: Run, programs: Programs): boolean {
  const whole = run.all.filter((one) => one.whole && one.isSettled(since));
  const wholeByProgram = groupedBy(whole, ({ rank }) => programs.programOf(rank));
  const [model] = wholeByProgram.get(programs.programOf(silent)) ?? [];
  if (!model) {
    return false;
  }
  const groups = new Set(model.evidence.entries.map(({ group }) => group));
  // who is in an operation with another unseen rank may be held by that one
  const isShown = memoize((group: RunGroup) =>
    group.ranks.every((rank) => rank === silent || run.ranks.get(rank)?.whole === true),
  );
  const common = [...groups].map((group) => programs.groupLike(group, silent));
  const partners = new Set(common.flatMap((group) => group?.ranks ?? []));
  return (
    common.every((group) => group !== undefined) &&
    [...partners].every((partner) => {
      const own = run.ranks.get(partner);
      const peers = wholeByProgram.get(programs.programOf(partner)) ?? [];
      const peer = peers.find(({ rank }) => rank !== partner && rank !== silent);
      const shown = own?.whole === true && own.isSettled(since) && own.pending.every(({ group }) => isShown(group));
      return partner === silent || (shown && peer !== undefined && agree(own, peer, silent, programs));
    })
  );
}

/** Whether a rank's operations with another one are those of its peer with the corresponding one. */
function agree(own: RankRun, peer: RankRun, other: number, programs: Programs): boolean {
  const theirs = new Map<RunGroup, Map<number, Operation>>();
  for (const { group, seq, p2p, operation } of peer.evidence.entries) {
    if (!p2p) {
      getOrInsert(theirs, group, () => new Map()).set(seq, operation);
    }
  }
  const counts = new Map<string, number>();
  const transferIn = (group: RunGroup, entry: Entry) =>
    peer.transfers(group, entry.operation.name, entry.operation.peer ?? -1)[nthTransfer(entry, counts)]?.operation;
  return own.evidence.entries.every((entry) => {
    if (!entry.group.ranks.includes(other)) {
      return true;
    }
    const group = programs.groupLike(entry.group, peer.rank);
    const same = group && (entry.p2p ? transferIn(group, entry) : theirs.get(group)?.get(entry.seq));
    // the peer may not have come as far, or its ring may have dropped it
    return same === undefined || isSame(entry.operation, same);
  });
}

function isSame(a: Operation, b: Operation): boolean {
  return a.name === b.name && a.input === b.input && a.output === b.output && a.dtype === b.dtype;
}
