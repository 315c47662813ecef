import { gibibytes, grouped } from '../layout';
import { isAsQuick, type ModuleScore, type Score } from '../layout/cost';
import { memory, time } from './cost';
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

/** The numbers that decide between layouts, with their differences to a base. */
export function figuresOf(now: Score | null, base: Score | null): readonly Figure[] {
  return [stepFigure(now, base), memoryFigure(now, base), ...restOf(now, base)];
}

const UNKNOWN = { value: null, range: null, change: null, verdict: null, alarm: null } as const;

/** Step times that the estimate cannot tell apart are the same. */
function stepFigure(now: Score | null, base: Score | null): Figure {
  const label = 'step';
  if (now?.seconds == null) {
    return { label, ...UNKNOWN };
  }
  const before = base?.seconds ?? null;
  return {
    label,
    value: time(now.seconds),
    range: now.secondsInterval && rangeOf(now.secondsInterval, time),
    change: before === null ? null : percentChange(before, now.seconds),
    verdict: before === null ? null : isAsQuick(before, now.seconds) ? 'same' : lessIsBetter(before, now.seconds),
    alarm: null,
  };
}

function memoryFigure(now: Score | null, base: Score | null): Figure {
  const label = 'memory';
  if (!now) {
    return { label, ...UNKNOWN };
  }
  const { totalBytes, totalInterval, gpuBytes } = now;
  const over = gpuBytes !== null && totalBytes > gpuBytes;
  const change = base && gibibyteChange(base.totalBytes, totalBytes);
  return {
    label,
    value: gpuBytes === null ? memory(totalBytes) : `${gibibytes(totalBytes)} of ${memory(gpuBytes)}`,
    // the value has the unit
    range: rangeOf(totalInterval, gibibytes),
    change,
    verdict: base && (change === SAME ? 'same' : lessIsBetter(base.totalBytes, totalBytes)),
    alarm: over ? 'over' : gpuBytes !== null && totalInterval[1] > gpuBytes ? 'maybe' : null,
  };
}

function restOf(now: Score | null, base: Score | null): readonly Figure[] {
  const share = (value: number) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
  const points = (before: number, after: number) =>
    signed(100 * (after - before), (value) => `${value.toFixed(1)} points`);
  return [
    figure('network', {
      now: now?.networkBytes ?? null,
      before: base?.networkBytes ?? null,
      words: (bytes) => (bytes === 0 ? 'none' : `${traffic(bytes)} a step`),
      change: (before, after) => signed(after - before, traffic),
      verdict: lessIsBetter,
    }),
    figure('tokens/s/GPU', {
      now: now?.tokensPerSecondPerGpu ?? null,
      before: base?.tokensPerSecondPerGpu ?? null,
      words: (value) => grouped(Math.round(value)),
      change: percentChange,
      verdict: (before, after) => (isAsQuick(before, after) ? 'same' : lessIsBetter(after, before)),
    }),
    figure('MFU', {
      now: now?.mfu ?? null,
      before: base?.mfu ?? null,
      words: share,
      change: points,
      verdict: (before, after) => (isAsQuick(before, after) ? 'same' : lessIsBetter(after, before)),
    }),
    figure('bubble', {
      now: now?.bubble ?? null,
      before: base?.bubble ?? null,
      words: share,
      change: points,
      verdict: lessIsBetter,
    }),
  ];
}

interface Numbers {
  readonly now: number | null;
  readonly before: number | null;
  readonly words: (value: number) => string;
  readonly change: (before: number, after: number) => string;
  readonly verdict: (before: number, after: number) => Verdict;
}

function figure(label: Figure['label'], { now, before, words, change, verdict }: Numbers): Figure {
  if (now === null) {
    return { label, ...UNKNOWN };
  }
  const changed = before === null ? null : change(before, now);
  return {
    label,
    value: words(now),
    range: null,
    change: changed,
    verdict: before === null ? null : changed === SAME ? 'same' : verdict(before, now),
    alarm: null,
  };
}

/** The sign of no visible difference. */
export const SAME = '=';

const lessIsBetter = (before: number, after: number): Verdict =>
  after < before ? 'better' : after > before ? 'worse' : 'same';

const rangeOf = ([low, high]: readonly [number, number], words: (value: number) => string): string =>
  `${words(low).replace(/ \D+$/, '')} – ${words(high)}`;

/** A difference with its sign; `=` where it is too small to be written. */
function signed(difference: number, words: (size: number) => string): string {
  const text = words(Math.abs(difference));
  return Number.parseFloat(text) === 0 ? SAME : `${difference < 0 ? '−' : '+'}${text}`;
}

/** A difference as a share of what was before: `−18 %`. */
export const percentChange = (before: number, after: number): string =>
  signed((100 * (after - before)) / before, (share) => `${Math.round(share)} %`);

/** A difference of memory: `+9 GiB`. */
export const gibibyteChange = (before: number, after: number): string => signed(after - before, memory);

/** The figures of one module of a layout. */
export interface Board {
  /** Null for a layout without modules. */
  readonly module: string | null;
  readonly figures: readonly Figure[];
  /** Why numbers are not known; null where all are. */
  readonly reason: string | null;
  /** Keys that would tell what is not known. */
  readonly missing: readonly string[];
}

/** A scoreboard a module, beside the module of the same name of a base. */
export function boardsOf(scores: readonly ModuleScore[], base: readonly ModuleScore[] | null): readonly Board[] {
  return scores.map(({ module, score, reason, missing }) => {
    const before = base?.find((one) => one.module === module)?.score ?? null;
    return { module, figures: figuresOf(score, before), reason, missing };
  });
}
