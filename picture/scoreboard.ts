import { gibibytes, grouped, secondsText } from '../layout';
import { isAsQuick, type ModuleScore, type Score } from '../layout/cost';
import { memory } from './cost';
import { traffic } from './flows';

/** What a difference means for whoever pays for the GPUs. */
type Verdict = 'better' | 'worse' | 'same';

/** One number of a scoreboard, in words. */
export interface Figure {
  readonly label: 'step' | 'memory' | 'network' | 'tokens/s/GPU' | 'MFU' | 'bubble';
  /** Null where it is not known. */
  readonly value: string | null;
  /** The range that nine in ten measured runs lie within, or what the value is of; null where there is none. */
  readonly range: string | null;
  /** The difference to the base, as `−18 %`; null without a base. */
  readonly change: string | null;
  readonly verdict: Verdict | null;
  /** Whether the layout does not fit, or may not by its range. */
  readonly alarm: 'over' | 'maybe' | null;
}

/** How one number of a score is told. */
interface Measure {
  readonly label: Figure['label'];
  readonly of: (score: Score) => number | null;
  readonly words: (value: number, score: Score) => string;
  readonly change: (before: number, after: number) => string;
  readonly verdict: (before: number, after: number) => Verdict;
  readonly range?: (score: Score) => string | null;
  readonly alarm?: (score: Score) => Figure['alarm'];
}

/** A share of what is whole: `4.2 %`, `38 %`. */
export const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

const pointsChange = (before: number, after: number): string =>
  signed(100 * (after - before), (value) => `${value.toFixed(1)} points`);

const lessIsBetter = (before: number, after: number): Verdict =>
  after < before ? 'better' : after > before ? 'worse' : 'same';

/** Speeds that the estimate cannot tell apart are the same. */
const quickerIsBetter = (before: number, after: number): Verdict =>
  isAsQuick(before, after) ? 'same' : lessIsBetter(after, before);

const MEASURES: readonly Measure[] = [
  {
    label: 'step',
    of: ({ seconds }) => seconds,
    words: secondsText,
    change: percentChange,
    verdict: (before, after) => quickerIsBetter(after, before),
    range: ({ secondsInterval }) => secondsInterval && rangeOf(secondsInterval, secondsText),
  },
  {
    label: 'memory',
    of: ({ totalBytes }) => totalBytes,
    words: (bytes, { gpuBytes }) => (gpuBytes === null ? memory(bytes) : `${gibibytes(bytes)} of ${memory(gpuBytes)}`),
    change: (before, after) => signed(after - before, memory),
    verdict: lessIsBetter,
    // the value has the unit
    range: ({ totalInterval }) => rangeOf(totalInterval, gibibytes),
    alarm: ({ totalBytes, totalInterval, gpuBytes }) =>
      gpuBytes === null ? null : totalBytes > gpuBytes ? 'over' : totalInterval[1] > gpuBytes ? 'maybe' : null,
  },
  {
    label: 'network',
    of: ({ networkBytes }) => networkBytes,
    words: (bytes) => (bytes === 0 ? 'none' : `${traffic(bytes)} a step`),
    change: (before, after) => signed(after - before, traffic),
    verdict: lessIsBetter,
  },
  {
    label: 'tokens/s/GPU',
    of: ({ tokensPerSecondPerGpu }) => tokensPerSecondPerGpu,
    words: (value) => grouped(Math.round(value)),
    change: percentChange,
    verdict: quickerIsBetter,
  },
  { label: 'MFU', of: ({ mfu }) => mfu, words: percent, change: pointsChange, verdict: quickerIsBetter },
  { label: 'bubble', of: ({ bubble }) => bubble, words: percent, change: pointsChange, verdict: lessIsBetter },
];

/** The numbers that decide between layouts, with their differences to a base. */
export const figuresOf = (now: Score | null, base: Score | null): readonly Figure[] =>
  MEASURES.map(({ label, of, words, change, verdict, range, alarm }) => {
    const value = now && of(now);
    if (!now || value === null) {
      return { label, value: null, range: null, change: null, verdict: null, alarm: null };
    }
    const before = base && of(base);
    const changed = before === null ? null : change(before, value);
    return {
      label,
      value: words(value, now),
      range: range?.(now) ?? null,
      change: changed,
      verdict: before === null ? null : changed === SAME ? 'same' : verdict(before, value),
      alarm: alarm?.(now) ?? null,
    };
  });

/** The sign of no visible difference. */
export const SAME = '=';

const rangeOf = ([low, high]: readonly [number, number], words: (value: number) => string): string =>
  `${words(low).replace(/ \D+$/, '')} – ${words(high)}`;

/** A difference with its sign; `=` where it is too small to be written. */
function signed(difference: number, words: (size: number) => string): string {
  const text = words(Math.abs(difference));
  return Number.parseFloat(text) === 0 ? SAME : `${difference < 0 ? '−' : '+'}${text}`;
}

/** A difference as a share of what was before: `−18 %`. */
function percentChange(before: number, after: number): string {
  return signed((100 * (after - before)) / before, (part) => `${Math.round(part)} %`);
}

/** The figures of one module of a layout. */
export interface Board {
  /** Null for a layout without modules. */
  readonly module: string | null;
  readonly figures: readonly Figure[];
  /** Keys that would tell what is not known. */
  readonly missing: readonly string[];
}

/** A scoreboard a module, beside the module of the same name of a base. */
export function boardsOf(scores: readonly ModuleScore[], base: readonly ModuleScore[] | null): readonly Board[] {
  return scores.map(({ module, score, missing }) => {
    const before = base?.find((one) => one.module === module)?.score ?? null;
    return { module, figures: figuresOf(score, before), missing };
  });
}
