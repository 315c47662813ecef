import { countOf, grouped, type ResolvedLayout } from '../layout';
import { type Colouring, type Status, statusColouring } from './colour';
import { type Headline, subject } from './headline';
import { placeOf, rankList } from './rankDetails';

/** What `parallelism-layout verify` found of a run, as far as it is drawn: a part of the JSON that it prints. */
export interface RunReport {
  readonly verdict: string;
  readonly culprits: readonly {
    readonly rank: number;
    readonly confidence: number;
    readonly because: readonly string[];
  }[];
  readonly victims: readonly {
    readonly rank: number;
    readonly waits_for: readonly number[];
    readonly group: string;
    readonly op: string;
    readonly seq: number;
  }[];
  readonly groups: {
    readonly equal: number;
    readonly different: readonly { readonly name: string; readonly ranks: readonly number[] }[];
  };
  /** Sentences for the verdict. */
  readonly why: readonly string[];
  /** Ranks of which no file tells anything. */
  readonly unseen: readonly number[];
}

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
    const { length } = this.report.unseen;
    const unseen = length > 0 ? ` No data of ${countOf(length, 'rank')}.` : '';
    return { title: `${this.#sentence(layout)}${unseen}`, sub: subject(layout) };
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
    return verdict === 'healthy'
      ? `Nothing hangs, and ${countOf(groups.equal, 'kind')} of groups equal the layout.`
      : (why[0] ?? `Verdict: ${verdict}.`);
  }
}

/** What culprits do, for one and for several. */
const CULPRIT_TEXT: Readonly<Record<string, readonly [string, string]>> = {
  hang: ['hangs the run', 'hang the run'],
  mismatch: ['does another operation than its group', 'do other operations than their groups'],
  lost: ['is gone', 'are gone'],
};
