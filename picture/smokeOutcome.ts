import type { GroupFamily, ResolvedLayout } from '../layout';
import type { Colouring, Status } from './colour';
import { familyColouring } from './colourings';
import { familiesOf } from './facts';

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
}

/** How a group, or a rank in all its groups, fared; the worst last. */
export const OUTCOMES: readonly Status[] = [
  { label: 'passed', fill: '#009e73', sign: 'none' },
  { label: 'no result', fill: '#9a9a9a', sign: 'dots' },
  { label: 'failed', fill: '#d55e00', sign: 'cross' },
];
const [PASSED, MISSING, FAILED] = [0, 1, 2];

/** What the job says when all went well. */
export const PASSED_VERDICT = 'ok';

/** Steps of the ramp of bandwidths. */
const STEPS = 100;

/** One family of groups with its results. */
export interface FamilyOutcome {
  readonly family: GroupFamily;
  /** How many groups passed, have no result, and failed. */
  readonly counts: readonly [passed: number, missing: number, failed: number];
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
  readonly #results: ReadonlyMap<string, GroupResult>;

  constructor(
    layout: ResolvedLayout,
    readonly message: SmokeReport,
  ) {
    this.#results = new Map(message.groups.map((result) => [keyOf(result.module, result.name, result.index), result]));
    this.suspects = new Set(message.suspects);
    const reached = new Set(message.groups.map(({ module, name }) => keyOf(module, name, 0)));
    // a job that passed says by its results which groups it was about
    this.families = familiesOf(layout).filter(
      ({ module, name, size }) =>
        size > 1 && (message.verdict !== PASSED_VERDICT || reached.has(keyOf(module, name, 0))),
    );
  }

  /** The place in `OUTCOMES` of a group. */
  outcomeOf({ module, name }: GroupFamily, index: number): number {
    const result = this.#results.get(keyOf(module, name, index));
    return result === undefined ? MISSING : result.ok ? PASSED : FAILED;
  }

  bandwidthOf({ module, name }: GroupFamily, index: number): number | null {
    return this.#results.get(keyOf(module, name, index))?.busGBs ?? null;
  }

  /** Every family with what became of its groups. */
  outcomes(): FamilyOutcome[] {
    return this.families.map((family) => {
      const counts: [number, number, number] = [0, 0, 0];
      const open: number[] = [];
      let slowest: FamilyOutcome['slowest'] = null;
      let fastest: number | null = null;
      for (let index = 0; index < family.count; index++) {
        const outcome = this.outcomeOf(family, index);
        counts[outcome === FAILED ? 2 : outcome === MISSING ? 1 : 0]++;
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
      return { family, counts, open, slowest, fastest };
    });
  }

  /** Ranks by the worst outcome among the groups of one name, or of all where the name is empty. */
  outcomeColouring(name: string): Colouring {
    const families = this.families.filter((family) => name === '' || family.name === name);
    const of = (rank: number): number =>
      families.reduce(
        (worst, family) =>
          family.indicesOf(rank).reduce((most, index) => Math.max(most, this.outcomeOf(family, index)), worst),
        this.suspects.has(rank) ? (FAILED ?? 2) : -1,
      );
    return {
      name: name === '' ? 'result of all groups' : `result of ${name}`,
      scale: 'status',
      values: OUTCOMES.length,
      statuses: OUTCOMES,
      label: (value) => OUTCOMES[value]?.label ?? '',
      valueOf: of,
      fill: (into, code) => {
        const worst = new Int8Array(into.length).fill(-1);
        for (const family of families) {
          const groups = family.all();
          for (let index = 0; index < groups.count; index++) {
            const outcome = this.outcomeOf(family, index);
            for (const rank of groups.at(index)) {
              worst[rank] = Math.max(worst[rank] ?? -1, outcome);
            }
          }
        }
        for (const rank of this.suspects) {
          worst[rank] = FAILED ?? 2;
        }
        worst.forEach((outcome, rank) => {
          if (outcome >= 0) {
            into[rank] = code(outcome);
          }
        });
      },
    };
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
