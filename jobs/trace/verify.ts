import {
  type Checked,
  countOf,
  denseGrid,
  expertGrid,
  type LayoutFacts,
  memoize,
  type ResolvedLayout,
} from '../../layout';
import { ascending, getOrInsert } from '../collections';
import { lineOfKey } from '../plan';
import { type Assessment, assess } from './detectors';
import type { Entry, Interner, Place, RankEvidence, RunGroup } from './evidence';
import { compareGroups, type GroupComparison, isUnnamed, LayoutGroups, namedBy } from './groupComparison';
import { type Cause, causeOf } from './layoutChange';
import { type LogEvidence, logEvidence } from './logEvidence';
import { UNTOLD } from './mismatch';
import { knownPlaces, type RasByRank, type RasGroup, rasByRank } from './places';
import { profiledRun } from './profile/timeSpent';
import { Run } from './rankRun';
import { slowRanks } from './slowRanks';
import type { Evidence } from './sources';
import type { RunContext } from './suspect';
import { ranksText } from './texts';
import type { Culprit, ExplainedDifference, SourceFile, Verification, Victim } from './verification';
import { waitsFor } from './waits';

/** The most waiting ranks that are listed, and the most ranks that one of them waits for. */
const MAX_VICTIMS = 65_536;
const MAX_WAITED = 64;
/** The most exceptions that are named after which the run went on. */
const MAX_SURVIVED = 4;

/** A layout whose numbers are all known, so that a run can be compared with it. */
export interface VerifiableLayout extends Checked {
  readonly facts: LayoutFacts;
  readonly resolved: ResolvedLayout;
}

/** Compares the files of a run with its layout, and finds the ranks that block the run. */
export function verify(file: string, checked: VerifiableLayout, evidence: Evidence): Verification {
  const layout = new LayoutGroups(checked.resolved);
  const places = knownPlaces(evidence.recordings, evidence.logs.ranks);
  const ras = rasByRank(evidence.ras, places, layout, evidence.groups);
  const fromLogs = logEvidence(evidence.logs, layout, evidence.groups, evidence.interner);
  const run = new Run(checked.resolved.worldSize, withOtherSources(evidence, layout, fromLogs, ras));
  const context = contextOf(layout, evidence, fromLogs.open, ras);
  const assessment = assess(run, context);
  const { comparison, cause } = comparisonOf(evidence.groups, layout);
  const deviating = deviatingRanks(evidence.ranks, comparison, layout);
  const verdict = verdictWith(assessment, comparison, deviating);
  const { measured } = evidence.logs;
  const suspects = verdict === 'wrong-groups' ? deviating : assessment.suspects;
  const culprits = suspects.map(({ rank, confidence, because }) => ({
    rank,
    ...placeOf(rank, places, ras),
    coordinates: coordinatesOf(rank, checked.resolved),
    confidence,
    because,
  }));
  const coordinates = (rank: number) => coordinatesOf(rank, checked.resolved);
  const timed = measured ? slowRanks(measured, checked.resolved.worldSize, context.programOf, coordinates) : [];
  const profiled = profiledRun(evidence.profiles, {
    nameOf: (group) => layout.nameOf(group),
    programOf: context.programOf,
    coordinatesOf: coordinates,
  });
  return {
    layout: file,
    sources: evidence.files,
    groups: { ...comparison, different: explained(comparison, cause, checked) },
    verdict,
    culprits,
    victims: victimsOf(assessment, culprits, context),
    mismatch: verdict === 'mismatch' ? assessment.mismatch : null,
    why: [...assessment.why, ...evidence.logs.warnings.map((text) => `NCCL warned: ${JSON.stringify(text)}.`)],
    unseen: unseenRanks(run, evidence, context),
    measured,
    profiled: profiled?.run ?? null,
    slow: [...(profiled?.slow ?? []), ...timed],
  };
}

/** Ranks without a dump, a recording, a profile, a line of their own in a log, or an answer to RAS. */
function unseenRanks(run: Run, { logs, recordings, profiles }: Evidence, { answered }: RunContext): number[] {
  const recorded = new Set([...recordings, ...profiles].map(({ rank }) => rank));
  return run
    .silent()
    .filter((rank) => !(recorded.has(rank) || answered.has(rank) || logs.ranks.has(rank)))
    .slice(0, MAX_VICTIMS);
}

function verdictWith(
  { verdict }: Assessment,
  { different }: GroupComparison,
  deviating: readonly Pick<Culprit, 'rank'>[],
): Verification['verdict'] {
  return different.length > 0 && (verdict === 'healthy' || verdict === 'unknown' || deviating.length > 0)
    ? 'wrong-groups'
    : verdict;
}

/** Ranks whose groups differ from the layout while those of most ranks agree. */
function deviatingRanks(
  ranks: readonly RankEvidence[],
  { different }: GroupComparison,
  layout: LayoutGroups,
): Pick<Culprit, 'rank' | 'confidence' | 'because'>[] {
  if (different.length === 0) {
    return [];
  }
  const wrong = ranks.filter(({ entries }) =>
    [...new Set(entries.map(({ group }) => group))].some(
      (group) => group.ranks.length > 0 && layout.candidates(group).length > 0 && layout.matches(group).length === 0,
    ),
  );
  return wrong.length * 2 < ranks.length
    ? wrong.map(({ rank }) => ({
        rank,
        confidence: 0.9,
        because: [`Its groups differ from the layout; those of ${ranks.length - wrong.length} other ranks agree.`],
      }))
    : [];
}

function contextOf(
  layout: LayoutGroups,
  { logs, groups, files, profiles, doubts, beyond }: Evidence,
  open: readonly string[],
  ras: RasByRank | null,
): RunContext {
  const nameOf = memoize((group: RunGroup) => layout.nameOf(group));
  const groupsByRank = memoize(
    (all: readonly RunGroup[]) =>
      new Map(all.flatMap((group) => group.ranks.map((rank) => [`${nameOf(group)} ${rank}`, group]))),
  );
  const members = ras?.groups.flatMap((group) => group.members) ?? [];
  const unanswered = new Set(members.filter(({ member }) => member.counts === null).map(({ rank }) => rank));
  return {
    logs: logs.ranks,
    stopped: logs.stopped,
    open: [
      ...doubts,
      ...(logs.beyond.length > 0
        ? [
            `The log has lines of ${ranksText(logs.beyond)}, but the layout has ${countOf(layout.layout.worldSize, 'rank')}.`,
          ]
        : []),
      ...open,
      ...logs.survived
        .slice(0, MAX_SURVIVED)
        .map(({ rank, error }) => `Rank ${rank} raised ${JSON.stringify(error)}, and the run went on.`),
    ],
    reported: logs.measured?.last_step ?? null,
    profiled: profiles.map(({ rank }) => rank),
    foreign: beyond || logs.beyond.length > 0,
    unanswered,
    recorded: files.some(({ kind }) => kind === 'recorder') && files.every(({ kind }) => RECORDS.has(kind)),
    answered: new Set(members.map(({ rank }) => rank).filter((rank) => !unanswered.has(rank))),
    nodeOf: (rank) => Math.floor(rank / layout.layout.gpusPerNode),
    programOf: (rank) => programOf(rank, layout.layout),
    groupLike: (group, rank) => groupsByRank(groups).get(`${nameOf(group)} ${rank}`),
    nameOf: ({ group }: Entry) => nameOf(group),
  };
}

/** Files without operations. */
const RECORDS: ReadonlySet<SourceFile['kind']> = new Set(['recorder', 'other']);

/** The key of a rank's program: ranks of one module and pipeline stage run the same one. */
function programOf(rank: number, layout: ResolvedLayout): string {
  return layout.modules
    .map((module) => {
      const grid = denseGrid(module);
      const axis = grid.axes.find(({ name }) => name === 'pp');
      return grid.has(rank) && axis ? grid.indexAlong(axis, rank) : '-';
    })
    .join();
}

/** The coordinates of a rank: the dense dimensions, and `ep`. */
function coordinatesOf(rank: number, layout: ResolvedLayout): Record<string, number | string> {
  const module = layout.modules.find((one) => denseGrid(one).has(rank));
  if (!module) {
    return {};
  }
  const dense = denseGrid(module);
  const expert = expertGrid(module);
  const ep = expert.axes.find(({ name }) => name === 'ep');
  return {
    ...(module.name === null ? {} : { module: module.name }),
    ...Object.fromEntries(dense.axes.map((axis) => [axis.name, dense.indexAlong(axis, rank)])),
    ...(ep && ep.size > 1 ? { ep: expert.indexAlong(ep, rank) } : {}),
  };
}

function placeOf(
  rank: number,
  places: ReadonlyMap<number, Place>,
  ras: RasByRank | null,
): Pick<Culprit, 'host' | 'gpu' | 'pid'> {
  const own = places.get(rank);
  const other = ras?.places.get(rank);
  return {
    host: own?.host ?? other?.host ?? null,
    gpu: own?.gpu ?? other?.gpu ?? null,
    pid: own?.pid ?? other?.pid ?? null,
  };
}

function victimsOf({ graph }: Assessment, culprits: readonly Culprit[], context: RunContext): Victim[] {
  const atFault = new Set(culprits.map(({ rank }) => rank));
  return [...graph.waits.values()]
    .filter(({ rank }) => !atFault.has(rank))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_VICTIMS)
    .map((wait) => ({
      rank: wait.rank,
      waits_for: waitsFor(wait).slice(0, MAX_WAITED),
      group: context.nameOf(wait.entry),
      op: wait.entry.operation.name,
      seq: wait.entry.seq,
    }));
}

/** The comparison, and the change to the layout that gives the groups. Unnamed groups count as differences if there is one. */
function comparisonOf(
  groups: readonly RunGroup[],
  layout: LayoutGroups,
): { readonly comparison: GroupComparison; readonly cause: Cause | null } {
  const comparison = compareGroups(groups, layout);
  const unnamed = groups.filter((group) => isUnnamed(group) && group.ranks.length > 1);
  const unmatched = unnamed.filter((group) => layout.matches(group).length === 0);
  const cause = comparison.different.length + unmatched.length > 0 ? causeOf(groups, layout.layout) : null;
  if (unmatched.length === 0 || (!cause && unmatched.length < unnamed.length)) {
    return { comparison, cause };
  }
  return { comparison: namedBy(comparison, groups, layout, cause ? new LayoutGroups(cause.layout) : layout), cause };
}

/** Each difference with its cause and its line of the layout. */
function explained(
  { different }: GroupComparison,
  cause: Cause | null,
  checked: VerifiableLayout,
): ExplainedDifference[] {
  const line = cause && lineOfKey(checked.facts, checked.lines, cause.key, cause.module);
  return different.map((difference) => ({
    ...difference,
    cause: cause?.text ?? null,
    line: line === null ? null : line + 1,
  }));
}

/** The evidence of dumps; for ranks without a dump, that of the watchdog's log and of RAS. */
function withOtherSources(
  evidence: Evidence,
  layout: LayoutGroups,
  { ranks }: LogEvidence,
  ras: RasByRank | null,
): RankEvidence[] {
  const known = new Map(evidence.ranks.map((one) => [one.rank, withRanks(one, layout, evidence.interner)]));
  for (const one of ranks) {
    if (!known.has(one.rank)) {
      known.set(one.rank, one);
    }
  }
  for (const one of fromRas(ras, known, evidence.interner)) {
    known.set(one.rank, one);
  }
  return [...known.values()];
}

/** Takes the ranks of groups that a broken dump lacks from the layout. */
function withRanks(evidence: RankEvidence, layout: LayoutGroups, interner: Interner): RankEvidence {
  const whole = (group: RunGroup): RunGroup => {
    const ranks = group.ranks.length > 0 ? null : layout.ranksOf(group.desc, evidence.rank);
    return ranks ? interner.group(group.name, group.desc, ranks) : group;
  };
  return evidence.entries.every(({ group }) => group.ranks.length > 0)
    ? evidence
    : {
        ...evidence,
        entries: evidence.entries.map((entry) => ({ ...entry, group: whole(entry.group) })),
        enqueued: new Map([...evidence.enqueued].map(([group, last]) => [whole(group), last])),
      };
}

/** The evidence of RAS for ranks without a dump: how many operations of each communicator they have launched. */
function fromRas(ras: RasByRank | null, known: ReadonlyMap<number, RankEvidence>, interner: Interner): RankEvidence[] {
  const found = new Map<number, { entries: Entry[]; enqueued: Map<RunGroup, number> }>();
  for (const [index, rasGroup] of (ras?.groups ?? []).entries()) {
    const { group, counts } = rasCounts(rasGroup, index, known, interner);
    const most = Math.max(...counts.values());
    for (const [rank, count] of counts) {
      const one = getOrInsert(found, rank, () => ({ entries: [], enqueued: new Map() }));
      one.enqueued.set(group, count);
      if (count === most && [...counts.values()].some((other) => other < most)) {
        const operation = interner.operation({ name: UNTOLD, peer: null, input: -1, output: -1, dtype: '' });
        const pending = { p2p: false, completed: false, created: 0, frames: [] };
        one.entries.push({ ...pending, record: one.entries.length, group, seq: count, operation });
      }
    }
  }
  return [...found].flatMap(([rank, told]) =>
    known.has(rank) ? [] : [{ rank, ...told, source: 'log' as const, written: null }],
  );
}

/**
 * The numbers of operations that the members of a communicator have launched. It is a group of the dumps if a rank's dump has the
 * same number; then the sequence numbers of the dumps apply to the ranks without one.
 */
function rasCounts(
  { ranks, members }: RasGroup,
  index: number,
  known: ReadonlyMap<number, RankEvidence>,
  interner: Interner,
): { group: RunGroup; counts: Map<number, number> } {
  const counts = new Map(
    members.flatMap(({ rank, member }) =>
      member.counts === null
        ? []
        : [[rank, [...member.counts.values()].reduce((sum, count) => sum + count, 0)] as const],
    ),
  );
  const joined = ranks.join();
  for (const [rank, count] of counts) {
    const last = known
      .get(rank)
      ?.entries.findLast(({ group, p2p }) => !p2p && ascending(group.ranks).join() === joined);
    if (last && last.seq === count) {
      return { group: last.group, counts };
    }
  }
  return { group: interner.group(`ras ${index}`, '', ranks), counts };
}
