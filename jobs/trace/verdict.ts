import { countOf } from '../../layout';
import type { Entry, Operation } from './evidence';
import { stackOf } from './flightDump';
import type { RankLog } from './log';
import { type Conflict, camps, conflicts, disagreement, type MismatchKind } from './mismatch';
import { brokenHabit, type Divergence, divergenceAmong } from './programs';
import type { RankRun, Run } from './run';
import { type MayWait, mayWait, type Programs } from './silent';
import type { Mismatch, Verdict } from './verification';
import { type Wait, type WaitGraph, waitGraph, waitsFor } from './waits';

/** How many ranks are named in one sentence. */
const MAX_NAMED = 8;
/** How many ranks in no operation are named. */
const MAX_IDLE = 2;
/** How many of the operations that a rank is waited for in are told. */
const MAX_REASONS = 3;
/** Of how many ranks a mismatch tells what they did. */
const MAX_BY_RANK = 64;

/** What the verdict needs of the layout and of other files. */
export interface Context extends Programs {
  /** What the layout calls the group of an operation. */
  nameOf(entry: Entry): string;
  /** The machine that the layout puts a rank on. */
  nodeOf(rank: number): number;
  readonly logs: ReadonlyMap<number, RankLog>;
  /** Ranks whose process does not answer RAS. */
  readonly unanswered: ReadonlySet<number>;
  /** Whether there are files of the recorder and nothing else. */
  readonly recorded: boolean;
  /** Ranks whose process answers RAS. */
  readonly answered: ReadonlySet<number>;
}

/** A rank at fault, before its place is looked up. */
export interface Suspect {
  readonly rank: number;
  readonly confidence: number;
  readonly because: readonly string[];
  /** Whether its process seems to be gone, rather than late. */
  readonly lost: boolean;
}

export interface Assessment {
  readonly verdict: Verdict;
  readonly suspects: readonly Suspect[];
  readonly mismatch: Mismatch | null;
  readonly graph: WaitGraph;
  readonly why: readonly string[];
}

/** Finds who keeps a run from going on. Ranks that do another thing than their peers come first: waits follow from that. */
export function assess(run: Run, context: Context): Assessment {
  const graph = waitGraph(run);
  const found = mismatchOf(run, graph, context);
  const explained = new Set(found?.suspects.map(({ rank }) => rank));
  const roots = rootSuspects(run, graph, context, explained);
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

/** The verdict where some ranks are waited for and wait for nobody. */
function waiting(run: Run, roots: readonly Suspect[]): Pick<Assessment, 'verdict' | 'why'> {
  const silent = run.silent(run.worldSize).length;
  const guessed = roots.every(({ confidence }) => confidence < 0.5);
  if (guessed && silent * 2 > run.worldSize) {
    return {
      verdict: 'unknown',
      why: [
        `${countOf(silent, 'rank')} of ${run.worldSize} left no dump: any of those that others wait for may be at fault.`,
      ],
    };
  }
  const [first] = [...roots].sort((a, b) => b.confidence - a.confidence);
  return { verdict: first?.lost ? 'lost' : 'hang', why: [] };
}

/** Nobody is waited for who does not wait. */
function quiet(run: Run, graph: WaitGraph, context: Context): Assessment {
  const [stalled] = graph.stalled.values();
  const base = { suspects: [], mismatch: null, graph };
  if (stalled) {
    const all = `All members have entered ${operationText(stalled, context)} and it is not through`;
    return {
      ...base,
      verdict: 'unknown',
      why: [
        `${all}: the run was going on when the dumps were taken, or it is stuck below torch (network, GPU, driver).`,
      ],
    };
  }
  if ([...run.ranks.values()].some(({ whole }) => whole)) {
    return { ...base, verdict: 'healthy', why: [] };
  }
  if (context.recorded) {
    return {
      ...base,
      verdict: 'healthy',
      why: ['Only the groups were compared: the recorder does not tell how far ranks are.'],
    };
  }
  return {
    ...base,
    verdict: 'unknown',
    why: [
      context.answered.size > 0
        ? 'RAS counts as many operations on all members of each communicator: one answer does not tell whether they go on.'
        : 'No file tells how far the ranks have come.',
    ],
  };
}

/** Ranks that wait for each other in a ring: some of them take the operations in another order. */
function cycle(run: Run, graph: WaitGraph, context: Context): Assessment {
  const ring = ringOf(graph);
  const why = [`${ranksText(ring, true)} wait for one another: they take the same operations in different order.`];
  if (ring.some((rank) => run.ranks.get(rank)?.whole !== true)) {
    return {
      verdict: 'unknown',
      suspects: [],
      graph,
      mismatch: null,
      why: [...why, 'Without their dumps it is open which of them is wrong.'],
    };
  }
  const behind = ring.filter((rank) => isBehindPeers(rank, run, context));
  const named = behind.length > 0 && behind.length < ring.length ? behind : ring;
  const suspects = named.map((rank) => {
    const wait = graph.waits.get(rank);
    return {
      rank,
      confidence: rounded(named.length === 1 ? 0.8 : 0.8 / named.length),
      lost: false,
      because: wait
        ? [
            `It waits in ${operationText(wait.entry, context)} for ${ranksText(waitsFor(wait))}, which wait for it in turn.`,
          ]
        : [],
    };
  });
  const first = graph.waits.get(ring[0] ?? -1);
  return {
    verdict: 'mismatch',
    suspects,
    graph,
    mismatch: first
      ? {
          group: context.nameOf(first.entry),
          seq: first.entry.seq,
          what: 'order',
          by_rank: byRankText(
            ring.flatMap((rank) => graph.waits.get(rank)?.entry ?? []),
            ring,
            context,
          ),
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
function isBehindPeers(rank: number, run: Run, context: Context): boolean {
  const ring = run.ranks.get(rank);
  const own = ring?.whole ? (ring.evidence.entries.at(-1)?.record ?? 0) : Number.POSITIVE_INFINITY;
  const program = context.programOf(rank);
  return [...run.ranks.values()].some(
    (other) =>
      other.whole && context.programOf(other.rank) === program && (other.evidence.entries.at(-1)?.record ?? 0) > own,
  );
}

interface FoundMismatch {
  readonly mismatch: Mismatch;
  readonly suspects: readonly Suspect[];
  readonly why: readonly string[];
}

/** What ranks did differently, and which of them is the odd one. */
function mismatchOf(run: Run, graph: WaitGraph, context: Context): FoundMismatch | null {
  const [conflict] = conflicts(run);
  const held = graph.waits.size > 0 || graph.stalled.size > 0;
  const divergences = held ? divergencesOf(run, graph, context) : [];
  if (conflict) {
    return conflictMismatch(conflict, divergences, run, context);
  }
  const [first] = divergences;
  return first ? divergenceMismatch(first, divergences, context) : null;
}

function divergencesOf(run: Run, graph: WaitGraph, context: Context): Divergence[] {
  const programs = new Map<string, RankRun[]>();
  for (const rank of run.ranks.values()) {
    if (rank.whole) {
      const program = context.programOf(rank.rank);
      const peers = programs.get(program) ?? [];
      programs.set(program, peers);
      peers.push(rank);
    }
  }
  return [...programs.values()].flatMap((peers) => {
    const [only] = peers;
    if (peers.length > 1) {
      return divergenceAmong(peers, context.nameOf);
    }
    const broken = only && graph.waits.has(only.rank) ? brokenHabit(only, context.nameOf) : null;
    return broken ? [broken] : [];
  });
}

function divergenceMismatch(first: Divergence, all: readonly Divergence[], context: Context): FoundMismatch {
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

function divergenceKind({ did, expected }: Divergence, context: Context): MismatchKind {
  return context.nameOf(did) === expected.name && did.operation.name === expected.operation ? 'dtype' : 'order';
}

function confidenceIn({ peers, breaksHabit }: Divergence): number {
  if (peers === 0) {
    return 0.6;
  }
  return peers > 1 || breaksHabit ? 0.9 : 0.7;
}

function divergenceTexts({ did, expected, peers, breaksHabit }: Divergence, context: Context): string[] {
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
  context: Context,
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
    why: odd.reason === '' ? ['The dumps do not tell which of the members does the wrong thing.'] : [],
  };
}

interface OddOnes {
  readonly ranks: readonly number[];
  readonly confidence: number;
  /** Why these; empty where nothing tells them apart. */
  readonly reason: string;
}

/** Which members of a conflict do the wrong thing: by their peers, by the camps, by sibling groups, by their own history. */
function oddOnes(conflict: Conflict, divergences: readonly Divergence[], run: Run, context: Context): OddOnes {
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
    bySiblings(conflict, run, context) ??
    byHistory(conflict, run) ?? { ranks: [...conflict.byRank.keys()], confidence: 0.5, reason: '' }
  );
}

/** What groups of the same name did in the same place. */
function bySiblings(conflict: Conflict, run: Run, context: Context): OddOnes | null {
  const [sample] = conflict.byRank.values();
  const name = sample && context.nameOf(sample);
  const programs = new Set([...conflict.byRank.keys()].map((rank) => context.programOf(rank)));
  const votes = new Map<number, number>();
  const sides = camps(conflict);
  for (const rank of run.ranks.values()) {
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

/** What the members did in the group before. */
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
                entry.seq < conflict.seq &&
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

/** Whether two camps do each other's operation next: the same ones in another order. */
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
  // who waits does nothing next: then the group's habits must know both operations
  return nextOfA === true ? (nextOfB ?? usual(a.operation)) : nextOfB === true && (nextOfA ?? usual(b.operation));
}

/** Ranks that others wait for and that wait for nobody. */
function rootSuspects(run: Run, graph: WaitGraph, context: Context, explained: ReadonlySet<number>): Suspect[] {
  const roots = [...graph.roots].filter(
    ([rank, waits]) => !explained.has(rank) && !waits.every((wait) => explained.has(wait.rank)),
  );
  // a rank of which nothing is known may wait itself
  const open = new Map(
    roots
      .filter(([rank]) => !isSeen(rank, run) && endOf(rank, context) === null)
      .map(([rank, waits]) => [rank, mayWait(rank, waits, run, context)]),
  );
  // what ranks did differently keeps others waiting, also those that left no dump
  const sure = roots.filter(([rank]) => (open.get(rank) ?? 'no') === 'no' && !(explained.size > 0 && open.has(rank)));
  const left = sure.length > 0 || explained.size > 0 ? sure : leastExplained(roots, open);
  const silent = left.map(([rank]) => rank).filter((rank) => open.has(rank));
  const idle = sure.length === 0 ? idleRanks(run).filter((rank) => !explained.has(rank) && !graph.roots.has(rank)) : [];
  const share = silentShare(silent, left.length > silent.length || idle.length > 0, context);
  return [
    ...left.map(([rank, waits]) => {
      const limit = open.get(rank) === 'no' ? 0.9 : open.get(rank) === 'for-seen' ? 0.4 : 0.9;
      return rootSuspect(rank, waits, { run, context, share: Math.min(limit, share) });
    }),
    ...(left.length > 0 ? idle.slice(0, MAX_IDLE).map((rank) => idleSuspect(rank, run, context)) : []),
  ].sort((a, b) => b.confidence - a.confidence || a.rank - b.rank);
}

/** Ranks whose dump shows them in no operation, while others wait. */
function idleRanks(run: Run): number[] {
  return [...run.ranks.values()].filter(({ whole, pending }) => whole && pending.length === 0).map(({ rank }) => rank);
}

/** A rank in no operation that only a rank without a dump can be waiting for. */
function idleSuspect(rank: number, run: Run, context: Context): Suspect {
  const own = run.ranks.get(rank);
  return { rank, confidence: 0.4, lost: false, because: own ? standText(own, context) : [] };
}

type Root = readonly [rank: number, waits: readonly Wait[]];

/** Whether a rank's dump or RAS tells that it waits for nobody. */
function isSeen(rank: number, run: Run): boolean {
  const own = run.ranks.get(rank);
  return own !== undefined && own.evidence.source !== 'part';
}

/** Where every suspect may wait for another: those that do not wait for one that is seen. */
function leastExplained(roots: readonly Root[], open: ReadonlyMap<number, MayWait>): readonly Root[] {
  const unseen = roots.filter(([rank]) => open.get(rank) !== 'for-seen');
  return unseen.length > 0 ? unseen : roots;
}

/** The confidence in each of the ranks without a dump that may be at fault; less where a rank that is seen may be, too. */
function silentShare(ranks: readonly number[], othersSeen: boolean, context: Context): number {
  if (othersSeen) {
    return 0.4;
  }
  if (ranks.length <= 1) {
    return 0.9;
  }
  // a machine takes all of its ranks with it
  return new Set(ranks.map((rank) => context.nodeOf(rank))).size === 1 && ranks.length > 2
    ? 0.6
    : Math.max(0.05, rounded(1.2 / ranks.length));
}

function rootSuspect(
  rank: number,
  waits: readonly Wait[],
  { run, context, share }: { readonly run: Run; readonly context: Context; readonly share: number },
): Suspect {
  const own = run.ranks.get(rank);
  const end = endOf(rank, context);
  // numbers of logs and RAS alone do not tell whether somebody is late or somebody else is ahead
  const limit = end || waits.some((wait) => run.ranks.get(wait.rank)?.evidence.source !== 'log') ? 1 : 0.6;
  const waited = waits.slice(0, MAX_REASONS).map((wait) => waitedText(rank, wait, context));
  if (own) {
    const confidence = own.whole ? 0.95 : own.evidence.source === 'part' ? Math.min(0.7, share) : 0.8;
    return {
      rank,
      confidence: Math.min(limit, end ? 0.95 : confidence),
      lost: end !== null || context.unanswered.has(rank),
      because: [...waited, ...standText(own, context), ...(end ? [end] : [])],
    };
  }
  const alive = context.logs.get(rank)?.alive === true || context.answered.has(rank);
  const unanswered = context.unanswered.has(rank);
  return {
    rank,
    confidence: Math.min(limit, end ? 0.95 : unanswered ? Math.max(0.9, share) : share),
    lost: end !== null || !alive,
    because: [
      ...waited,
      alive
        ? 'It left no dump, but its process still answers: it is stuck outside of any collective.'
        : 'It left no dump: stopped, killed, or stuck so that it could not write one.',
      ...(unanswered ? ['Its process does not answer RAS.'] : []),
      ...(end ? [end] : []),
    ],
  };
}

/** `Ranks 0 and 1 entered tp all_reduce #4; rank 2 did not.` */
function waitedText(rank: number, wait: Wait, context: Context): string {
  const entered = wait.entry.p2p ? [wait.rank] : membersIn(wait);
  const missing = wait.absent.includes(rank) ? `rank ${rank} did not` : `rank ${rank} is not known to have`;
  return `${ranksText(entered, true)} entered ${operationText(wait.entry, context)}; ${missing}.`;
}

function membersIn(wait: Wait): number[] {
  const lacking = new Set([...wait.absent, ...wait.unknown]);
  return wait.entry.group.ranks.filter((rank) => !lacking.has(rank));
}

/** Where a rank that waits for nobody stands. */
function standText(rank: RankRun, context: Context): string[] {
  const last = rank.evidence.entries.at(-1);
  if (!rank.whole) {
    return [
      rank.evidence.source === 'part' ? 'Its dump breaks off.' : 'It left no dump; this is known from the log or RAS.',
    ];
  }
  return last
    ? [
        `It waits for nobody: its last operation, ${operationText(last, context)}, is through. It is in code between that and the next one.`,
        ...stackTexts(last),
      ]
    : ['It has entered no operation at all.'];
}

/** Ranks that a log or RAS calls gone, where nobody is seen to wait. */
function endedSuspects(run: Run, context: Context): Suspect[] {
  const told = [...context.logs.keys()].flatMap((rank) => {
    const end = endOf(rank, context);
    return end ? [{ rank, confidence: 0.9, lost: true, because: [end] }] : [];
  });
  if (told.length > 0) {
    return told;
  }
  const unanswered = [...context.unanswered].filter((rank) => !run.ranks.get(rank)?.whole);
  return unanswered.length > 0
    ? unanswered.map((rank) => ({ rank, confidence: 0.8, lost: true, because: ['Its process does not answer RAS.'] }))
    : firstEnded(context);
}

/** The process that torchrun saw end first, with an exit code that tells nothing. */
function firstEnded({ logs }: Context): Suspect[] {
  return [...logs.values()]
    .filter(({ end, error }) => end?.first && end.code > 0 && error === null)
    .map(({ rank, end }) => ({
      rank,
      confidence: 0.3,
      lost: true,
      because: [`It was the first to end, with exit code ${end?.code}. Its log does not tell why.`],
    }));
}

/** Signals by which torchrun, and a watchdog that gives up, end a rank that is not at fault. */
const SIGTERM = 15;
const SIGABRT = 6;

/** How a log says that a process ended by itself; null where it does not, or where another rank's end may have caused it. */
function endOf(rank: number, { logs }: Context): string | null {
  const log = logs.get(rank);
  if (!log || log.failures.length > 0) {
    return null;
  }
  if (log.error !== null) {
    return `Its log ends with ${JSON.stringify(log.error)}.`;
  }
  const signal = -(log.end?.code ?? 0);
  const byItself = log.end?.first === true || log.end?.by === 'srun';
  return byItself && signal > 0 && signal !== SIGTERM && signal !== SIGABRT
    ? `It was ended by signal ${signal} before any other rank.`
    : null;
}

function differenceText(
  entry: Entry,
  other: { readonly operation: Entry['operation']; readonly ranks: readonly number[] },
  what: MismatchKind,
  context: Context,
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

function byRankText(entries: readonly Entry[], ranks: readonly number[], context: Context): Record<string, string> {
  return Object.fromEntries(
    entries.slice(0, MAX_BY_RANK).map((entry, i) => {
      const { input, dtype } = entry.operation;
      return [ranks[i] ?? '', `${operationText(entry, context)}${input < 0 ? '' : `, ${input} x ${dtype}`}`];
    }),
  );
}

/** `tp all_reduce #4`, with the other end of a transfer. */
export function operationText(entry: Entry, context: Pick<Context, 'nameOf'>): string {
  const { operation, group, seq } = entry;
  const peer = operation.peer === null ? undefined : group.ranks[operation.peer];
  const end = peer === undefined ? '' : operation.name === 'send' ? ` to rank ${peer}` : ` from rank ${peer}`;
  return `${context.nameOf(entry)} ${operation.name}${end} #${seq}`;
}

function stackTexts(entry: Entry): string[] {
  const [frame] = stackOf(entry.frames);
  return frame
    ? [`${entry.completed ? 'It was' : 'It is'} called from ${frame.name} (${frame.file}:${frame.line}).`]
    : [];
}

/** `ranks 2 and 3`, `ranks 0, 1, 2 and 13 more`. */
export function ranksText(ranks: readonly number[], capital = false): string {
  const named = ranks.slice(0, MAX_NAMED);
  const last = ranks.length > named.length ? `${ranks.length - named.length} more` : String(named.pop() ?? 'none');
  const noun = ranks.length === 1 ? 'rank' : 'ranks';
  return `${capital ? capitalized(noun) : noun} ${named.length > 0 ? `${named.join(', ')} and ${last}` : last}`;
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
