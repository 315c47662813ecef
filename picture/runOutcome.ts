import { countOf, grouped, type ResolvedLayout, rankList } from '../layout';
import { type Colouring, type Status, statusColouring } from './colour';
import {
  arrayOf,
  type Guarded,
  isBoolean,
  isIndex,
  isNumber,
  isString,
  nullOr,
  objectOf,
  optional,
  recordOf,
} from './guard';
import { type Headline, subject } from './headline';
import { placeOf } from './rankDetails';

/** The most ranks of a report that are read, and the most parts of a step. */
const MAX_RANKS = 1_048_576;
const MAX_PARTS = 1024;

const isRanks = arrayOf(isIndex, MAX_RANKS);

/** Whether a value is what `parallelism-layout verify` prints as JSON, as far as it is drawn. */
export const isRunReport = objectOf({
  verdict: isString,
  culprits: arrayOf(
    objectOf({
      rank: isIndex,
      confidence: isNumber,
      because: arrayOf(isString),
      host: optional(nullOr(isString)),
      gpu: optional(nullOr(isIndex)),
      pid: optional(nullOr(isIndex)),
    }),
    MAX_RANKS,
  ),
  victims: arrayOf(
    objectOf({ rank: isIndex, waits_for: isRanks, group: isString, op: isString, seq: isNumber }),
    MAX_RANKS,
  ),
  groups: objectOf({ equal: isIndex, different: arrayOf(objectOf({ name: isString, ranks: isRanks })) }),
  /** Sentences for the verdict. */
  why: arrayOf(isString),
  /** Ranks of which no file tells anything. */
  unseen: isRanks,
  /** The files of the run, and whether all of each could be read; reports of older versions lack them, and what follows. */
  sources: optional(arrayOf(objectOf({ file: isString, kind: isString, ok: isBoolean, note: isString }))),
  /** What a log tells of the times of ranks, in seconds by rank. */
  measured: optional(
    nullOr(objectOf({ parts: arrayOf(objectOf({ name: isString, by_rank: recordOf(isNumber) }), MAX_PARTS) })),
  ),
  /** Ranks that slow the run, the slowest first. */
  slow: optional(arrayOf(objectOf({ rank: isIndex, part: isString, ratio: isNumber, because: isString }), MAX_RANKS)),
});
export type RunReport = Guarded<typeof isRunReport>;

/** What a rank has to do with the hang of a run; the worst last. */
export const RUN_ROLES: readonly Status[] = [
  { label: 'does not wait', fill: '#6e6e6e', sign: 'dots' },
  { label: 'no data', fill: '#b8b8b8', sign: 'none' },
  { label: 'in groups unlike the layout', fill: '#cc79a7', sign: 'stripes' },
  { label: 'waits further on', fill: '#a08a5b', sign: 'none' },
  { label: 'waits for it directly', fill: '#e69f00', sign: 'stripes' },
  { label: 'culprit', fill: '#d7191c', sign: 'cross' },
];
const [IDLE, UNSEEN, DIFFERENT, FURTHER, DIRECT, CULPRIT] = [0, 1, 2, 3, 4, 5] as const;

/** A run, looked up by rank. */
export class RunOutcome {
  readonly culprits: ReadonlySet<number>;
  readonly #roles = new Map<number, number>();
  readonly #victims: ReadonlyMap<number, RunReport['victims'][number]>;

  constructor(readonly report: RunReport) {
    this.culprits = new Set(report.culprits.map(({ rank }) => rank));
    this.#victims = new Map(report.victims.map((victim) => [victim.rank, victim]));
    const raise = (rank: number, role: number) => this.#roles.set(rank, Math.max(role, this.#roles.get(rank) ?? IDLE));
    for (const rank of report.unseen) {
      raise(rank, UNSEEN);
    }
    for (const rank of report.groups.different.flatMap(({ ranks }) => ranks)) {
      raise(rank, DIFFERENT);
    }
    for (const { rank, waits_for } of report.victims) {
      raise(rank, waits_for.some((one) => this.culprits.has(one)) ? DIRECT : FURTHER);
    }
    for (const rank of this.culprits) {
      raise(rank, CULPRIT);
    }
  }

  /** Ranks by their part in the hang. */
  get colouring(): Colouring {
    return statusColouring('run', RUN_ROLES, (rank) => this.#roles.get(rank) ?? IDLE);
  }

  /** The parts of a step that are timed by rank, those with slow ranks first. */
  get parts(): readonly string[] {
    const timed = (this.report.measured?.parts ?? []).filter(({ by_rank }) => Object.keys(by_rank).length > 0);
    const slow = new Set(this.report.slow?.map(({ part }) => part));
    const isFast = (name: string) => Number(!slow.has(name));
    return timed.map(({ name }) => name).sort((a, b) => isFast(a) - isFast(b));
  }

  /** The part that colours the ranks: the chosen one, or the first of a run in which nothing hangs. Null for the parts in the hang. */
  partIn(chosen: string): string | null {
    const usual = this.report.verdict === 'healthy' ? (this.parts[0] ?? null) : null;
    return chosen === ROLES ? null : this.parts.includes(chosen) ? chosen : usual;
  }

  /** Ranks by the time that a part of the step takes them, from the quickest to the slowest. */
  partColouring(name: string): Colouring {
    const times = this.report.measured?.parts.find((part) => part.name === name)?.by_rank ?? {};
    const all = Object.values(times);
    const least = Math.min(...all);
    const most = Math.max(...all, least * LEAST_SPREAD);
    const step = (most - least) / STEPS;
    return {
      name: `time of ${name}`,
      none: 'not timed',
      scale: 'ordered',
      values: STEPS + 1,
      valueOf: (rank) => {
        const time = times[rank];
        return time === undefined || step <= 0 ? -1 : Math.round((time - least) / step);
      },
      label: (value) => milliseconds(least + value * step),
    };
  }

  /** What a rank does: the operation that it waits in, or what it is. */
  describe(rank: number): string[] {
    if (this.culprits.has(rank)) {
      return ['culprit'];
    }
    const victim = this.#victims.get(rank);
    return victim ? [victim.group, `${victim.op} #${victim.seq}`] : [];
  }

  /** Who hangs the run, or how it is otherwise, in one line. */
  headline(layout: ResolvedLayout): Headline {
    const { unseen, culprits, why, slow = [] } = this.report;
    const title = this.#sentence(layout);
    const unknown = unseen.length > 0 ? ` No data of ${countOf(unseen.length, 'rank')}.` : '';
    const reason = [...(culprits[0]?.because ?? []), ...slow.map(({ because }) => because), ...why].find(
      (text) => text !== title,
    );
    return { title: title + unknown, sub: reason ?? subject(layout) };
  }

  /** Which files were read, and of which ranks nothing is known; empty where the report does not say. */
  get read(): string {
    const { sources = [], unseen } = this.report;
    const kinds = Object.entries(FILE_KINDS).flatMap(([kind, name]) => {
      const all = sources.filter((source) => source.kind === kind);
      const whole = all.filter(({ ok }) => ok).length;
      return all.length === 0
        ? []
        : [whole === all.length ? countOf(whole, name) : `${whole} of ${countOf(all.length, name)}`];
    });
    const missing =
      unseen.length > 0 ? ` Nothing is known of ${unseen.length === 1 ? 'rank' : 'ranks'} ${rankList(unseen)}.` : '';
    return kinds.length === 0 ? '' : `Read ${kinds.join(', ')}.${missing}`;
  }

  #sentence(layout: ResolvedLayout): string {
    const { verdict, culprits, victims, groups, why } = this.report;
    const [first] = culprits;
    if (first) {
      const ranks = culprits.map(({ rank }) => rank);
      const who =
        culprits.length === 1
          ? `Rank ${grouped(first.rank)} (${placeOf(layout, first.rank)})`
          : `Ranks ${rankList(ranks, 6)}`;
      const one = culprits.length === 1;
      const waiting =
        victims.length > 0
          ? ` ${countOf(victims.length, 'rank')} ${victims.length === 1 ? 'waits' : 'wait'} for ${one ? 'it' : 'them'}.`
          : '';
      return `${who} ${CULPRIT_TEXT[verdict]?.[one ? 0 : 1] ?? (one ? 'stands out' : 'stand out')}.${waiting}`;
    }
    if (groups.different.length > 0) {
      return `The groups of the run differ from the layout: ${groups.different.map(({ name }) => name).join(', ')}.`;
    }
    const [slow] = this.report.slow ?? [];
    if (verdict === 'healthy' && slow) {
      return `Nothing hangs; rank ${grouped(slow.rank)} (${placeOf(layout, slow.rank)}) takes ${slow.ratio} times as long as its peers in ${slow.part}.`;
    }
    return verdict === 'healthy'
      ? `Nothing hangs, and ${countOf(groups.equal, 'kind')} of groups equal the layout.`
      : (why[0] ?? `Verdict: ${verdict}.`);
  }
}

/** What chooses the parts of ranks in the hang where parts of the step could be shown. */
export const ROLES = 'roles';

/** Steps of the ramp of times, and how far apart its ends are at least: a ramp of noise would show differences that are none. */
const STEPS = 100;
const LEAST_SPREAD = 1.25;

const milliseconds = (seconds: number): string => `${(1000 * seconds).toPrecision(3)} ms`;

/** The kinds of files that tell of a run. */
const FILE_KINDS = {
  'flight-recorder': 'Flight Recorder dump',
  ras: 'NCCL RAS answer',
  recorder: 'recorder file',
  log: 'log',
} as const;

/** A name that a shell takes as it is: what is read of a run becomes no command. */
const PLAIN_HOST = /^[A-Za-z0-9][\w.-]{0,252}$/;

/** The command that shows where a process stands, on its host; null where its number is not known. */
export function stackCommand({ host, pid }: RunReport['culprits'][number]): string | null {
  if (pid === null || pid === undefined) {
    return null;
  }
  const dump = `py-spy dump --pid ${pid}`;
  return host && PLAIN_HOST.test(host) ? `ssh ${host} ${dump}` : dump;
}

/** What culprits do, for one and for several. */
const CULPRIT_TEXT: Readonly<Record<string, readonly [string, string]>> = {
  hang: ['hangs the run', 'hang the run'],
  mismatch: ['does another operation than its group', 'do other operations than their groups'],
  lost: ['is gone', 'are gone'],
};
