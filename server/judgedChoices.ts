import {
  type Checked,
  check,
  crossings,
  type Diagnostic,
  denseGrid,
  expertGrid,
  gibibytes,
  nodeOf,
  placedModules,
  type Score,
  scoreOf,
  secondsText,
} from '../layout';
import { moduleAt } from './describe';
import { neededText } from './scoreText';
import type { Choice } from './valueChoices';

/** A choice that no rule refuses, with what would follow from it. */
export interface JudgedChoice extends Choice {
  /** What the layout would cost, in a sentence or two, and its first warning; null where neither is known. */
  readonly explanation: string | null;
}

/** The place of a value, and how a choice is put there. */
export interface ChoicePlace {
  /** The file as it is. */
  readonly checked: Checked;
  readonly path: readonly string[];
  /** What stands there now; empty where nothing does. */
  readonly present: string;
  /** The file with a choice, and the offset at which the choice begins. */
  readonly withChoice: (value: string) => { readonly text: string; readonly start: number };
}

/** The most values that are tried out, and how much text is checked for all of them: some 20 ms. */
const MAX_TRIES = 24;
const MAX_CHECKED_TEXT = 100_000;

/** Fewer tries than this would hide more than they tell. */
const LEAST_TRIES = 3;

/**
 * The choices that `check` does not refuse, the best first: those that fit the GPU, then those without warnings, then the quickest. Of many numbers, those
 * around the present one are tried; in a text so long that few can be, and of many names, all are given as they are.
 */
export function judgedChoices(choices: readonly Choice[], place: ChoicePlace): readonly JudgedChoice[] {
  const tries = Math.min(MAX_TRIES, Math.floor(MAX_CHECKED_TEXT / Math.max(1, place.checked.text.length)));
  const isNumeric = choices.every(({ value }) => /^\d+$/.test(value));
  if (tries < Math.min(LEAST_TRIES, choices.length) || (choices.length > tries && !isNumeric)) {
    return choices.map((choice) => ({ ...choice, explanation: null }));
  }
  const tried = nearest(choices, place.present, tries).map((choice) => tryOut(choice, place));
  const least = Math.min(...tried.map(({ errors }) => errors.length));
  const sound = tried.filter(({ errors, isFaulty }) => errors.length === least && !isFaulty);
  const isDecided = isDecision(place.path);
  const isWeighed = isDecided || new Set(sound.map(({ score }) => `${score?.totalBytes} ${score?.seconds}`)).size > 1;
  return sound
    .toSorted((a, b) => (isDecided ? worse(a, b) : a.warnings.length - b.warnings.length))
    .map((one) => explained(one, place.path, isWeighed));
}

/** Keys by which one decides how a job runs; the others say what the job is, and no value of theirs is better. */
const DECIDING_KEYS = new Set(['micro_batch_size', 'use_distributed_optimizer', 'sequence_parallel']);

function isDecision(path: readonly string[]): boolean {
  const [section = '', , inner = ''] = path;
  const isGrid = section === 'parallelism' || (section === 'modules' && inner !== 'model' && inner !== 'sequence');
  return isGrid || section === 'recompute' || DECIDING_KEYS.has(path.at(-1) ?? '');
}

/** The choices around the one that is there, in their order. */
function nearest(choices: readonly Choice[], present: string, most: number): readonly Choice[] {
  const from = choices.findIndex(({ value }) => Number(value) >= Number(present));
  const start = Math.max(0, Math.min(from - (most >> 1), choices.length - most));
  return choices.slice(start, start + most);
}

/** A choice in the file. */
interface Tried {
  readonly choice: Choice;
  readonly checked: Checked;
  readonly errors: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** Whether an error stands at the choice itself. */
  readonly isFaulty: boolean;
  readonly score: Score | null;
}

function tryOut(choice: Choice, { checked: now, withChoice }: ChoicePlace): Tried {
  const { text, start } = withChoice(choice.value);
  const checked = text === now.text ? now : check(text, now.levels);
  const of = (severity: string) => checked.diagnostics.filter((one) => one.severity === severity);
  const errors = of('error');
  const isFaulty = errors.some(({ span }) => span.start >= start && span.end <= start + choice.value.length);
  return { choice, checked, errors, warnings: of('warning'), isFaulty, score: scoreOf(checked) };
}

/** Orders by whether the GPU holds it, then by warnings, then by step time, each as far as it is known. */
function worse(a: Tried, b: Tried): number {
  const over = ({ score }: Tried) => (score?.gpuBytes != null && score.totalBytes > score.gpuBytes ? 1 : 0);
  const time = ({ score }: Tried) => score?.seconds ?? 0;
  return over(a) - over(b) || a.warnings.length - b.warnings.length || time(a) - time(b);
}

function explained({ choice, checked, warnings, score }: Tried, path: readonly string[], isWeighed: boolean) {
  const words = [
    choice.leadsTo,
    ...(score && isWeighed ? [neededText(score), score.seconds === null ? '' : `~${secondsText(score.seconds)}`] : []),
    reachText(checked, path),
  ].filter((text) => text !== undefined && text !== '');
  const sentences = [
    ...(score && isWeighed ? [costText(score)] : []),
    ...warnings.slice(0, 1).map(({ message }) => message),
  ];
  return {
    value: choice.value,
    ...(words.length > 0 && { leadsTo: words.join(' · ') }),
    explanation: sentences.length > 0 ? sentences.join('\n\n') : null,
  };
}

/** What the layout costs, with the ranges in which nine of ten measured runs lie. */
function costText({ totalBytes, totalInterval, gpuBytes, seconds, secondsInterval }: Score): string {
  const [low, high] = totalInterval.map(gibibytes);
  const gpu = gpuBytes === null ? '' : ` of ${gibibytes(gpuBytes)}`;
  const memory = `About ${gibibytes(totalBytes)} GiB a GPU (${low} to ${high})${gpu}`;
  const [fast, slow] = secondsInterval?.map(secondsText) ?? [];
  const time = seconds === null ? '' : `; a step takes about ${secondsText(seconds)} (${fast} to ${slow})`;
  return `${memory}${time}, by estimate.`;
}

/** Whether the groups of a degree stay on one node; empty where that is not known, or it makes no groups. */
function reachText({ facts }: Checked, path: readonly string[]): string {
  const key = path.at(-1) ?? '';
  const module = facts && moduleAt(facts, path);
  const placed = facts && placedModules(facts).find((one) => one.module === module);
  const grid =
    placed &&
    [denseGrid, expertGrid]
      .map((make) => make(placed.resolved))
      .find(({ axes }) => axes.some(({ name, size }) => name === key && size > 1));
  if (!placed || !grid) {
    return '';
  }
  const { label, size } = nodeOf(placed.layout);
  return crossings(grid, [key], size, placed.borders).first ? `across ${label}s` : `in ${label}`;
}
