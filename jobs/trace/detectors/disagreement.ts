import { countOf } from '../../../layout';
import type { Entry, Operation } from '../evidence';
import { isUnnamed } from '../groupComparison';
import { type Conflict, camps, conflicts, disagreement, transferConflicts } from '../mismatch';
import { type Divergence, isResolved } from '../programs';
import type { Run } from '../rankRun';
import type { RunContext } from '../suspect';
import { operationText, ranksText, stackTexts } from '../texts';
import type { Mismatch } from '../verification';
import { CONFIDENCE } from './confidence';
import { lateSuspects } from './late';
import type { Detector, Finding, Scene } from './scene';

/** The most ranks that a mismatch lists. */
const MAX_BY_RANK = 64;

/** Ranks that differ from their peers come before all others: waits follow from that. */
export const DISAGREEMENT: Detector = {
  name: 'disagreement',
  detect(scene) {
    const found = mismatchOf(scene);
    const explained = new Set(found?.suspects.map(({ rank }) => rank));
    return found && { ...found, suspects: [...found.suspects, ...lateSuspects(scene, explained)] };
  },
};

/** What ranks did differently, and which of them are wrong. */
function mismatchOf({ run, graph, divergences: all, context }: Scene): Finding | null {
  const divergences = all.filter(isResolved);
  const held = graph.waits.size > 0 || graph.stalled.size > 0;
  const [conflict] = [...conflicts(run), ...(held ? transferConflicts(run) : [])];
  if (conflict) {
    return conflictMismatch(conflict, divergences, run, context);
  }
  const [first] = divergences;
  return first ? divergenceMismatch(first, divergences, context) : null;
}

function divergenceMismatch(first: Divergence, all: readonly Divergence[], context: RunContext): Finding {
  const suspects = all.map((divergence) => ({
    rank: divergence.rank,
    confidence: confidenceIn(divergence),
    lost: false,
    because: divergenceTexts(divergence, context),
  }));
  return {
    verdict: 'mismatch',
    mismatch: {
      group: context.nameOf(first.did),
      seq: first.did.seq,
      what: divergenceKind(first, context),
      by_rank: Object.fromEntries(
        all.slice(0, MAX_BY_RANK).map(({ rank, did }) => [rank, operationText(did, context)]),
      ),
    },
    suspects,
    why: [],
  };
}

function divergenceKind({ did, expected }: Divergence, context: RunContext): Mismatch['what'] {
  return context.nameOf(did) === expected.name && did.operation.name === expected.operation ? 'dtype' : 'order';
}

function confidenceIn({ peers, breaksHabit, aligned }: Divergence): number {
  if (peers === 0 || (aligned && !breaksHabit)) {
    return CONFIDENCE.open;
  }
  return peers > 1 || breaksHabit ? CONFIDENCE.peersDiffer : CONFIDENCE.onePeer;
}

function divergenceTexts({ did, expected, peers, breaksHabit }: Divergence, context: RunContext): string[] {
  const at = `It entered ${operationText(did, context)} where`;
  const type = did.operation.dtype === expected.dtype ? '' : ` of ${expected.dtype}`;
  const instead = `${expected.name} ${expected.operation}${type}`;
  return [
    peers > 0
      ? `${at} ${countOf(peers, 'rank')} with the same program entered ${instead}.`
      : `${at} it always entered ${instead} before.`,
    ...(peers > 0 && breaksHabit ? ['It had not done so in any earlier step.'] : []),
    ...stackTexts(did),
  ];
}

function conflictMismatch(
  conflict: Conflict,
  divergences: readonly Divergence[],
  run: Run,
  context: RunContext,
): Finding {
  const odd = oddOnes(conflict, divergences, run, context);
  // a log holds the last operation of a rank alone
  const logged = [...conflict.byRank.keys()].some((rank) => run.ranks.get(rank)?.evidence.source === 'log');
  const most = logged ? CONFIDENCE.open : 1;
  const camp = camps(conflict);
  const what = swapped(conflict, run) ? 'order' : conflict.what;
  const suspects = odd.ranks.map((rank) => {
    const entry = conflict.byRank.get(rank);
    const other = camp.find(({ ranks }) => !ranks.includes(rank));
    return {
      rank,
      confidence: Math.min(most, odd.confidence),
      lost: false,
      because: [
        ...(entry && other ? [differenceText(entry, other, conflict.what, context)] : []),
        ...(odd.reason === '' ? [] : [odd.reason]),
        ...(entry ? stackTexts(entry) : []),
      ],
    };
  });
  return {
    verdict: 'mismatch',
    mismatch: {
      group: context.nameOf([...conflict.byRank.values()][0] as Entry),
      seq: conflict.seq,
      what,
      by_rank: byRankText([...conflict.byRank.values()], [...conflict.byRank.keys()], context),
    },
    suspects,
    why: odd.reason === '' ? ['The dumps do not show which of the members is wrong.'] : [],
  };
}

interface OddOnes {
  readonly ranks: readonly number[];
  readonly confidence: number;
  /** Why these; empty for unknown. */
  readonly reason: string;
}

/** Which members of a conflict are wrong, according to their peers, the majority, sibling groups or their own history. */
function oddOnes(conflict: Conflict, divergences: readonly Divergence[], run: Run, context: RunContext): OddOnes {
  const diverging = divergences.filter(({ rank }) => conflict.byRank.has(rank));
  if (diverging.length > 0) {
    const peers = Math.max(...diverging.map((one) => one.peers));
    return {
      ranks: diverging.map(({ rank }) => rank),
      confidence: diverging.every(({ aligned, breaksHabit }) => aligned && !breaksHabit)
        ? CONFIDENCE.open
        : CONFIDENCE.peersDiffer,
      reason: peers > 0 ? `${countOf(peers, 'rank')} with the same program did not.` : 'It never did so before.',
    };
  }
  const [most, ...others] = camps(conflict);
  const rest = others.flatMap(({ ranks }) => ranks);
  if (most && most.ranks.length > rest.length && conflict.byRank.size > 2) {
    return {
      ranks: rest,
      confidence: CONFIDENCE.peersDiffer,
      reason: `The other ${most.ranks.length} members of the group agree.`,
    };
  }
  return (
    (most?.operation.peer === null ? bySiblings(conflict, run, context) : byTransferSiblings(conflict, run, context)) ??
    byHistory(conflict, run) ?? { ranks: [...conflict.byRank.keys()], confidence: CONFIDENCE.either, reason: '' }
  );
}

/** Compares with groups of the same name in the same place. */
function bySiblings(conflict: Conflict, run: Run, context: RunContext): OddOnes | null {
  const [sample] = conflict.byRank.values();
  const name = sample && context.nameOf(sample);
  const programs = new Set([...conflict.byRank.keys()].map((rank) => context.programOf(rank)));
  const votes = new Map<number, number>();
  const sides = camps(conflict);
  for (const rank of run.all) {
    if (!conflict.byRank.has(rank.rank) && programs.has(context.programOf(rank.rank))) {
      const entry = rank.evidence.entries.find(
        (one) => one.seq === conflict.seq && !one.p2p && context.nameOf(one) === name,
      );
      const side = entry ? sides.findIndex((one) => disagreement(one.operation, entry.operation) === null) : -1;
      votes.set(side, (votes.get(side) ?? 0) + 1);
    }
  }
  const [best] = [...votes].filter(([side]) => side >= 0).sort(([, a], [, b]) => b - a);
  return best
    ? {
        ranks: sides.flatMap(({ ranks }, side) => (side === best[0] ? [] : ranks)),
        // groups without a description are told apart by their ranks alone, which several kinds may share
        confidence: isUnnamed(conflict.group) ? CONFIDENCE.open : CONFIDENCE.peersDiffer,
        reason: `${countOf(best[1], 'rank')} of other ${name} groups did as the rest of this one.`,
      }
    : null;
}

/** Compares with the transfers of ranks with the same programs in the same place. */
function byTransferSiblings({ byRank }: Conflict, run: Run, context: RunContext): OddOnes | null {
  const sides = [...byRank].map(([rank, entry]) => {
    const nth = run.ranks
      .get(rank)
      ?.transfers(entry.group, entry.operation.name, entry.operation.peer ?? -1)
      .findIndex(({ record }) => record === entry.record);
    const siblings = run.all.filter(
      (other) =>
        !byRank.has(other.rank) && other.fromStart && context.programOf(other.rank) === context.programOf(rank),
    );
    const theirs = siblings.flatMap((other) => {
      const group = context.groupLike(entry.group, other.rank);
      const found = group && other.transfers(group, entry.operation.name, entry.operation.peer ?? -1)[nth ?? -1];
      return found ? [found.operation] : [];
    });
    const agreeing = theirs.filter((operation) => disagreement(operation, entry.operation) === null).length;
    return { rank, agreeing, differing: theirs.length - agreeing };
  });
  const odd = sides.filter(({ agreeing, differing }) => differing > agreeing);
  return odd.length === 1
    ? {
        ranks: odd.map(({ rank }) => rank),
        confidence: CONFIDENCE.peersDiffer,
        reason: `${countOf(odd[0]?.differing ?? 0, 'rank')} with the same program did otherwise.`,
      }
    : null;
}

/** How often the usual operation must have been run for another one to be unusual; once for its size and type. */
const MIN_HISTORY = 3;

/** Compares with what the members did in the group before. */
function byHistory(conflict: Conflict, run: Run): OddOnes | null {
  const usual = camps(conflict).map(({ operation, ranks }) => ({
    ranks,
    times: Math.max(
      ...ranks.map(
        (rank) =>
          run.ranks
            .get(rank)
            ?.evidence.entries.filter(
              (entry) =>
                entry.group === conflict.group &&
                entry.record < (conflict.byRank.get(rank)?.record ?? 0) &&
                disagreement(entry.operation, operation) === null,
            ).length ?? 0,
      ),
    ),
  }));
  const never = usual.filter(({ times }) => times === 0);
  // a first step has done nothing before
  const least = conflict.what === 'op' ? MIN_HISTORY : 1;
  const isHabit = usual.some(({ times }) => times >= least);
  return isHabit && never.length > 0 && never.length < usual.length
    ? {
        ranks: never.flatMap(({ ranks }) => ranks),
        confidence: CONFIDENCE.history,
        reason: 'It never did so in this group before.',
      }
    : null;
}

/** Whether two camps do each other's operation next: the same operations in another order. */
function swapped({ group, seq, byRank, what }: Conflict, run: Run): boolean {
  const [a, b] = camps({ group, seq, byRank, what });
  if (what !== 'op' || !a || !b) {
    return false;
  }
  const does = (ranks: readonly number[], wanted: Operation, place: number) =>
    ranks
      .map((rank) => run.ranks.get(rank)?.entryOf(group, place)?.operation)
      .map((operation) => operation && disagreement(operation, wanted) === null)
      .find((same) => same !== undefined);
  const usual = (operation: Operation) =>
    [...byRank.keys()].some((rank) =>
      run.ranks
        .get(rank)
        ?.evidence.entries.some(
          (one) => one.group === group && one.seq < seq && disagreement(one.operation, operation) === null,
        ),
    );
  const [nextOfA, nextOfB] = [does(a.ranks, b.operation, seq + 1), does(b.ranks, a.operation, seq + 1)];
  // a rank that waits does nothing next: then earlier steps of the group must have both operations
  return nextOfA === true ? (nextOfB ?? usual(a.operation)) : nextOfB === true && (nextOfA ?? usual(b.operation));
}

function differenceText(
  entry: Entry,
  other: { readonly operation: Entry['operation']; readonly ranks: readonly number[] },
  what: Mismatch['what'],
  context: RunContext,
): string {
  const theirs = { ...entry, operation: other.operation };
  return `It entered ${operationText(entry, context)} as ${signature(entry, what)}; ${ranksText(other.ranks)} as ${signature(theirs, what)}.`;
}

function signature({ operation }: Entry, what: Mismatch['what']): string {
  if (what === 'size') {
    return `${operation.input} elements`;
  }
  return what === 'dtype' ? operation.dtype : operation.name;
}

export function byRankText(
  entries: readonly Entry[],
  ranks: readonly number[],
  context: RunContext,
): Record<string, string> {
  return Object.fromEntries(
    entries.slice(0, MAX_BY_RANK).map((entry, i) => {
      const { input, dtype } = entry.operation;
      return [ranks[i] ?? '', `${operationText(entry, context)}${input < 0 ? '' : `, ${input} x ${dtype}`}`];
    }),
  );
}
