import { countOf } from '../../../layout';
import type { Entry } from '../evidence';
import { disagreement } from '../mismatch';
import { areInnocent } from '../partners';
import { isResolved, nextByHabit } from '../programs';
import type { RankRun, Run } from '../rankRun';
import { type MayWait, mayWait } from '../silentRanks';
import type { RunContext, Suspect } from '../suspect';
import { operationText, ranksText, rounded, stackTexts } from '../texts';
import type { Wait } from '../waits';
import { CONFIDENCE, GUESS, shared } from './confidence';
import { endOf } from './ended';
import type { Detector, Finding, Scene } from './scene';

/** The most ranks in no operation that are named. */
const MAX_IDLE = 2;

/** The most operations that others wait for a rank in that are named. */
const MAX_REASONS = 3;

/** Ranks wait for ranks that do not wait. */
export const LATE: Detector = {
  name: 'late',
  detect(scene) {
    const suspects = lateSuspects(scene, new Set());
    return suspects.length > 0 ? { ...waiting(scene.run, suspects), suspects, mismatch: null } : null;
  },
};

/**
 * Ranks that others wait for and that do not wait.
 * @param explained ranks that are at fault for another reason
 */
export function lateSuspects({ run, graph, context, divergences }: Scene, explained: ReadonlySet<number>): Suspect[] {
  // where ranks with one program do not do the same, one of them is wrong
  const most = divergences.every(isResolved) ? 1 : CONFIDENCE.open;
  const roots = [...graph.roots].filter(
    ([rank, waits]) => !explained.has(rank) && !waits.every((wait) => explained.has(wait.rank)),
  );
  // a rank without evidence may wait itself
  const open = new Map(
    roots
      .filter((root) => !isSeen(root, run) && endOf(root[0], context) === null)
      .map(([rank, waits]) => [rank, mayWait(rank, waits, run, context)]),
  );
  // ranks that did something else block others, also those without a dump
  const sure = roots.filter(([rank]) => (open.get(rank) ?? 'no') === 'no' && !(explained.size > 0 && open.has(rank)));
  const left = sure.length > 0 || explained.size > 0 ? sure : leastExplained(roots, open);
  const silent = left.map(([rank]) => rank).filter((rank) => open.has(rank));
  const idle = sure.length === 0 ? idleRanks(run).filter((rank) => !explained.has(rank) && !graph.roots.has(rank)) : [];
  const share = silentShare(silent, left.length > silent.length || idle.length > 0, run, context);
  const ahead = left.length > silent.length ? aheadOfPeers(left, run, graph, context) : [];
  // one rank against one or several: it may do one operation too many, unless they are known to do this one next
  const waiting = new Set(left.flatMap(([, waits]) => waits.map(({ rank }) => rank))).size;
  const mayBeAhead =
    left.length > waiting || (left.length === waiting && !left.every((root) => isDue(root, run, context)));
  return [
    ...ahead,
    ...left.map(([rank, waits]) => {
      const limit = open.has(rank) ? shareOf(rank, waits, open.get(rank) ?? 'no', run, context) : 1;
      const suspect = rootSuspect(rank, waits, { run, context, share: Math.min(limit, share), seen: !open.has(rank) });
      const highest = ahead.length > 0 ? CONFIDENCE.secondary : mayBeAhead ? CONFIDENCE.open : most;
      // how it ended speaks for itself
      const cap = endOf(rank, context) === null ? Math.min(highest, most) : most;
      return { ...suspect, confidence: Math.min(cap, suspect.confidence) };
    }),
    ...(left.length > 0 ? idle.slice(0, MAX_IDLE).map((rank) => idleSuspect(rank, run, context)) : []),
  ].sort((a, b) => b.confidence - a.confidence || a.rank - b.rank);
}

/** The confidence that a rank without a whole dump is at fault, rather than a rank that it waits for. */
function shareOf(rank: number, waits: readonly Wait[], answer: MayWait, run: Run, context: RunContext): number {
  if (answer === 'for-seen') {
    return CONFIDENCE.secondary;
  }
  // of several members that one operation may lack, some may have entered it and wait
  const alone = waits.some(
    ({ absent, unknown, behind }) => absent.length + behind.length === 0 && unknown.length === 1 && unknown[0] === rank,
  );
  const unseen = run.worldSize - run.all.filter(({ whole, evidence }) => whole || evidence.source === 'log').length;
  // a minority of dumps may all be of ranks that are wrong
  const many = unseen * 2 <= run.worldSize;
  const usual = answer === 'no' && alone && many && waits.every((wait) => isUsual(wait, run, context));
  const since = Math.max(...waits.map(({ entry }) => entry.created));
  if (usual && areInnocent(rank, since, run, context)) {
    return CONFIDENCE.aloneMissed;
  }
  return Math.min(CONFIDENCE.open, rounded(shared(unseen)));
}

/** Whether a rank waits in the operation that ranks with the same program run in its place. */
function isUsual({ rank, entry }: Wait, run: Run, context: RunContext): boolean {
  const program = context.programOf(rank);
  return run.all.every((other) => {
    const group = context.programOf(other.rank) === program ? context.groupLike(entry.group, other.rank) : undefined;
    const theirs = group && !entry.p2p ? other.entryOf(group, entry.seq) : undefined;
    // a peer that is in no operation has not come to this one: the rank that waits may have run one too many
    const ahead = group && !entry.p2p && !theirs && other.whole && other.pending.length === 0;
    return theirs ? disagreement(theirs.operation, entry.operation) === null : !ahead;
  });
}

/**
 * Ranks that wait for others, but are ahead of them: they have entered an operation that the others would not run next, because
 * in earlier steps they always ran another one.
 */
function aheadOfPeers(roots: readonly Root[], run: Run, graph: Scene['graph'], context: RunContext): Suspect[] {
  const late = new Set(roots.map(([rank]) => rank));
  const waits = new Map(roots.flatMap(([, all]) => all).map((wait) => [wait.rank, wait]));
  const surprised = roots.every(([rank, all]) => {
    const own = run.ranks.get(rank);
    const next = own?.whole && own.pending.length === 0 ? nextByHabit(own, context.nameOf) : null;
    return (
      next !== null &&
      all.every(({ entry }) => !entry.p2p && !isSameStep(entry, next, context)) &&
      // those that would do it together are as far as this one
      next.group.ranks.every(
        (other) => late.has(other) || waits.has(other) || run.ranks.get(other)?.pending.length === 0,
      )
    );
  });
  if (!surprised || graph.waits.size > waits.size + late.size) {
    return [];
  }
  return [...waits.values()].map(({ rank, entry }) => ({
    rank,
    confidence: rounded(CONFIDENCE.open / waits.size),
    lost: false,
    because: [
      `It entered ${operationText(entry, context)}; ${ranksText([...late])} did not, and ran another operation next in earlier steps.`,
      ...stackTexts(entry),
    ],
  }));
}

/** Whether a rank is known to run next what others wait for it in: others have run it in its place, or it always did so next. */
function isDue([rank, waits]: Root, run: Run, context: RunContext): boolean {
  const own = run.ranks.get(rank);
  const next = own?.whole ? nextByHabit(own, context.nameOf, true) : null;
  return waits.some(
    ({ entry }) =>
      entry.p2p ||
      (next !== null && isSameStep(entry, next, context) && disagreement(entry.operation, next.operation) === null) ||
      run.all.some((other) => {
        const group = entry.group.ranks.includes(other.rank) ? undefined : context.groupLike(entry.group, other.rank);
        return group !== undefined && other.entryOf(group, entry.seq) !== undefined;
      }),
  );
}

function isSameStep(a: Entry, b: Entry, context: RunContext): boolean {
  return context.nameOf(a) === context.nameOf(b) && a.operation.name === b.operation.name;
}

/** Ranks whose dump shows no pending operation. */
function idleRanks(run: Run): number[] {
  return run.all.filter(({ whole, pending }) => whole && pending.length === 0).map(({ rank }) => rank);
}

/** A rank in no operation: only a rank without a dump can be waiting for it. */
function idleSuspect(rank: number, run: Run, context: RunContext): Suspect {
  const own = run.ranks.get(rank);
  return { rank, confidence: CONFIDENCE.secondary, lost: false, because: own ? standText(own, context) : [] };
}

type Root = readonly [rank: number, waits: readonly Wait[]];

/** Whether a rank's dump, log or RAS shows that it is absent and does not wait. */
function isSeen([rank, waits]: Root, run: Run): boolean {
  const own = run.ranks.get(rank);
  const told = own?.whole || own?.evidence.source === 'log';
  return told === true && waits.some(({ absent }) => absent.includes(rank));
}

/** The roots that may not wait for a rank with a dump; all where every one may. */
function leastExplained(roots: readonly Root[], open: ReadonlyMap<number, MayWait>): readonly Root[] {
  const unseen = roots.filter(([rank]) => open.get(rank) !== 'for-seen');
  return unseen.length > 0 ? unseen : roots;
}

/** The confidence in each rank without a dump that may be at fault; less where a rank with a dump may be, too. */
function silentShare(ranks: readonly number[], othersSeen: boolean, run: Run, context: RunContext): number {
  if (othersSeen) {
    return CONFIDENCE.secondary;
  }
  if (ranks.length <= 1) {
    return CONFIDENCE.aloneMissed;
  }
  // a failed machine takes all of its ranks with it
  const nodes = new Set(ranks.map((rank) => context.nodeOf(rank)));
  const machine =
    nodes.size === 1 && ranks.length > 2 && ![...run.ranks.keys()].some((rank) => nodes.has(context.nodeOf(rank)));
  return machine ? CONFIDENCE.open : Math.max(CONFIDENCE.least, rounded(shared(ranks.length)));
}

function rootSuspect(
  rank: number,
  waits: readonly Wait[],
  {
    run,
    context,
    share,
    seen,
  }: { readonly run: Run; readonly context: RunContext; readonly share: number; readonly seen: boolean },
): Suspect {
  const own = run.ranks.get(rank);
  const end = endOf(rank, context);
  // counts of logs and RAS alone do not show whether one rank is late or another is ahead
  const limit = end || waits.some((wait) => run.ranks.get(wait.rank)?.evidence.source !== 'log') ? 1 : CONFIDENCE.open;
  const waited = waits.slice(0, MAX_REASONS).map((wait) => waitedText(rank, wait, context));
  if (own) {
    const confidence = seen
      ? own.whole
        ? CONFIDENCE.seenAbsent
        : CONFIDENCE.toldAbsent
      : Math.min(CONFIDENCE.open, share);
    return {
      rank,
      confidence: Math.min(limit, end ? CONFIDENCE.endedWhileMissed : confidence),
      lost: end !== null || context.unanswered.has(rank),
      because: [
        ...waited,
        ...(seen || !own.whole ? standText(own, context) : ['Its dump is too old to show it.']),
        ...(end ? [end] : []),
      ],
    };
  }
  const alive = context.logs.get(rank)?.alive === true || context.answered.has(rank);
  const dumps = run.all.some(({ evidence }) => evidence.source !== 'log');
  const unanswered = context.unanswered.has(rank);
  return {
    rank,
    confidence: Math.min(
      limit,
      end ? CONFIDENCE.endedWhileMissed : unanswered ? Math.max(CONFIDENCE.aloneMissed, share) : share,
    ),
    lost: end !== null || (dumps && !alive),
    because: [
      ...waited,
      ...(end === null ? [unseenText(alive, dumps)] : []),
      ...(unanswered ? ['Its process does not answer RAS.'] : []),
      ...(end ? [end] : []),
    ],
  };
}

/** What is known of a rank without a dump, beside the dumps or logs of others. */
function unseenText(alive: boolean, dumps: boolean): string {
  if (alive) {
    return `It ${dumps ? 'left no dump' : 'reports no time-out'}, but its process still answers: it is stuck outside any collective.`;
  }
  return dumps
    ? 'It left no dump: it was stopped or killed, or it could not write one.'
    : 'The log has no time-out of its watchdog: it runs other code, is gone, or its lines are missing.';
}

/** `Ranks 0 and 1 entered tp all_reduce #4; rank 2 did not.` */
function waitedText(rank: number, wait: Wait, context: RunContext): string {
  const entered = wait.entry.p2p ? [wait.rank] : membersIn(wait);
  const missing = wait.absent.includes(rank) ? `rank ${rank} did not` : `rank ${rank} is not known to have`;
  return `${ranksText(entered, true)} entered ${operationText(wait.entry, context)}; ${missing}.`;
}

function membersIn(wait: Wait): number[] {
  const lacking = new Set([...wait.absent, ...wait.unknown]);
  return wait.entry.group.ranks.filter((rank) => !lacking.has(rank));
}

/** Where a rank that does not wait is. */
function standText(rank: RankRun, context: RunContext): string[] {
  const last = rank.evidence.entries.at(-1);
  if (!rank.whole) {
    return [
      rank.evidence.source === 'part'
        ? 'Its dump is truncated.'
        : 'It left no dump; this is known from the log or RAS.',
    ];
  }
  return last
    ? [
        `Its last operation, ${operationText(last, context)}, has completed. It runs code between that and the next operation.`,
        ...stackTexts(last),
      ]
    : ['It has entered no operation.'];
}

/** The verdict where ranks wait for ranks that do not wait. */
function waiting(run: Run, roots: readonly Suspect[]): Pick<Finding, 'verdict' | 'why'> {
  const silent = run.silent(run.worldSize).length;
  const guessed = roots.every(({ confidence }) => confidence < GUESS);
  if (guessed && silent * 2 > run.worldSize) {
    return {
      verdict: 'unknown',
      why: [
        `${countOf(silent, 'rank')} of ${run.worldSize} are not seen: any of them that others wait for may be at fault.`,
      ],
    };
  }
  const [first] = [...roots].sort((a, b) => b.confidence - a.confidence);
  return { verdict: first?.lost ? 'lost' : 'hang', why: [] };
}
