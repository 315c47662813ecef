import {
  both,
  gibibytes,
  grouped,
  type KeyDifference,
  type KeyValue,
  keyDifferences,
  type ResolvedLayout,
  secondsText,
} from '../layout';
import { isAsQuick, type ModuleScore, type Score } from '../layout/cost';
import { changesInWords } from './changes';
import { type Figure, figuresOf, SAME } from './scoreboard';

/** What is compared of a layout: plain data of a few KB. */
export interface Comparable {
  readonly layout: ResolvedLayout;
  readonly values: readonly KeyValue[];
  /** Scores by module. */
  readonly scores: readonly ModuleScore[];
}

/** One number of the scoreboards of two layouts, in words. */
export interface FigurePair {
  /** The module; null for a layout without modules. */
  readonly module: string | null;
  readonly label: Figure['label'];
  /** Null where it is not known. */
  readonly before: string | null;
  readonly after: string | null;
  /** The difference, as `−18 %`; `=` where it is too small to be written, null where one of the two is not known. */
  readonly change: string | null;
  readonly verdict: Figure['verdict'];
}

/** How two layouts differ: what every front end prints. */
export interface Comparison {
  /** The changed keys alone: `tp 8 → 4`. */
  readonly changed: string;
  /** `tp 8 → 4: memory 31 → 44 GiB, step 5.9 → 4.8 s, network +3.1 GB`. */
  readonly headline: string;
  /** Every key whose value differs. */
  readonly keys: readonly KeyDifference[];
  readonly figures: readonly FigurePair[];
  /** Why the cost of one of them is not known, a sentence each. */
  readonly unknown: readonly string[];
  /** What follows for degrees and process groups: `tp 4 → 2, dp 4 → 8`. */
  readonly words: readonly string[];
}

/** Compares two layouts by their keys, their cost and their ranks. */
export function comparisonOf(before: Comparable, after: Comparable): Comparison {
  const keys = keyDifferences(before.values, after.values);
  const isSame = keys.length === 0;
  const changed = changedText(keys);
  const costs = isSame ? [] : costChanges(before.scores, after.scores);
  return {
    changed,
    headline: costs.length > 0 ? `${changed}: ${costs.join(', ')}` : changed,
    keys,
    figures: isSame ? [] : pairsOf(before.scores, after.scores),
    unknown: isSame ? [] : unknownTexts(before.scores, after.scores),
    words: changesInWords(before.layout, after.layout),
  };
}

/** A key that one of two layouts has, and the other one not. */
export const NOT_SET = 'not set';

/** The longest value of a key that is shown, in characters. */
const LONGEST_VALUE = 60;

/** A value of a key as it is shown. */
export function valueText(value: string | null): string {
  const text = value ?? NOT_SET;
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text;
}

/** Sections whose keys are known by their own names. */
const WELL_KNOWN = new Set(['parallelism', 'batch', 'sequence', 'modules']);

/** A key as short as it is clear: `tp`, `vision.tp`, `model.num_layers`. */
function shortName([section = '', ...rest]: readonly string[]): string {
  return WELL_KNOWN.has(section) && rest.length > 0 ? rest.join('.') : [section, ...rest].join('.');
}

/** Keys that change nothing in a run. */
const TITLES = new Set(['name', 'description', 'layout']);

/** So many keys are named in a headline. */
const MAX_NAMED = 3;

function changedText(keys: readonly KeyDifference[]): string {
  if (keys.length === 0) {
    return 'The layouts have the same values.';
  }
  const telling = keys.filter(({ path: [first = ''] }) => !TITLES.has(first));
  const all = telling.length > 0 ? telling : keys;
  const named = all.slice(0, MAX_NAMED);
  const more = all.length - named.length;
  return [
    ...named.map((key) => `${shortName(key.path)} ${valueText(key.before)} → ${valueText(key.after)}`),
    ...(more > 0 ? [`${grouped(more)} more ${more === 1 ? 'key' : 'keys'}`] : []),
  ].join(', ');
}

/** Memory and step time before and after, and how much more travels over the network; of several modules, the fullest. */
function costChanges(before: readonly ModuleScore[], after: readonly ModuleScore[]): readonly string[] {
  const [old, now] = [before, after].map(fullestScore);
  if (!old || !now) {
    return [];
  }
  const memory = `memory ${arrow(gibibytes(old.totalBytes), gibibytes(now.totalBytes), 'GiB')}${fitText(now)}`;
  if (before.length > 1 || after.length > 1) {
    return [memory];
  }
  const network = figuresOf(now, old).find(({ label }) => label === 'network')?.change ?? SAME;
  return [memory, ...stepChange(old.seconds, now.seconds), `network ${network === SAME ? 'the same' : network}`];
}

/** The score of the module that needs most memory; null where one is not known. */
function fullestScore(scores: readonly ModuleScore[]): Score | null {
  const known = scores.flatMap(({ score }) => score ?? []);
  const [fullest] = known.toSorted((a, b) => b.totalBytes - a.totalBytes);
  return fullest && known.length === scores.length ? fullest : null;
}

/** Says that a layout does not fit its GPU, or not by the middle of its range. */
function fitText({ totalBytes, totalInterval, gpuBytes }: Score): string {
  if (gpuBytes === null || totalBytes <= gpuBytes) {
    return '';
  }
  const probably = totalInterval[0] > gpuBytes ? '' : 'probably ';
  return ` (${probably}does not fit ${gibibytes(gpuBytes)})`;
}

function stepChange(before: number | null, after: number | null): string[] {
  if (before === null || after === null) {
    return [];
  }
  const [from = '', unit] = secondsText(before).split(' ');
  const [to = '', unitTo = ''] = secondsText(after).split(' ');
  const step = unit === unitTo ? arrow(from, to, unitTo) : `${secondsText(before)} → ${secondsText(after)}`;
  return [`step ${step}${from !== to && isAsQuick(before, after) ? ' (as quick, by this estimate)' : ''}`];
}

/** `31 → 44 GiB`; `31 GiB` where both are the same. */
const arrow = (before: string, after: string, unit: string): string =>
  before === after ? `${after} ${unit}` : `${before} → ${after} ${unit}`;

/** The figures of each module of either layout. */
function pairsOf(before: readonly ModuleScore[], after: readonly ModuleScore[]): FigurePair[] {
  const modules = [...new Set([...after, ...before].map(({ module }) => module))];
  return modules.flatMap((module) => {
    const [was, is] = [before, after].map((scores) => scores.find((one) => one.module === module)?.score ?? null);
    const old = figuresOf(was ?? null, null);
    return figuresOf(is ?? null, was ?? null).flatMap(({ label, value, change, verdict }, i) => {
      const previous = old[i]?.value ?? null;
      return value === null && previous === null
        ? []
        : [{ module, label, before: previous, after: value, change, verdict }];
    });
  });
}

/** Why costs are not known, one sentence a reason. */
function unknownTexts(before: readonly ModuleScore[], after: readonly ModuleScore[]): string[] {
  const whose = new Map<string, string[]>();
  for (const [scores, others, layout] of [
    [before, after, 'the first layout'],
    [after, before, 'the second layout'],
  ] as const) {
    for (const { module, reason } of scores) {
      const isBoth = others.some((other) => other.module === module && other.reason === reason);
      const where = isBoth ? 'both layouts' : layout;
      const subject = module === null ? where : isBoth ? module : `${module} in ${layout}`;
      if (reason !== null && !whose.get(reason)?.includes(subject)) {
        whose.set(reason, [...(whose.get(reason) ?? []), subject]);
      }
    }
  }
  return [...whose].map(([reason, subjects]) => `The cost of ${both(subjects)} is not known: ${reason}.`);
}
