import { groupedBy } from '../../collections';
import type { RankLog } from '../logs/log';
import type { Run } from '../rankRun';
import type { RunContext, Suspect } from '../suspect';
import { ranksText, rounded } from '../texts';
import { CONFIDENCE, GUESS, shared } from './confidence';
import type { Detector } from './scene';

/** A log or RAS shows ranks to be gone, where no rank is known to wait. */
export const ENDED: Detector = {
  name: 'ended',
  detect({ run, context }) {
    const suspects = endedSuspects(run, context);
    const [first] = suspects;
    if (!first) {
      return null;
    }
    const guessed = suspects.every(({ confidence }) => confidence < GUESS);
    const same = alike(suspects, run);
    const why = same
      ? [
          `${ranksText(
            same.map(({ rank }) => rank),
            true,
          )} end in the same way: the cause is in the program rather than in one of them.`,
        ]
      : [];
    return { verdict: guessed ? 'unknown' : 'lost', suspects, mismatch: null, why };
  },
};

/** Somebody ended the run from outside: no rank is at fault for that. */
export const STOPPED: Detector = {
  name: 'stopped',
  detect({ context, graph }) {
    return context.stopped !== null && graph.waits.size + graph.stalled.size === 0
      ? { verdict: 'unknown', suspects: [], mismatch: null, why: [context.stopped] }
      : null;
  },
};

function endedSuspects(run: Run, context: RunContext): Suspect[] {
  const told = [...context.logs.values()].flatMap((log) => {
    const end = endOf(log.rank, context);
    return end === null ? [] : [{ log, end }];
  });
  if (told.length > 0) {
    const first = told.filter(({ log }) => log.end?.first === true);
    const confirmed = first.length === 1 ? first[0] : undefined;
    return told
      .map(({ log, end }) => ({
        rank: log.rank,
        confidence: endedConfidence(log, told.length, confirmed?.log),
        lost: true,
        because: [end],
      }))
      .sort((a, b) => b.confidence - a.confidence || a.rank - b.rank);
  }
  const unanswered = [...context.unanswered].filter((rank) => !run.ranks.get(rank)?.whole);
  return unanswered.length > 0
    ? unanswered.map((rank) => ({
        rank,
        confidence: CONFIDENCE.unanswered,
        lost: true,
        because: ['Its process does not answer RAS.'],
      }))
    : firstEnded(context);
}

/** One rank that its launcher saw end first is sure; an exception that nothing confirms is not, as the program may catch it. */
function endedConfidence(log: RankLog, all: number, first: RankLog | undefined): number {
  if (first === log) {
    return CONFIDENCE.endedFirst;
  }
  return first ? CONFIDENCE.secondary : rounded(Math.min(CONFIDENCE.open, shared(all)));
}

/** The suspects where at least half of all ranks, and more than one, end in the same way; null otherwise. */
function alike(suspects: readonly Suspect[], run: Run): readonly Suspect[] | null {
  const [most] = [...groupedBy(suspects, ({ because }) => because.join()).values()].sort((a, b) => b.length - a.length);
  return most && most.length > 1 && most.length * 2 >= run.worldSize ? most : null;
}

/** The process that torchrun saw end first, with an exit code and no exception. */
function firstEnded({ logs, stopped }: RunContext): Suspect[] {
  return [...logs.values()]
    .filter(({ end, error, caused }) => end?.first && end.code > 0 && error === null && !caused && stopped === null)
    .map(({ rank, end }) => ({
      rank,
      confidence: CONFIDENCE.exitCode,
      lost: true,
      because: [`It was the first to end, with exit code ${end?.code}. Its log does not say why.`],
    }));
}

/** Signals by which a person, torchrun and the watchdog end a rank that is not at fault. */
const SIGINT = 2;
const SIGABRT = 6;
const SIGTERM = 15;

/** Signals of a fault of the process itself, by their numbers on Linux. */
const SIGNALS: Readonly<Record<number, string>> = {
  4: 'SIGILL',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
};

/** A signal by its number and name: `signal 9, SIGKILL`. */
const signalName = (number: number): string =>
  SIGNALS[number] === undefined ? `signal ${number}` : `signal ${number}, ${SIGNALS[number]}`;

/** How a process ended by itself, according to its log; null for unknown, or where something outside may be the cause. */
export function endOf(rank: number, { logs, stopped }: RunContext): string | null {
  const log = logs.get(rank);
  // who still reports a time-out has not ended
  if (!log || log.waits.length > 0) {
    return null;
  }
  if (log.error !== null) {
    return `Its log ends with ${JSON.stringify(log.error)}.`;
  }
  const { code, first, outOfMemory } = log.end ?? { code: 0, first: false, outOfMemory: false };
  if (outOfMemory) {
    return 'The kernel ended it because its memory was used up.';
  }
  const harmless = [SIGINT, SIGABRT, SIGTERM].includes(-code) || stopped !== null;
  return first && code < 0 && !harmless ? `It was ended by ${signalName(-code)}, before any other rank.` : null;
}
