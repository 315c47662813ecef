import { countOf, gapsBetween, grouped, type LayoutFacts, type RankSpan } from '../layout';
import { moduleFill } from './colour';
import type { Diagram, Shape } from './diagram';
import { widthOf } from './labels';

/** A module as far as the file says where it lies: what can be drawn of a layout that is not whole. */
export interface ModuleSpan {
  readonly name: string | null;
  readonly start: number;
  /** How many ranks. */
  readonly count: number;
}

/** What can be drawn of any file: the world, where its size is known, and the modules in it. */
export interface WorldOutline {
  readonly worldSize: number | null;
  readonly spans: readonly ModuleSpan[];
}

/** The world and its modules as far as a file says them. */
export function outlineOf(facts: LayoutFacts | null): WorldOutline {
  const spans = (facts?.modules ?? []).flatMap(({ name, rankOffset: start, ranks: count }) =>
    start === undefined || count === undefined ? [] : [{ name, start, count }],
  );
  return { worldSize: facts?.world.size ?? facts?.world.clusterSize ?? null, spans };
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
  const { spans } = outline;
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
  const shared = spans.length > 1 && spans.every(({ start }) => start === spans[0]?.start);
  return shared
    ? `Every rank is used by all ${countOf(spans.length, 'module')}.`
    : 'Every rank belongs to exactly one module.';
}

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

/** About so many ticks stand under the axis. */
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

/** A row of the diagram, in pixels. */
const ROW = 52;
const BAR = 34;

/** More modules than this are counted. */
const MAX_ROWS = 64;

/** Is every rank used once: a line a module, a line a fault, and the axis of ranks. */
export function worldDiagram(outline: WorldOutline, width: number): Diagram {
  const { reach } = extentOf(outline);
  const modules = outline.spans.map(({ name, start, count }, i) => ({
    name: name ?? 'parallelism',
    span: { start, end: start + count },
    fill: moduleFill(i),
  }));
  const faults = faultsOf(outline).map(({ what, span }) => ({ name: what, span, fill: null }));
  const all = [...modules, ...faults];
  const rows = all.slice(0, MAX_ROWS);
  const left = Math.min(width * 0.3, Math.max(90, ...rows.map(({ name }) => widthOf(name) + 20)));
  const x = (rank: number) => left + ((width - left) * rank) / reach;
  const bottom = rows.length * ROW;
  const axis = ticksOf(reach).map((tick, i, { length }): Shape => {
    const anchor = i === 0 ? {} : ({ anchor: i === length - 1 ? 'end' : 'middle' } as const);
    const at = i === length - 1 && i > 0 ? width : i === 0 ? left : x(tick + 0.5);
    return { kind: 'text', x: at, y: bottom + 12, words: grouped(tick), size: 12, paint: 'muted', ...anchor };
  });
  const more: Shape[] =
    all.length > rows.length
      ? [
          {
            kind: 'text',
            x: 0,
            y: bottom + 34,
            words: `and ${countOf(all.length - rows.length, 'more row')}`,
            size: 12,
            paint: 'muted',
          },
        ]
      : [];
  return {
    width,
    height: bottom + 20 + more.length * 20,
    shapes: [
      ...rows.flatMap(({ name, span, fill }, i): Shape[] => {
        const y = i * ROW;
        const [from, wide] = [x(span.start), Math.max(3, x(span.end) - x(span.start))];
        const text = spanText(span);
        const inside = widthOf(text) + 8 <= wide;
        return [
          {
            kind: 'text',
            x: 0,
            y: y + 15,
            words: name,
            size: 13,
            paint: fill ? 'text' : 'error',
            weight: 600,
          },
          { kind: 'text', x: 0, y: y + 32, words: countOf(span.end - span.start, 'rank'), size: 12, paint: 'muted' },
          { kind: 'rect', x: left, y, width: width - left, height: BAR + 4, fill: 'boxFill', stroke: 'box' },
          {
            kind: 'rect',
            x: from,
            y: y + 2,
            width: wide,
            height: BAR,
            ...(fill ? { fill: `#${fill.slice(1)}` as const } : { fill: 'ground', stroke: 'error' }),
          },
          ...(inside
            ? [
                {
                  kind: 'text',
                  x: from + 6,
                  y: y + 24,
                  words: text,
                  size: 12,
                  paint: fill ? '#000000' : 'text',
                  weight: 600,
                } as const,
              ]
            : []),
        ];
      }),
      ...axis,
      ...more,
    ],
  };
}
