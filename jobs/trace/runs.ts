import { countOf } from '../../layout';
import type { RankEvidence, RunGroup } from './evidence';
import { ranksText } from './texts';

/** A dump that was read, and the time that it covers. */
export interface ReadDump {
  /** The place of its file in the list of files. */
  readonly index: number;
  readonly evidence: RankEvidence;
  /** The groups that it lists. */
  readonly groups: readonly RunGroup[];
  /** When its first and last operations happened, in nanoseconds since 1970; 0 for unknown. */
  readonly oldest: number;
  readonly newest: number;
}

/** The dumps of the latest run, and what is wrong with the others. */
export interface LatestRun {
  readonly ranks: readonly RankEvidence[];
  readonly groups: readonly RunGroup[];
  /** By place of the file, why a dump is not used. */
  readonly notes: ReadonlyMap<number, string>;
  /** Sentences about dumps of several runs, or of ranks that the layout does not have. */
  readonly doubts: readonly string[];
  /** Whether some dumps are of ranks that the layout does not have. */
  readonly beyond: boolean;
}

/** In one run, the rings of ranks do not lie this far apart: ranks wait for each other in every step. Nanoseconds. */
const APART = 60e9;
/** The clocks of machines differ by less. Nanoseconds. */
const SKEW = 1e9;
/** The most dumps on either side of a gap that are compared. */
const MAX_COMPARED = 64;
const NS_PER_MINUTE = 60e9;

/**
 * Sorts dumps by the times of their operations, and keeps the best one of each rank of the latest run. Names, folders and times of
 * files do not count: a dump of an earlier run may have been copied.
 */
export function latestRun(dumps: readonly ReadDump[], worldSize: number): LatestRun {
  const notes = new Map<number, string>();
  const known = dumps.filter(({ index, evidence }) => {
    if (evidence.rank >= worldSize) {
      notes.set(index, `rank ${evidence.rank} is beyond the ${countOf(worldSize, 'rank')} of the layout`);
    }
    return evidence.rank < worldSize;
  });
  const runs = runsOf(known.filter(({ newest }) => newest > 0));
  const latest = runs.at(-1) ?? [];
  const start = latest.reduce((least, { oldest }) => Math.min(least, oldest), Number.POSITIVE_INFINITY);
  for (const { index, newest } of runs.slice(0, -1).flat()) {
    const minutes = Math.round((start - newest) / NS_PER_MINUTE);
    const before = minutes > 0 ? `, ${countOf(minutes, 'minute')} before the first of the others` : '';
    notes.set(index, `is of an earlier run: its last operation is older than those of the other dumps${before}`);
  }
  const best = new Map<number, ReadDump>();
  const used = [...latest, ...known.filter(({ newest }) => newest === 0)].sort((a, b) => a.index - b.index);
  for (const dump of used) {
    const { rank } = dump.evidence;
    const other = best.get(rank);
    const kept = other && !goesFurther(dump, other) ? other : dump;
    best.set(rank, kept);
    if (other) {
      notes.set((kept === dump ? other : dump).index, `another dump of rank ${rank} goes further`);
    }
  }
  const beyond = dumps.filter(({ evidence }) => evidence.rank >= worldSize).map(({ evidence }) => evidence.rank);
  return {
    ranks: [...best.values()].map(({ evidence }) => evidence),
    groups: used.flatMap(({ groups }) => groups),
    notes,
    beyond: beyond.length > 0,
    doubts: [
      ...(runs.length > 1
        ? [`The dumps are of ${runs.length} runs; only ${countOf(latest.length, 'dump')} of the latest one count.`]
        : []),
      ...(beyond.length > 0
        ? [`${ranksText([...new Set(beyond)], true)} left dumps, but the layout has ${countOf(worldSize, 'rank')}.`]
        : []),
    ],
  };
}

function goesFurther(dump: ReadDump, other: ReadDump): boolean {
  const last = ({ evidence }: ReadDump) => evidence.entries.at(-1)?.record ?? -1;
  return (
    last(dump) > last(other) ||
    (last(dump) === last(other) && other.evidence.source !== 'dump' && dump.evidence.source === 'dump')
  );
}

/** The dumps of each run, the earliest run first. */
function runsOf(dumps: readonly ReadDump[]): ReadDump[][] {
  const runs: ReadDump[][] = [];
  let newest = 0;
  for (const dump of [...dumps].sort((a, b) => a.oldest - b.oldest)) {
    const last = runs.at(-1);
    if (last && dump.oldest <= newest + SKEW) {
      last.push(dump);
    } else {
      runs.push([dump]);
    }
    newest = Math.max(newest, dump.newest);
  }
  return runs.reduce<ReadDump[][]>((joined, run) => {
    const before = joined.at(-1);
    if (before && !areApart(before, run)) {
      before.push(...run);
    } else {
      joined.push([...run]);
    }
    return joined;
  }, []);
}

/** Whether dumps before a gap and dumps behind it are of different runs. */
function areApart(before: readonly ReadDump[], after: readonly ReadDump[]): boolean {
  const end = before.reduce((most, { newest }) => Math.max(most, newest), 0);
  const start = after.reduce((least, { oldest }) => Math.min(least, oldest), Number.POSITIVE_INFINITY);
  return start - end > APART || before.slice(0, MAX_COMPARED).some((one) => completedWithout(one, after));
}

/** Whether a dump shows a collective completed that a member entered only later, as the first thing that it did. */
function completedWithout({ evidence: { entries } }: ReadDump, after: readonly ReadDump[]): boolean {
  return after
    .slice(0, MAX_COMPARED)
    .filter(({ evidence }) => evidence.entries[0]?.record === 0)
    .some(({ evidence: { rank } }) =>
      entries.some(({ completed, p2p, group }) => completed && !p2p && group.ranks.includes(rank)),
    );
}
