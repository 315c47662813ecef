import {
  countOf,
  gapsBetween,
  grouped,
  type LayoutFacts,
  phaseSpans,
  type RankSpan,
  valueOr,
  weightUpdateLines,
  weightUpdates,
} from '../layout';
import { inkOn, moduleFill } from './colour';
import { type Diagram, type Paint, type Part, type Shape, stacked, textAt, titleAt, wrapped } from './diagram';
import { productText } from './headline';
import { shortened, widthOf } from './labels';

/** A module as far as the file says where it lies: what can be drawn of a layout that is not whole. */
export interface ModuleSpan {
  readonly name: string | null;
  readonly start: number;
  /** How many ranks. */
  readonly count: number;
}

/** A phase of a reinforcement-learning job. */
export interface PhaseRow extends ModuleSpan {
  readonly name: string;
  readonly engine: string;
  /** `tp 4 × dp 8`; empty for a replica a rank on one rank. */
  readonly degrees: string;
  /** Whether it has GPUs of its own, which are drawn behind those of the world. */
  readonly isApart: boolean;
}

/** What can be drawn of any file: the world, where its size is known, the modules in it, and the phases. */
export interface WorldOutline {
  readonly worldSize: number | null;
  readonly spans: readonly ModuleSpan[];
  readonly phases: readonly PhaseRow[];
  /** How new weights reach the engines, a line each. */
  readonly weights: readonly string[];
}

/** The world and its modules as far as a file says them. */
export function outlineOf(facts: LayoutFacts | null): WorldOutline {
  const spans = (facts?.modules ?? []).flatMap(({ name, rankOffset: start, ranks: count }) =>
    start === undefined || count === undefined ? [] : [{ name, start, count }],
  );
  return {
    worldSize: facts?.world.size ?? facts?.world.clusterSize ?? null,
    spans,
    phases: facts ? phaseRows(facts) : [],
    weights: facts ? weightUpdates(facts).flatMap(weightUpdateLines) : [],
  };
}

function phaseRows(facts: LayoutFacts): PhaseRow[] {
  return Array.from(phaseSpans(facts), ({ field: { name }, phase, start, end, isApart }) => {
    const count = end - start;
    const sizes = (['tp', 'gtp_remat', 'cp', 'pp', 'ep'] as const).map((dim) => ({
      name: dim,
      size: valueOr(phase[dim], 1) ?? 1,
    }));
    const dense = sizes.slice(0, -1);
    const dp = count / dense.reduce((product, { size }) => product * size, 1);
    const all = [...dense.slice(0, -1), { name: 'dp', size: Number.isInteger(dp) ? dp : 1 }, ...dense.slice(-1)];
    const degrees = [productText(all), productText(sizes.slice(-1))].filter(Boolean).join(', ');
    return { name, engine: valueOr(phase.engine, 'megatron') ?? 'megatron', start, count, degrees, isApart };
  });
}

/** Ranks that no module has, that several have, or that lie beyond the world. */
export interface WorldFault {
  readonly span: RankSpan;
  readonly what: string;
}

/** How many ranks the world has, and how far the modules reach. */
export function extentOf({ worldSize, spans }: WorldOutline): { world: number; reach: number } {
  const ends = spans.map(({ start, count }) => start + count);
  const world = worldSize ?? Math.max(0, ...ends);
  return { world, reach: Math.max(1, world, ...ends) };
}

/** Where the axis of ranks ends: behind the engines that have GPUs of their own. */
export function axisEnd(outline: WorldOutline): number {
  return Math.max(extentOf(outline).reach, ...outline.phases.map(({ start, count }) => start + count));
}

/** All that keeps the modules from using every rank once. */
export function faultsOf(outline: WorldOutline): WorldFault[] {
  const { world, reach } = extentOf(outline);
  const covered = coveredBy(outline);
  return [
    ...gapsBetween(covered, world).map((span) => ({ span, what: 'no module' })),
    ...overlaps(covered).map((span) => ({ span, what: 'several modules' })),
    ...(reach > world ? [{ span: { start: world, end: reach }, what: 'beyond the world' }] : []),
  ];
}

const coveredBy = ({ spans }: WorldOutline): RankSpan[] =>
  spans.map(({ start, count }) => ({ start, end: start + count }));

/** Whether every rank is used once, in one line. */
export function worldSentence(outline: WorldOutline): string {
  const { spans, phases } = outline;
  const covered = coveredBy(outline);
  const { world } = extentOf(outline);
  const count = (found: readonly RankSpan[]) => found.reduce((sum, { start, end }) => sum + end - start, 0);
  const [none, several] = [count(gapsBetween(covered, world)), count(overlaps(covered))];
  const faults = [
    ...(none > 0 ? [`${countOf(none, 'rank')} ${none === 1 ? 'belongs' : 'belong'} to no module`] : []),
    ...(several > 0 ? [`${countOf(several, 'rank')} ${several === 1 ? 'belongs' : 'belong'} to several modules`] : []),
    ...(covered.some(({ end }) => end > world) ? [`a module reaches beyond ${countOf(world, 'rank')}`] : []),
  ];
  if (faults.length > 0) {
    return `${faults.join('; ')}.`;
  }
  if (spans.length === 1) {
    return phases.length > 0 ? phaseSentence(outline) : 'One grid uses every rank.';
  }
  const shared = spans.length > 1 && spans.every(({ start }) => start === spans[0]?.start);
  return shared
    ? `Every rank is used by all ${countOf(spans.length, 'module')}.`
    : 'Every rank belongs to exactly one module.';
}

/** More sets of ranks that phases share are counted. */
const MAX_SHARED = 3;

/** Which phases share ranks: `train and reference take turns on ranks 0 – 63; rollout runs on ranks 64 – 127.` */
function phaseSentence({ worldSize, phases }: WorldOutline): string {
  const spans = phases.filter((one, i) => phases.findIndex((other) => isSameSpan(one, other)) === i);
  if (spans.length > MAX_SHARED) {
    return `${countOf(phases.length, 'phase')} on ${grouped(spans.length)} sets of ranks.`;
  }
  const parts = spans.map((span) => {
    const { start, count } = span;
    const ranks = spanText({ start, end: start + count });
    const where = count === worldSize ? 'all ranks' : `${count === 1 ? 'rank' : 'ranks'} ${ranks}`;
    const names = phases.filter((one) => isSameSpan(one, span)).map(({ name }) => name);
    if (span.isApart) {
      return `${names.join(' and ')} ${names.length === 1 ? 'has' : 'have'} ${countOf(count, 'GPU')} apart`;
    }
    return names.length === 1
      ? `${names[0]} runs on ${where}`
      : `${names.slice(0, -1).join(', ')} and ${names.at(-1)} take turns on ${where}`;
  });
  return `${parts.join('; ')}.`;
}

const isSameSpan = (one: ModuleSpan, other: ModuleSpan): boolean =>
  one.start === other.start && one.count === other.count;

/** The ranks that more than one span covers, unless all cover the same ones. */
function overlaps(spans: readonly RankSpan[]): RankSpan[] {
  const [first] = spans;
  if (spans.every(({ start, end }) => start === first?.start && end === first.end)) {
    return [];
  }
  const found: RankSpan[] = [];
  let covered = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start < covered) {
      found.push({ start, end: Math.min(end, covered) });
    }
    covered = Math.max(covered, end);
  }
  return found;
}

/** About so many ticks are on the axis. */
const TICKS = 5;

/** Round ranks along the axis: multiples of a power of two, and the last rank. */
export function ticksOf(reach: number): number[] {
  const power = 2 ** Math.max(0, Math.round(Math.log2(reach / (TICKS - 1))));
  const steps = Array.from({ length: Math.ceil(reach / power) }, (_, i) => i * power);
  // the last rank has a tick of its own, and room for it
  return [...steps.filter((tick) => tick === 0 || tick + power / 2 < reach), reach - 1].filter(
    (tick, i, all) => all.indexOf(tick) === i,
  );
}

/** Ranks as text: `0 – 3`. */
export const spanText = ({ start, end }: RankSpan): string =>
  end - start > 1 ? `${grouped(start)} – ${grouped(end - 1)}` : grouped(start);

/** One line of the diagram: the ranks of a module or a phase, or a fault, which has no fill. */
interface Row {
  readonly name: string;
  /** The line under the name. */
  readonly detail: string;
  readonly span: RankSpan;
  readonly fill: `#${string}` | null;
  /** The texts for the bar, the longest first; the last may stand beside it. */
  readonly words: readonly string[];
}

/** A row of the diagram and the bar in it, in pixels. */
const ROW = 52;
const BAR = 34;

/** More modules than this are counted. */
const MAX_ROWS = 64;

/** Is every rank used once: a line a module, a line a fault, a line a phase, and the axis of ranks. */
export function worldDiagram(outline: WorldOutline, width: number): Diagram {
  const reach = axisEnd(outline);
  const rowOf = ({ name, start, count }: ModuleSpan, index: number): Row => ({
    name: name ?? 'parallelism',
    detail: countOf(count, 'rank'),
    span: { start, end: start + count },
    fill: moduleFill(index),
    words: [spanText({ start, end: start + count })],
  });
  const faults = faultsOf(outline).map(({ what, span: { start, end } }) => ({
    ...rowOf({ name: what, start, count: end - start }, 0),
    fill: null,
  }));
  const modules = [...outline.spans.map(rowOf), ...faults];
  const phases = outline.phases.map((phase, i): Row => {
    const row = rowOf(phase, outline.spans.length + i);
    const words = phase.degrees === '' ? row.words : [`${row.words[0]} · ${phase.degrees}`, ...row.words];
    return {
      ...row,
      detail: `${phase.engine} · ${phase.isApart ? countOf(phase.count, 'own GPU') : row.detail}`,
      words,
    };
  });
  const rows = [...modules.slice(0, MAX_ROWS), ...phases.slice(0, MAX_ROWS)];
  const texts = rows.flatMap(({ name, detail }) => [widthOf(name, NAME_SIZE) * 1.08, widthOf(detail)]);
  const left = Math.min(width * 0.35, Math.max(80, ...texts) + 14);
  const x = (rank: number) => left + ((width - left) * rank) / reach;
  const part = (all: readonly Row[]) => rowParts(all, { left, width, x });
  const title = { shapes: [titleAt(0, 'Phases')], height: 26 };
  const parts = [...part(modules), ...(phases.length > 0 ? [title, ...part(phases)] : [])];
  const weights = outline.weights.map((line) => wrapped(line, width, 'muted'));
  return { width, ...stacked([...parts, axisPart(reach, { left, width, x }), ...weights]) };
}

/** Where the bars of a diagram begin and end, and where the bar of a rank begins, in pixels. */
interface Axis {
  readonly left: number;
  readonly width: number;
  readonly x: (rank: number) => number;
}

const NAME_SIZE = 13;

function rowParts(rows: readonly Row[], axis: Axis): Part[] {
  const shown = rows.slice(0, MAX_ROWS).map((row) => ({ shapes: rowShapes(row, axis), height: ROW }));
  const left = rows.length - shown.length;
  return left > 0 ? [...shown, wrapped(`and ${countOf(left, 'more row')}`, axis.width, 'muted')] : shown;
}

const MUTED = { paint: 'muted' } as const;

function rowShapes({ name, detail, span, fill, words }: Row, { left, width, x }: Axis): Shape[] {
  const [from, wide] = [x(span.start), Math.max(3, x(span.end) - x(span.start))];
  const bar = fill ? { fill } : ({ fill: 'ground', stroke: 'error' } as const);
  return [
    textAt(0, 15, shortened(name, left - 10, NAME_SIZE * 1.08), {
      size: NAME_SIZE,
      paint: fill ? 'text' : 'error',
      weight: 600,
    }),
    textAt(0, 32, shortened(detail, left - 10), MUTED),
    { kind: 'rect', x: left, y: 0, width: width - left, height: BAR + 4, fill: 'boxFill', stroke: 'box' },
    { kind: 'rect', x: from, y: 2, width: wide, height: BAR, ...bar },
    ...barText(words, { from, to: from + wide, left, right: width }, fill ? inkOn(fill) : 'text'),
  ];
}

/** The longest text that fits a bar, or the shortest one beside it; none where there is no room. */
function barText(
  words: readonly string[],
  { from, to, left, right }: Readonly<Record<'from' | 'to' | 'left' | 'right', number>>,
  ink: Paint,
): Shape[] {
  const inside = words.find((text) => widthOf(text) * 1.08 + 12 <= to - from);
  if (inside !== undefined) {
    return [textAt(from + 6, 24, inside, { paint: ink, weight: 600 })];
  }
  const beside = words.at(-1) ?? '';
  const room = widthOf(beside) + 12;
  if (to + room <= right) {
    return [textAt(to + 6, 24, beside)];
  }
  return from - room >= left ? [textAt(from - 6, 24, beside, { anchor: 'end' })] : [];
}

function axisPart(reach: number, { left, width, x }: Axis): Part {
  const shapes = ticksOf(reach).map((tick, i, { length }) => {
    const isLast = i === length - 1 && i > 0;
    const anchor = i === 0 ? {} : ({ anchor: isLast ? 'end' : 'middle' } as const);
    return textAt(isLast ? width : i === 0 ? left : x(tick + 0.5), 12, grouped(tick), { ...MUTED, ...anchor });
  });
  return { shapes, height: 20 };
}
