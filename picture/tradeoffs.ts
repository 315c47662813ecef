import { scaleLinear, scaleLog } from 'd3-scale';
import { countOf, gibibytes, grouped, secondsText } from '../layout';
import {
  type Alternative,
  isAsQuick,
  type Neighbour,
  type PlottedAlternatives,
  RANKING_ERROR,
  type RunMark,
  type Score,
} from '../layout/cost';
import { memory } from './cost';
import { type Diagram, keysOf, type Paint, type Shape, stacked, textAt, wrapped } from './diagram';
import type { Headline } from './headline';
import { widthOf } from './labels';

/** A layout beside the one that is looked at. */
export interface Beside {
  readonly title: string;
  readonly score: Score;
}

/** What is weighed: a layout among all others of its model and machine. */
export interface Weighed {
  /** The layout's own score; null where it has none. */
  readonly now: Score | null;
  readonly alternatives: PlottedAlternatives;
  /** What it is compared with. */
  readonly base: Beside | null;
  /** A change that a person looks at. */
  readonly change: Beside | null;
  readonly run: RunMark | null;
}

/** A point of the scatter, for whoever points at it. */
export interface ScatterPoint {
  readonly x: number;
  readonly y: number;
  readonly words: string;
  /** Its place in the front; -1 for others. */
  readonly front: number;
}

/** The scatter with its points. Lengths in pixels. */
export interface Scatter extends Diagram {
  readonly points: readonly ScatterPoint[];
}

const OTHERS: Paint = '#7f8c9b';
const FRONT: Paint = '#0072b2';
const MEASURED: Paint = '#009e73';

/** Beside and below the plot stand the numbers of the axes. */
const LEFT = 52;
const TOP = 22;
const BELOW = 40;

/** How high the plot is: a share of its width, within bounds. */
const HEIGHT = { share: 0.62, least: 190, most: 380 };

/** Alternatives that take so many times as long as the quickest are not drawn, unless the layout itself is slower. */
const SLOWEST_SHARE = 3;

/** Whether a layout fits its machine, how quick others are, and where it stands among them. */
export function tradeoffsHeadline({ now, alternatives }: Pick<Weighed, 'now' | 'alternatives'>, sub: string): Headline {
  if (!alternatives.ok) {
    return { title: `Other layouts are not known: ${alternatives.reason.replaceAll('`', '')}.`, sub };
  }
  const { fitting, asQuick, tried } = alternatives;
  const [quickest] = frontOf(alternatives.points);
  if (!quickest) {
    return { title: `None of ${grouped(tried)} layouts fits. Use more GPUs, or larger ones.`, sub };
  }
  const many = asQuick > 1 ? `; ${grouped(asQuick)} are as quick as the quickest` : '';
  return {
    title:
      `${countOf(fitting, 'layout')} ${fitting === 1 ? 'fits' : 'fit'}${many}. ${standing(now, quickest.seconds)}`.trim(),
    sub,
  };
}

/** The layouts that no other beats in both memory and time, the quickest first. */
export const frontOf = <T extends Pick<Alternative, 'front'>>(points: readonly T[]): readonly T[] =>
  points.filter(({ front }) => front >= 0).toSorted((a, b) => a.front - b.front);

function standing(now: Score | null, quickest: number): string {
  if (now?.seconds == null) {
    return '';
  }
  if (now.gpuBytes !== null && now.totalBytes > now.gpuBytes) {
    return 'Yours does not fit.';
  }
  const share = now.seconds / quickest;
  if (isAsQuick(now.seconds, quickest)) {
    return 'Yours is as quick as any.';
  }
  return share > 1 ? `Yours takes ${share.toFixed(1)} times as long.` : 'Yours is quicker than these.';
}

/** All layouts that fit, memory against step time, with the one that is looked at. */
export function scatterOf(weighed: Weighed, width: number): Scatter {
  const { alternatives } = weighed;
  if (!alternatives.ok) {
    return { width, ...wrapped(UNKNOWN, width, 'text'), points: [] };
  }
  const plot = plotOf(weighed, alternatives, width);
  const { right, bottom } = plot;
  const ground: Shape = {
    kind: 'rect',
    x: LEFT,
    y: TOP,
    width: right - LEFT,
    height: bottom - TOP,
    fill: 'boxFill',
    stroke: 'box',
  };
  const picture = {
    shapes: [
      ground,
      ...axes(plot),
      ...limit(plot, alternatives.gpuBytes),
      ...cloud(plot),
      ...frontLine(plot),
      ...marks(plot, weighed),
    ],
    height: bottom + BELOW,
  };
  const { height, shapes } = stacked([picture, keysOf(keysFor(weighed), width), ...notes(weighed, width)], 6);
  return { width, height, shapes, points: plot.points };
}

const UNKNOWN =
  'Once the file names a model, a batch and a kind of GPU, this view shows every layout that fits, memory against step time.';

interface Plot {
  readonly x: (bytes: number) => number;
  readonly y: (seconds: number) => number;
  readonly xTicks: readonly number[];
  readonly yTicks: readonly number[];
  readonly right: number;
  readonly bottom: number;
  readonly points: readonly (ScatterPoint & { readonly fits: boolean })[];
}

const n = (value: number): number => Math.round(value * 10) / 10;

function plotOf(
  { now, base, change, run }: Weighed,
  { points, gpuBytes }: Extract<PlottedAlternatives, { ok: true }>,
  width: number,
): Plot {
  const marked = [now, base?.score, change?.score].flatMap((score) => (score ? [score] : []));
  const bytes = [...marked.map(({ totalBytes }) => totalBytes), ...(run?.totalBytes ? [run.totalBytes] : [])];
  const times = [...marked.flatMap(({ seconds }) => seconds ?? []), ...(run ? [run.seconds] : [])];
  const quickest = Math.min(...points.map(({ seconds }) => seconds), ...times);
  const slowest = Math.max(quickest * 1.3, ...times.map((seconds) => seconds * 1.15));
  const drawn = points.filter(({ seconds }) => seconds <= Math.max(SLOWEST_SHARE * quickest, slowest));
  const last = Math.max(slowest, ...drawn.map(({ seconds }) => seconds)) * 1.05;
  const right = width - 12;
  const bottom = TOP + Math.min(HEIGHT.most, Math.max(HEIGHT.least, HEIGHT.share * (right - LEFT)));
  const most = Math.max(1.1 * gpuBytes, ...bytes.map((one) => one * 1.05)) / 2 ** 30;
  const x = scaleLinear([0, most], [LEFT, right]);
  // a step twice as long is as far away wherever it stands
  const y = scaleLog([quickest * 0.93, last], [bottom, TOP]);
  const at = (seconds: number) => n(y(seconds));
  const across = (one: number) => n(x(one / 2 ** 30));
  return {
    x: across,
    y: at,
    xTicks: x.ticks(Math.max(3, Math.floor((right - LEFT) / 80))),
    yTicks: timeTicks(y.ticks(6), at),
    right,
    bottom,
    points: drawn
      .filter(({ totalBytes }) => totalBytes / 2 ** 30 <= most)
      .map(({ name, seconds, totalBytes, fits, front }) => ({
        x: across(totalBytes),
        y: at(seconds),
        words: `${name}: ${secondsText(seconds)}, ${memory(totalBytes)}${fits ? '' : ', may not fit'}`,
        front,
        fits,
      })),
  };
}

/** As many ticks of a logarithmic axis as have room for their numbers. */
function timeTicks(ticks: readonly number[], at: (seconds: number) => number): number[] {
  const kept: number[] = [];
  for (const tick of ticks) {
    const before = kept.at(-1);
    if (before === undefined || at(before) - at(tick) >= 16) {
      kept.push(tick);
    }
  }
  return kept;
}

function axes({ x, y, xTicks, yTicks, right, bottom }: Plot): Shape[] {
  const faint = { kind: 'path', stroke: 'box', fade: 0.7 } as const;
  return [
    ...xTicks.flatMap((tick): Shape[] => [
      { ...faint, d: `M${x(tick * 2 ** 30)} ${TOP}L${x(tick * 2 ** 30)} ${bottom}` },
      textAt(x(tick * 2 ** 30), bottom + 15, grouped(tick), { anchor: 'middle', paint: 'muted', size: 11 }),
    ]),
    ...yTicks.flatMap((tick): Shape[] => [
      { ...faint, d: `M${LEFT} ${y(tick)}L${right} ${y(tick)}` },
      textAt(LEFT - 6, y(tick) + 4, secondsText(tick), { anchor: 'end', paint: 'muted', size: 11 }),
    ]),
    textAt(LEFT, TOP - 8, 'step time', { paint: 'muted', size: 11 }),
    textAt((LEFT + right) / 2, bottom + 32, 'memory of the fullest GPU, GiB', {
      anchor: 'middle',
      paint: 'muted',
      size: 11,
    }),
  ];
}

/** The line that a layout must not cross, with its words above. */
function limit({ x, bottom, right }: Plot, gpuBytes: number): Shape[] {
  const words = `${memory(gpuBytes)} a GPU`;
  const at = x(gpuBytes);
  return [
    { kind: 'path', d: `M${at} ${TOP}L${at} ${bottom}`, stroke: 'error', lineWidth: 2 },
    textAt(Math.min(at + widthOf(words, 11) / 2, right), TOP - 8, words, { anchor: 'end', size: 11, weight: 600 }),
  ];
}

/** A dot as two arcs. */
const dot = (x: number, y: number, r: number): string =>
  `M${n(x - r)} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

/** All alternatives as two paths: those that fit, and those that may not. */
function cloud({ points }: Plot): Shape[] {
  const path = (fits: boolean) =>
    points
      .filter((one) => one.fits === fits && one.front < 0)
      .map(({ x, y }) => (fits ? dot(x, y, 2.5) : cross(x, y)))
      .join('');
  return [
    { kind: 'path', d: path(false), stroke: OTHERS, lineWidth: 1.2, fade: 0.3 },
    { kind: 'path', d: path(true), fill: OTHERS, fade: 0.3 },
  ];
}

const diamond = (x: number, y: number, r: number): string =>
  `M${x} ${n(y - r)}L${n(x + r)} ${y}L${x} ${n(y + r)}L${n(x - r)} ${y}Z`;

const triangle = (x: number, y: number, r: number): string =>
  `M${x} ${n(y - r)}L${n(x + r)} ${n(y + r)}L${n(x - r)} ${n(y + r)}Z`;

const cross = (x: number, y: number): string =>
  `M${n(x - 2)} ${n(y - 2)}L${n(x + 2)} ${n(y + 2)}M${n(x - 2)} ${n(y + 2)}L${n(x + 2)} ${n(y - 2)}`;

/** The layouts that no other beats in both, joined. */
function frontLine({ points }: Plot): Shape[] {
  const front = frontOf(points);
  return [
    {
      kind: 'path',
      d: front.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join(''),
      stroke: FRONT,
      lineWidth: 1.5,
    },
    { kind: 'path', d: front.map(({ x, y }) => dot(x, y, 3.5)).join(''), fill: FRONT, stroke: 'ground' },
  ];
}

/** A layout that is marked: where, with what, and its name. */
interface Mark {
  readonly x: number;
  readonly y: number;
  readonly words: string;
  readonly shapes: readonly Shape[];
}

function marks(plot: Plot, { now, base, change, run }: Weighed): Shape[] {
  const all = [
    ...(now ? ownMark(plot, now) : []),
    ...(base ? openMark(plot, base, dot) : []),
    ...(change ? openMark(plot, change, triangle) : []),
    ...(run ? [runMarkOf(plot, run)] : []),
  ];
  // a mark near another one is seen over its name
  return [...labelsOf(all, plot), ...all.flatMap(({ shapes }) => shapes)];
}

/** This layout: its error as an ellipse, and a diamond. */
function ownMark({ x, y }: Plot, { totalBytes, totalInterval, seconds }: Score): Mark[] {
  if (seconds === null) {
    return [];
  }
  const [px, py] = [x(totalBytes), y(seconds)];
  const [left, right] = [px - x(totalInterval[0]), x(totalInterval[1]) - px].map(n);
  const quick = 1 + RANKING_ERROR;
  const [up, down] = [py - y(seconds * quick), y(seconds / quick) - py].map(n);
  const quarters = [
    `M${n(x(totalInterval[0]))} ${py}A${left} ${up} 0 0 1 ${px} ${y(seconds * quick)}`,
    `A${right} ${up} 0 0 1 ${n(x(totalInterval[1]))} ${py}`,
    `A${right} ${down} 0 0 1 ${px} ${y(seconds / quick)}`,
    `A${left} ${down} 0 0 1 ${n(x(totalInterval[0]))} ${py}Z`,
  ];
  return [
    {
      x: px,
      y: py,
      words: 'this layout',
      shapes: [
        { kind: 'path', d: quarters.join(''), stroke: 'text', lineWidth: 1 },
        { kind: 'path', d: diamond(px, py, 8), fill: 'text', stroke: 'ground', lineWidth: 1.5 },
      ],
    },
  ];
}

/** Another layout, as an outline. */
function openMark(
  { x, y }: Plot,
  { title, score }: Beside,
  outline: (x: number, y: number, r: number) => string,
): Mark[] {
  if (score.seconds === null) {
    return [];
  }
  const [px, py] = [x(score.totalBytes), y(score.seconds)];
  const look = { fill: 'ground', stroke: 'text', lineWidth: 2 } as const;
  return [{ x: px, y: py, words: title, shapes: [{ kind: 'path', d: outline(px, py, 6), ...look }] }];
}

/** A measured run; without a measured peak, at the axis of its step time. */
function runMarkOf({ x, y }: Plot, { seconds, totalBytes }: RunMark): Mark {
  const words = `last run: ${secondsText(seconds)}${totalBytes === null ? '' : `, ${memory(totalBytes)}`}`;
  const [px, py] = [totalBytes === null ? LEFT : x(totalBytes), y(seconds)];
  return {
    x: px,
    y: py,
    words,
    shapes: [{ kind: 'path', d: dot(px, py, 6), fill: MEASURED, stroke: 'ground', lineWidth: 1.5 }],
  };
}

/** The names of marks beside them, none over another. */
function labelsOf(all: readonly Mark[], { right, bottom }: Plot): Shape[] {
  const taken: number[] = [];
  return all.flatMap(({ x, y, words }) => {
    const wide = widthOf(words, 12);
    const isLeft = x + 14 + wide > right;
    const from = isLeft ? Math.max(LEFT + 2, x - 14 - wide) : x + 14;
    let line = y + 4;
    while (taken.some((other) => Math.abs(other - line) < 15)) {
      line += 15;
    }
    line = Math.min(line, bottom - 4);
    taken.push(line);
    return [
      {
        kind: 'rect',
        x: n(from - 3),
        y: n(line - 12),
        width: n(wide + 6),
        height: 16,
        fill: 'ground',
        fade: 0.2,
      } as const,
      textAt(n(from), n(line), words, { weight: 600 }),
    ];
  });
}

function keysFor({ now, run }: Weighed): { readonly fill: Paint; readonly words: string }[] {
  return [
    ...(now ? [{ fill: 'text', words: 'this layout, with its error' } as const] : []),
    { fill: FRONT, words: 'no other has less of both' },
    { fill: OTHERS, words: 'other layouts; crosses may not fit' },
    ...(run ? [{ fill: MEASURED, words: 'measured' } as const] : []),
  ];
}

/** What a run says of the estimate. */
function notes({ run }: Weighed, width: number) {
  return run?.timeFactor == null
    ? []
    : [wrapped(`This cluster takes ${run.timeFactor.toFixed(2)} times the estimate.`, width, 'muted')];
}

/** The front and the marked layouts as rows: name, step time, memory. */
export function scatterRows({ now, alternatives, base, change, run }: Weighed): readonly (readonly string[])[] {
  const row = (words: string, seconds: number | null, bytes: number | null) => [
    words,
    seconds === null ? 'not known' : secondsText(seconds),
    bytes === null ? 'not known' : `${gibibytes(bytes)} GiB`,
  ];
  const beside = (one: Beside | null) => (one ? [row(one.title, one.score.seconds, one.score.totalBytes)] : []);
  const front = alternatives.ok ? frontOf(alternatives.points) : [];
  return [
    ...(now ? [row('this layout', now.seconds, now.totalBytes)] : []),
    ...beside(base),
    ...beside(change),
    ...(run ? [row('last run', run.seconds, run.totalBytes)] : []),
    ...front.map(({ name, seconds, totalBytes }) => row(name, seconds, totalBytes)),
  ];
}

/** Keys whose names in a file are longer than a title has room for. */
const SHORT: Readonly<Record<string, string>> = {
  micro_batch_size: 'micro-batch',
  granularity: 'recompute',
  use_distributed_optimizer: 'distributed optimizer',
};

/** A change of one choice: `tp 4 → 2`. */
export function changeTitle({ key, from, to }: Pick<Neighbour, 'key' | 'from' | 'to'>): string {
  const name = key.slice(key.indexOf('.') + 1);
  return `${SHORT[name] ?? name} ${from} → ${to}`;
}
