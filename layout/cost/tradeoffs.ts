import { type Checked, hasErrors } from '../check';
import type { MeasuredRun } from '../logs';
import { atOnce } from '../steps';
import type { LayoutFacts } from '../topology/facts';
import { type Estimate, moduleEstimates } from './estimate';
import { calibratedBy } from './measured';
import { fullestOf } from './memory';
import { type Neighbour, neighbourSteps, type Score, scoreFrom } from './neighbours';
import {
  alternativeName,
  type Base,
  baseOf,
  type Candidate,
  choicesOf,
  isAsQuick,
  MAX_CHECKED,
  type PlannedLayout,
  plannedLayout,
  type Search,
  searchSteps,
} from './plan';

/** The score of one module of a layout, or why there is none. */
export interface ModuleScore {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  /** Null where the layout has errors or lacks what an estimate needs. */
  readonly score: Score | null;
  /** Why there is no score. */
  readonly reason: string | null;
  /** Keys that the file lacks and that would tell or narrow it. */
  readonly missing: readonly string[];
}

/** A measured run of the layout, as its estimate counts. */
export interface RunMark {
  readonly seconds: number;
  /** What the fullest GPU needed: the peak of torch's allocator, and the communicators by estimate. Null where the log has no peak. */
  readonly totalBytes: number | null;
  /** Measured over estimated step time. */
  readonly timeFactor: number | null;
}

/** One layout of the model on the machine of the file, with the cost that it would have. */
export interface Alternative {
  /** The sizes that are not 1, as `tp 8 · pp 4 · dp 2 · 16 x 1`, and what is recomputed. */
  readonly name: string;
  readonly seconds: number;
  readonly totalBytes: number;
  /** Whether it fits also by the upper end of its range. */
  readonly fits: boolean;
  /** Its place in the front; -1 for others. */
  readonly front: number;
}

/** Where the layouts of a model on a machine lie, or why there are none: what a picture needs of them. */
export type PlottedAlternatives =
  | {
      readonly ok: true;
      readonly gpuBytes: number;
      readonly tried: number;
      /** Grids on which a layout fits, as a plan counts them. */
      readonly fitting: number;
      /** Of these, those as quick as the quickest, within the error of the estimate. */
      readonly asQuick: number;
      /** Of each grid the layouts that no other of the grid beats in both memory and time; some a little too large, too. */
      readonly points: readonly Alternative[];
    }
  | { readonly ok: false; readonly reason: string };

/** The layouts of a model on a machine with the texts of the best, or why there are none. */
export type Alternatives =
  | (Extract<PlottedAlternatives, { ok: true }> & {
      /** Layouts that no other beats in both, the quickest first. All rules accept them. */
      readonly front: readonly PlannedLayout[];
    })
  | Extract<PlottedAlternatives, { ok: false }>;

/** Layouts that need up to this share of the memory of a GPU are shown beside those that fit. */
const SHOWN_SHARE = 1.25;

/** The scores of a layout, one a module; without one where it has errors. */
export function moduleScores(checked: Checked): readonly ModuleScore[] {
  return checked.facts && checked.resolved && !hasErrors(checked)
    ? scoresOfFacts(checked.facts)
    : [{ module: null, score: null, reason: 'the layout has errors', missing: [] }];
}

/** The scores of a layout that resolves and that no rule refuses. */
export function scoresOfFacts(facts: LayoutFacts): readonly ModuleScore[] {
  return moduleEstimates(facts).map(({ module, result }) =>
    result.ok
      ? { module, score: scoreFrom(result.estimate), reason: null, missing: result.estimate.missing }
      : { module, score: null, reason: result.reason, missing: result.missing },
  );
}

/** The module with the longest step, where several have one. */
export function slowestModule(scores: readonly ModuleScore[]): ModuleScore | null {
  const timed = scores.filter(({ score }) => (score?.seconds ?? null) !== null);
  const [slowest] = timed.toSorted((a, b) => (b.score?.seconds ?? 0) - (a.score?.seconds ?? 0));
  return timed.length > 1 ? (slowest ?? null) : null;
}

/** A measured run on the scale of an estimate; null where its log tells no step time. */
export function runMark(run: MeasuredRun, estimate: Estimate): RunMark | null {
  const { time, measuredSeconds, measuredPeakBytes } = calibratedBy(run, estimate);
  const fullest = fullestOf(estimate.perStage);
  return measuredSeconds === null
    ? null
    : {
        seconds: measuredSeconds,
        totalBytes: measuredPeakBytes === null ? null : measuredPeakBytes + (fullest?.communicatorsBytes ?? 0),
        timeFactor: time,
      };
}

/** What a run measured in place of the estimate; its traffic and its bubble are not in a log. */
export function measuredScore(score: Score, { seconds, totalBytes }: RunMark): Score {
  const share = score.seconds === null ? null : score.seconds / seconds;
  const scaled = (value: number | null) => (value === null || share === null ? null : value * share);
  return {
    ...score,
    seconds,
    secondsInterval: [seconds, seconds],
    ...(totalBytes === null ? {} : { totalBytes, totalInterval: [totalBytes, totalBytes] as const }),
    tokensPerSecondPerGpu: scaled(score.tokensPerSecondPerGpu),
    mfu: scaled(score.mfu),
  };
}

/**
 * The layouts of the model and batch of a file on its machine, in steps of well under a millisecond to a few: whoever must not wait
 * takes some at a time. The file's own degrees, micro-batch and recomputation do not matter.
 * @param text a layout file with `parallelism`
 */
export function* alternativeSteps(text: string): Generator<undefined, Alternatives> {
  const base = baseOf(text);
  if ('reason' in base) {
    return { ok: false, reason: base.reason };
  }
  return yield* frontSteps(
    base,
    yield* searchSteps(base, { mostBytes: base.job.hardware.gpu.memoryBytes * SHOWN_SHARE }),
  );
}

/** As `alternativeSteps`, at once. */
export const alternatives = (text: string): Alternatives => atOnce(alternativeSteps(text));

/** The front of all grids: each candidate for it is checked by the rules, and one that they refuse is no alternative. */
function* frontSteps(base: Base, { tried, grids }: Search): Generator<undefined, Alternatives> {
  const all = grids.flat().sort((a, b) => a.seconds - b.seconds);
  const gpuBytes = base.job.hardware.gpu.memoryBytes;
  const fits = ({ totalInterval }: Candidate) => totalInterval[1] <= gpuBytes;
  const front = new Map<Candidate, PlannedLayout>();
  const refused = new Set<Candidate>();
  let checkedTexts = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of all) {
    if (fits(candidate) && candidate.totalBytes < least && checkedTexts < MAX_CHECKED) {
      checkedTexts++;
      const planned = plannedLayout(base, candidate);
      if (planned) {
        front.set(candidate, planned);
        least = candidate.totalBytes;
      } else {
        refused.add(candidate);
      }
      yield;
    }
  }
  const shown = all.filter((candidate) => !refused.has(candidate));
  const places = new Map([...front.keys()].map((candidate, place) => [candidate, place]));
  const quickest = [...front.keys()][0]?.seconds ?? 0;
  const gridsWith = (is: (one: Candidate) => boolean) =>
    grids.filter((grid) => grid.some((one) => !refused.has(one) && is(one))).length;
  return {
    ok: true,
    gpuBytes,
    tried,
    fitting: gridsWith(fits),
    asQuick: gridsWith((one) => fits(one) && isAsQuick(one.seconds, quickest)),
    points: shown.map((candidate) => ({
      name: alternativeName(choicesOf(candidate.job)),
      seconds: candidate.seconds,
      totalBytes: candidate.totalBytes,
      fits: fits(candidate),
      front: places.get(candidate) ?? -1,
    })),
    front: [...front.values()],
  };
}

/** What one layout is weighed against. */
export interface Tradeoffs {
  readonly alternatives: Alternatives;
  /** Layouts that differ in one choice, the quickest first; after them those that do not fit. */
  readonly neighbours: readonly Neighbour[];
}

/**
 * The neighbours of a layout and all other layouts of its model and machine, in short steps.
 * @param known the alternatives, where they were worked out for a text with the same `alternativesKey`
 */
export function* tradeoffSteps(checked: Checked, known: Alternatives | null): Generator<undefined, Tradeoffs> {
  const found: Neighbour[] = [];
  for (const neighbour of neighbourSteps(checked)) {
    found.push(...neighbour);
    yield;
  }
  const isTooLarge = ({ score: { totalBytes, gpuBytes } }: Neighbour) =>
    Number(gpuBytes !== null && totalBytes > gpuBytes);
  const neighbours = found.sort(
    (a, b) => isTooLarge(a) - isTooLarge(b) || (a.score.seconds ?? 0) - (b.score.seconds ?? 0),
  );
  return { neighbours, alternatives: known ?? (yield* alternativeSteps(checked.text)) };
}

/** Two texts with the same key have the same alternatives: they differ in what a plan decides. */
export function alternativesKey(text: string): string {
  const base = baseOf(text);
  return 'reason' in base ? base.reason : base.checked.text;
}
