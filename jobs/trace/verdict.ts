import { countOf } from '../../layout';
import { groupedBy } from '../collections';
import type { Entry, Operation } from './evidence';
import { type Conflict, camps, conflicts, disagreement, type MismatchKind, transferConflicts } from './mismatch';
import { brokenHabit, type Divergence, divergenceAmong, isResolved } from './programs';
import type { Run } from './rankRun';
import { endedSuspects, rootSuspects } from './roots';
import type { RunContext, Suspect } from './suspect';
import { operationText, ranksText, rounded, stackTexts } from './texts';
import type { Mismatch, Verdict } from './verification';
import { type Wait, type WaitGraph, waitGraph, waitsFor } from './waits';

/** The highest confidence where ranks with one program disagree and nothing shows which is wrong. */
const DISPUTED = 0.6;
/** The most ranks that a mismatch lists. */
const MAX_BY_RANK = 64;

export interface Assessment {
  readonly verdict: Verdict;
  readonly suspects: readonly Suspect[];
  readonly mismatch: Mismatch | null;
  readonly graph: WaitGraph;
  readonly why: readonly string[];
}

/** Finds the ranks that block a run. Ranks that differ from their peers come first: waits follow from that. */
export function assess(run: Run, context: RunContext): Assessment {
  const graph = waitGraph(run);
  const divergences = graph.waits.size > 0 || graph.stalled.size > 0 ? divergencesOf(run, graph, context) : [];
  const found = mismatchOf(run, graph, divergences.filter(isResolved), context);
  const explained = new Set(found?.suspects.map(({ rank }) => rank));
  // where ranks with one program do not do the same, one of them is wrong
  const most = divergences.every(isResolved) ? 1 : DISPUTED;
  const roots = rootSuspects(run, graph, context, explained, most);
  if (found) {
    const suspects = [...found.suspects, ...roots];
    return { verdict: 'mismatch', suspects, mismatch: found.mismatch, graph, why: found.why };
  }
  if (roots.length > 0) {
    return { ...waiting(run, roots), suspects: roots, mismatch: null, graph };
  }
  const ended = endedSuspects(run, context);
  if (ended.length > 0) {
    const guessed = ended.every(({ confidence }) => confidence < 0.5);
    return { verdict: guessed ? 'unknown' : 'lost', suspects: ended, mismatch: null, graph, why: [] };
  }
  return graph.waits.size > 0 && graph.stalled.size === 0 ? cycle(run, graph, context) : quiet(run, graph, context);
}

/** The verdict where ranks wait for ranks that do not wait. */
function waiting(run: Run, roots: readonly Suspect[]): Pick<Assessment, 'verdict' | 'why'> {
  const silent = run.silent(run.worldSize).length;
  const guessed = roots.every(({ confidence }) => confidence < 0.5);
  if (guessed && silent * 2 > run.worldSize) {
    return {
      verdict: 'unknown',
      why: [
        `${countOf(silent, 'rank')} of ${run.worldSize} left no dump: any of them that others wait for may be at fault.`,
      ],
    };
  }
  const [first] = [...roots].sort((a, b) => b.confidence - a.confidence);
  return { verdict: first?.lost ? 'lost' : 'hang', why: [] };
}

/** The verdict where no rank waits, or every rank that others wait for waits itself. */
function quiet(run: Run, graph: WaitGraph, context: RunContext): Assessment {
  const [stalled] = graph.stalled.values();
  const base = { suspects: [], mismatch: null, graph };
  if (stalled) {
    const pending = `All members have entered ${operationText(stalled, context)}, which has not completed`;
    const why = `${pending}: the run was in progress when it was dumped, or it is stuck below torch (network, GPU, driver).`;
    return { ...base, verdict: 'unknown', why: [why] };
  }
  const dumped = run.all.filter(({ whole }) => whole).length;
  if (dumped > 0) {
    const broken = run.all.some(({ evidence }) => evidence.source === 'part');
    const all = dumped === run.worldSize;
    const enough = all || (dumped > 1 && dumped * 2 > run.worldSize && !broken && isLevel(run, context));
    const why = `${countOf(dumped, 'rank')} of ${run.worldSize} left a whole dump. No rank waits in these, but others may.`;
    return { ...base, verdict: enough ? 'healthy' : 'unknown', why: all ? [] : [why] };
  }
  if (context.recorded) {
    const why = 'Only the groups were compared: the recorder does not record operations.';
    return { ...base, verdict: 'healthy', why: [why] };
  }
  const why =
    context.answered.size > 0
      ? 'RAS counts as many operations on all members of each communicator: one answer does not show whether they progress.'
      : 'No file shows how far the ranks have come.';
  return { ...base, verdict: 'unknown', why: [why] };
}

/** Whether ranks with the same program have entered as many operations. */
function isLevel(run: Run, context: RunContext): boolean {
  const places = new Map<string, number>();
  return run.all.every(({ rank, lastRecord }) => {
    const program = context.programOf(rank);
    places.set(program, places.get(program) ?? lastRecord);
    return places.get(program) === lastRecord;
  });
}

/** The verdict where ranks wait for each other in a ring: some of them run the operations in another order. */
function cycle(run: Run, graph: WaitGraph, context: RunContext): Assessment {
  const ring = ringOf(graph);
  const why = [`${ranksText(ring, true)} wait for one another: they run the same operations in different order.`];
  if (ring.some((rank) => run.ranks.get(rank)?.whole !== true)) {
    const open = 'Without all their dumps it is not known which of them is wrong.';
    return { verdict: 'unknown', suspects: [], graph, mismatch: null, why: [...why, open] };
  }
  const behind = ring.filter((rank) => isBehindPeers(rank, run, context));
  const named = behind.length > 0 && behind.length < ring.length ? behind : ring;
  const suspects = named.map((rank) => {
    const wait = graph.waits.get(rank);
    const text =
      wait && `It waits in ${operationText(wait.entry, context)} for ${ranksText(waitsFor(wait))}, in a ring.`;
    return {
      rank,
      confidence: rounded(named.length === 1 ? 0.6 : 0.8 / named.length),
      lost: false,
      because: text ? [text] : [],
    };
  });
  const entries = ring.flatMap((rank) => graph.waits.get(rank)?.entry ?? []);
  const [first] = entries;
  return {
    verdict: 'mismatch',
    suspects,
    graph,
    mismatch: first
      ? {
          group: context.nameOf(first),
          seq: first.seq,
          what: 'order',
          by_rank: byRankText(entries, ring, context),
        }
      : null,
    why,
  };
}

/** A ring of the wait-for graph; every rank in it waits for the next. */
function ringOf(graph: WaitGraph): number[] {
  const path: number[] = [];
  let [rank] = graph.waits.keys();
  while (rank !== undefined && !path.includes(rank)) {
    path.push(rank);
    const wait: Wait | undefined = graph.waits.get(rank);
    rank = wait && waitsFor(wait).find((other) => graph.waits.has(other));
  }
  return rank === undefined ? path : path.slice(path.indexOf(rank));
}

/** Whether a rank has entered fewer operations than another one with the same program. */
function isBehindPeers(rank: number, run: Run, context: RunContext): boolean {
  const own = run.ranks.get(rank);
  const program = context.programOf(rank);
  return (
    own?.whole === true &&
    run.all.some(
      (other) => other.whole && context.programOf(other.rank) === program && other.lastRecord > own.lastRecord,
    )
  );
}

interface FoundMismatch {
  readonly mismatch: Mismatch;
  readonly suspects: readonly Suspect[];
  readonly why: readonly string[];
}

/** What ranks did differently, and which of them are wrong. */
function mismatchOf(
  run: Run,
  graph: WaitGraph,
  divergences: readonly Divergence[],
  context: RunContext,
): FoundMismatch | null {
  const held = graph.waits.size > 0 || graph.stalled.size > 0;
  const [conflict] = [...conflicts(run), ...(held ? transferConflicts(run) : [])];
  if (conflict) {
    return conflictMismatch(conflict, divergences, run, context);
  }
  const [first] = divergences;
  return first ? divergenceMismatch(first, divergences, context) : null;
}

function divergencesOf(run: Run, graph: WaitGraph, context: RunContext): Divergence[] {
  const dumped = run.all.filter(({ whole }) => whole);
  return [...groupedBy(dumped, ({ rank }) => context.programOf(rank)).values()].flatMap((peers) => {
    const [only] = peers;
    if (peers.length > 1) {
      return divergenceAmong(peers, context.nameOf);
    }
    const broken = only && graph.waits.has(only.rank) ? brokenHabit(only, context.nameOf) : null;
    return broken ? [broken] : [];
  });
}

function divergenceMismatch(first: Divergence, all: readonly Divergence[], context: RunContext): FoundMismatch {
  const suspects = all.map((divergence) => ({
    rank: divergence.rank,
    confidence: confidenceIn(divergence),
    lost: false,
    because: divergenceTexts(divergence, context),
  }));
  return {
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

function divergenceKind({ did, expected }: Divergence, context: RunContext): MismatchKind {
  return context.nameOf(did) === expected.name && did.operation.name === expected.operation ? 'dtype' : 'order';
}

function confidenceIn({ peers, breaksHabit }: Divergence): number {
  if (peers === 0) {
    return 0.6;
  }
  return peers > 1 || breaksHabit ? 0.9 : 0.7;
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
): FoundMismatch {
  const odd = oddOnes(conflict, divergences, run, context);
  const camp = camps(conflict);
  const what = swapped(conflict, run) ? 'order' : conflict.what;
  const suspects = odd.ranks.map((rank) => {
    const entry = conflict.byRank.get(rank);
    const other = camp.find(({ ranks }) => !ranks.includes(rank));
    return {
      rank,
      confidence: odd.confidence,
      lost: false,
      because: [
        ...(entry && other ? [differenceText(entry, other, conflict.what, context)] : []),
        ...(odd.reason === '' ? [] : [odd.reason]),
        ...(entry ? stackTexts(entry) : []),
      ],
    };
  });
  return {
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
      confidence: 0.9,
      reason: peers > 0 ? `${countOf(peers, 'rank')} with the same program did not.` : 'It never did so before.',
    };
  }
  const [most, ...others] = camps(conflict);
  const rest = others.flatMap(({ ranks }) => ranks);
  if (most && most.ranks.length > rest.length && conflict.byRank.size > 2) {
    return { ranks: rest, confidence: 0.9, reason: `The other ${most.ranks.length} members of the group agree.` };
  }
  return (
    (most?.operation.peer === null ? bySiblings(conflict, run, context) : byTransferSiblings(conflict, run, context)) ??
    byHistory(conflict, run) ?? { ranks: [...conflict.byRank.keys()], confidence: 0.5, reason: '' }
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
        confidence: 0.9,
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
        confidence: 0.9,
        reason: `${countOf(odd[0]?.differing ?? 0, 'rank')} with the same program did otherwise.`,
      }
    : null;
}

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
  return never.length > 0 && never.length < usual.length
    ? {
        ranks: never.flatMap(({ ranks }) => ranks),
        confidence: 0.8,
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
  what: MismatchKind,
  context: RunContext,
): string {
  const theirs = { ...entry, operation: other.operation };
  return `It entered ${operationText(entry, context)} as ${signature(entry, what)}; ${ranksText(other.ranks)} as ${signature(theirs, what)}.`;
}

function signature({ operation }: Entry, what: MismatchKind): string {
  if (what === 'size') {
    return `${operation.input} elements`;
  }
  return what === 'dtype' ? operation.dtype : operation.name;
}

function byRankText(entries: readonly Entry[], ranks: readonly number[], context: RunContext): Record<string, string> {
  return Object.fromEntries(
    entries.slice(0, MAX_BY_RANK).map((entry, i) => {
      const { input, dtype } = entry.operation;
      return [ranks[i] ?? '', `${operationText(entry, context)}${input < 0 ? '' : `, ${input} x ${dtype}`}`];
    }),
  );
}
