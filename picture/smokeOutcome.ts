import { countOf, type GroupFamily, type ResolvedLayout, rankList } from '../layout';
import { type Colouring, type Status, statusColouring } from './colour';
import { familyColouring } from './colourings';
import { type Headline, subject } from './headline';
import { familiesOf } from './rankDetails';

/** How one process group fared in a smoke job. */
export interface GroupResult {
  readonly name: string;
  readonly module: string | null;
  /** Index of the group in its family. */
  readonly index: number;
  readonly ok: boolean;
  /** Bus bandwidth in GB/s of the best-known operation; null where none was timed. */
  readonly busGBs: number | null;
}

/** What a smoke job said of the groups of a layout. */
export interface SmokeReport {
  readonly verdict: string;
  readonly groups: readonly GroupResult[];
  /** Ranks that a fault names. */
  readonly suspects: readonly number[];
  /** What went wrong, in a sentence. */
  readonly message?: string | undefined;
  readonly origin?: SmokeOrigin | undefined;
  /** How far the job is, while it runs. */
  readonly running?: SmokeStep | undefined;
}

/** Where, on what and when a smoke job ran. */
export interface SmokeOrigin {
  /** The name of the cluster. */
  readonly cluster: string;
  /** `CPU`, or the name of the GPUs; empty where the job did not come to that. */
  readonly device: string;
  /** In ISO 8601. */
  readonly started: string;
  /** How long it took; null while it runs. */
  readonly seconds: number | null;
}

/** How far a smoke job is that runs. */
export interface SmokeStep {
  /** What it does, in words. */
  readonly text: string;
  /** The ranks that have come up. */
  readonly up: readonly number[];
}

/** How a group, or a rank in all its groups, fared; the worst last. */
export const OUTCOMES: readonly Status[] = [
  { label: 'passed', fill: '#009e73', sign: 'none' },
  { label: 'some groups passed', fill: '#7fc8a9', sign: 'stripes' },
  { label: 'up', fill: '#56b4e9', sign: 'none' },
  { label: 'no result', fill: '#9a9a9a', sign: 'dots' },
  { label: 'failed', fill: '#d55e00', sign: 'cross' },
];
const [PASSED, PARTLY, UP, MISSING, FAILED] = [0, 1, 2, 3, 4] as const;

/** What a group can be: it passes or fails as a whole. */
type GroupOutcome = typeof PASSED | typeof MISSING | typeof FAILED;

/** What the job says when all went well. */
export const PASSED_VERDICT = 'ok';

/** Steps of the ramp of bandwidths. */
const STEPS = 100;

/** One family of groups with its results. */
export interface FamilyOutcome {
  readonly family: GroupFamily;
  /** How many groups passed, have no result, and failed. */
  readonly passed: number;
  readonly missing: number;
  readonly failed: number;
  /** Groups that did not pass, the failed ones first. */
  readonly open: readonly number[];
  /** The slowest group that was timed. */
  readonly slowest: { readonly index: number; readonly busGBs: number } | null;
  readonly fastest: number | null;
}

/** The results of a smoke job, looked up by group. */
export class SmokeOutcome {
  readonly families: readonly GroupFamily[];
  readonly suspects: ReadonlySet<number>;
  readonly #up: ReadonlySet<number>;
  readonly #results: ReadonlyMap<string, GroupResult>;

  constructor(
    layout: ResolvedLayout,
    readonly message: SmokeReport,
  ) {
    this.#results = new Map(message.groups.map((result) => [keyOf(result.module, result.name, result.index), result]));
    this.suspects = new Set(message.suspects);
    this.#up = new Set(message.running?.up);
    const reached = new Set(message.groups.map(({ module, name }) => keyOf(module, name, 0)));
    // a job that passed says by its results which groups it was about
    this.families = familiesOf(layout).filter(
      ({ module, name, size }) =>
        size > 1 && (message.verdict !== PASSED_VERDICT || reached.has(keyOf(module, name, 0))),
    );
  }

  /** The place in `OUTCOMES` of a group. */
  outcomeOf({ module, name }: GroupFamily, index: number): GroupOutcome {
    const result = this.#results.get(keyOf(module, name, index));
    return result === undefined ? MISSING : result.ok ? PASSED : FAILED;
  }

  bandwidthOf({ module, name }: GroupFamily, index: number): number | null {
    return this.#results.get(keyOf(module, name, index))?.busGBs ?? null;
  }

  /** Every family with what became of its groups. */
  outcomes(): FamilyOutcome[] {
    return this.families.map((family) => {
      const counts = { [PASSED]: 0, [MISSING]: 0, [FAILED]: 0 };
      const open: number[] = [];
      let slowest: FamilyOutcome['slowest'] = null;
      let fastest: number | null = null;
      for (let index = 0; index < family.count; index++) {
        const outcome = this.outcomeOf(family, index);
        counts[outcome]++;
        if (outcome !== PASSED) {
          open.push(index);
        }
        const busGBs = this.bandwidthOf(family, index);
        if (busGBs !== null) {
          slowest = slowest && slowest.busGBs <= busGBs ? slowest : { index, busGBs };
          fastest = Math.max(fastest ?? 0, busGBs);
        }
      }
      open.sort((a, b) => this.outcomeOf(family, b) - this.outcomeOf(family, a) || a - b);
      const { [PASSED]: passed, [MISSING]: missing, [FAILED]: failed } = counts;
      return { family, passed, missing, failed, open, slowest, fastest };
    });
  }

  /** Ranks by what became of their groups of one name, or of all where the name is empty. */
  outcomeColouring(name: string): Colouring {
    const families = this.families.filter((family) => name === '' || family.name === name);
    const outcomeOf = (rank: number): number => {
      const outcomes = families.flatMap((family) =>
        family.indicesOf(rank).map((index) => this.outcomeOf(family, index)),
      );
      return this.#outcomeOfRank(rank, new Set(outcomes));
    };
    return {
      ...statusColouring(name === '' ? 'result of all groups' : `result of ${name}`, OUTCOMES, outcomeOf),
      fill: (into, code) => {
        const seen = new Uint8Array(into.length);
        for (const family of families) {
          const groups = family.all();
          for (let index = 0; index < groups.count; index++) {
            const bit = 1 << this.outcomeOf(family, index);
            for (const rank of groups.at(index)) {
              seen[rank] = (seen[rank] ?? 0) | bit;
            }
          }
        }
        const all = [PASSED, MISSING, FAILED] as const;
        const sets = Array.from(
          { length: 1 << OUTCOMES.length },
          (_, bits) => new Set(all.filter((one) => bits & (1 << one))),
        );
        seen.forEach((bits, rank) => {
          const outcome = this.#outcomeOfRank(rank, sets[bits] ?? new Set());
          if (outcome >= 0) {
            into[rank] = code(outcome);
          }
        });
      },
    };
  }

  /** The outcome of a rank by those of its groups: one that was not reached does not take away what passed. */
  #outcomeOfRank(rank: number, groups: ReadonlySet<GroupOutcome>): number {
    if (groups.has(FAILED) || this.suspects.has(rank)) {
      return FAILED;
    }
    if (groups.has(MISSING)) {
      return groups.has(PASSED) ? PARTLY : this.#up.has(rank) ? UP : MISSING;
    }
    return groups.has(PASSED) ? PASSED : -1;
  }

  /** How many of its groups a rank has passed, where not all did. */
  describe(rank: number): string[] {
    const outcomes = this.families.flatMap((family) =>
      family.indicesOf(rank).map((index) => this.outcomeOf(family, index)),
    );
    const passed = outcomes.filter((outcome) => outcome === PASSED).length;
    return passed === outcomes.length ? [] : [`${passed} of ${countOf(outcomes.length, 'group')}`];
  }

  /** Ranks by the bus bandwidth measured in their group of one name; from 0 to the best. */
  bandwidthColouring(name: string): Colouring {
    const families = this.families.filter((family) => family.name === name);
    const best = this.message.groups.reduce(
      (most, result) => (result.name === name ? Math.max(most, result.busGBs ?? 0) : most),
      0,
    );
    const step = (family: GroupFamily, index: number) => {
      const busGBs = this.bandwidthOf(family, index);
      return busGBs === null || best === 0 ? -1 : Math.round((busGBs / best) * STEPS);
    };
    return familyColouring(families, step, {
      name: `bus bandwidth of ${name}`,
      none: 'not measured',
      scale: 'ordered',
      values: STEPS + 1,
      label: (value) => `${((best * value) / STEPS).toPrecision(3)} GB/s`,
    });
  }
}

const keyOf = (module: string | null, name: string, index: number): string => `${module ?? ''}/${name}/${index}`;

/** A link is called slow when it has less than this share of the fastest of its kind. */
const SLOW = 0.9;

/** Whether the smoke job passed, and the worst that it found. */
export const smokeHeadline = (layout: ResolvedLayout, outcome: SmokeOutcome | null): Headline => ({
  title: outcome ? sentence(outcome) : 'No smoke job has run for this layout yet.',
  sub: [originText(outcome?.message.origin), subject(layout)].filter(Boolean).join(' · '),
});

/** Where, on what, when and how long: `local · CPU · 22 Nov 2026, 14:03 · 12 s`. */
function originText(origin: SmokeOrigin | undefined): string {
  if (!origin) {
    return '';
  }
  const { cluster, device, started, seconds } = origin;
  const when = new Date(started).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
  return [cluster, device, when, seconds === null ? '' : `${seconds.toPrecision(3)} s`].filter(Boolean).join(' · ');
}

/** The longest reason in a headline, in characters. */
const MAX_REASON = 240;

function sentence(outcome: SmokeOutcome): string {
  const { verdict, message, running } = outcome.message;
  if (running) {
    return `Smoke job: ${running.text}.`;
  }
  const families = outcome.outcomes();
  if (verdict !== PASSED_VERDICT && message) {
    const [line = ''] = message.split('\n');
    return `Smoke job failed: ${line.length > MAX_REASON ? `${line.slice(0, MAX_REASON)}…` : line}`;
  }
  if (verdict !== PASSED_VERDICT) {
    const found = families.find(({ failed }) => failed > 0);
    const [index] = found?.open ?? [];
    const where =
      found && index !== undefined
        ? `; ${found.family.name} group ${index} (ranks ${rankList(found.family.ranks(index), 4)})`
        : '';
    const suspects = [...outcome.suspects];
    const fault =
      suspects.length > 0 ? `; at fault: ${suspects.length === 1 ? 'rank' : 'ranks'} ${rankList(suspects, 4)}` : '';
    return `Smoke job: ${verdict.replaceAll('_', ' ')}${where}${fault}.`;
  }
  const groups = families.reduce((sum, { family }) => sum + family.count, 0);
  const [worst] = families
    .flatMap(({ family, slowest, fastest }) =>
      slowest && fastest ? [{ family, slowest, share: slowest.busGBs / fastest }] : [],
    )
    .sort((a, b) => a.share - b.share);
  const slow =
    worst && worst.share < SLOW
      ? `; the slowest link is ${worst.family.name} group ${worst.slowest.index} at ${worst.slowest.busGBs.toPrecision(3)} GB/s, ${Math.round(100 * worst.share)} % of the fastest`
      : '';
  return `Smoke job: passed, ${countOf(groups, 'process group')}${slow}.`;
}
