import { grouped } from '../layout';
import { type Cost, type CostResult, gibibytes, type StageCost, totalOf } from './cost';
import { type Diagram, type Key, keysOf, type Paint, type Shape } from './diagram';
import { type Flow, sentOver, traffic } from './flows';
import { widthOf } from './labels';
import { type Pass, scheduleOf } from './schedule';

/** A part of a diagram that begins at 0 and knows how high it is. */
interface Part {
  readonly shapes: readonly Shape[];
  readonly height: number;
}

const STATES: Paint = '#56b4e9';
const ACTIVATIONS: Paint = '#e69f00';
const COMMUNICATORS: Paint = '#cc79a7';
const NVLINK: Paint = '#009e73';
const NETWORK: Paint = '#d55e00';
const FORWARD: Paint = '#56b4e9';
const BACKWARD: Paint = '#e69f00';

/** Text of numbers and names, and of section titles, in pixels. */
const SIZE = 12;
const TITLE = 14;
const LINE = 18;

/** Between two sections, in pixels. */
const BETWEEN = 26;

/** Does it fit, what travels: memory a stage, traffic a group, the schedule of the pipeline, and what is not known. */
export function costDiagram({ cost, reason }: CostResult, width: number): Diagram {
  const parts = cost
    ? [
        memoryPart(cost, width),
        ...(cost.flows.length > 0 ? [trafficPart(cost.flows, width)] : []),
        ...(cost.pipeline ? [pipelinePart(cost.pipeline, width)] : []),
        notesPart(cost, width),
      ]
    : [wrapped(reason, width, 'text')];
  return stacked(parts, width);
}

function stacked(parts: readonly Part[], width: number): Diagram {
  const shapes: Shape[] = [];
  let y = 0;
  for (const part of parts) {
    shapes.push(lowered(part, y));
    y += part.height + BETWEEN;
  }
  return { width, height: Math.max(0, y - BETWEEN), shapes };
}

const lowered = ({ shapes }: Part, y: number): Shape => ({ kind: 'group', y, shapes });

const words = (
  x: number,
  y: number,
  text: string,
  paint: Paint = 'text',
  more: Partial<Extract<Shape, { kind: 'text' }>> = {},
): Shape => ({ kind: 'text', x, y, words: text, size: SIZE, paint, ...more });

const title = (text: string): Shape => words(0, 13, text, 'text', { size: TITLE, weight: 600 });

const n = (value: number): number => Math.round(value * 100) / 100;

/** More stages than this: the fullest are shown. */
const MAX_STAGES = 24;

function memoryPart({ stages, gpuBytes }: Cost, width: number): Part {
  const all = merged(stages);
  const least = all.length > MAX_STAGES ? (all.map(totalOf).sort((a, b) => b - a)[MAX_STAGES - 1] ?? 0) : 0;
  const shown = all.filter((stage) => totalOf(stage) >= least).slice(0, MAX_STAGES);
  const left = Math.min(width * 0.35, Math.max(...shown.map(({ name }) => widthOf(name))) + 12);
  const right = 62;
  const room = Math.max(40, width - left - right);
  const most = 1.02 * Math.max(gpuBytes ?? 0, ...shown.map(({ high }) => high));
  const x = (bytes: number) => left + (room * bytes) / most;
  const top = 42;
  const step = shown.length > 12 ? 22 : 27;
  const rows = shown.flatMap((stage, i) => stageRow(stage, { x, y: top + i * step, width, gpuBytes }));
  const bottom = top + shown.length * step;
  const keys = keysOf(
    [
      { fill: STATES, words: 'states' },
      { fill: ACTIVATIONS, words: 'activations' },
      { fill: COMMUNICATORS, words: 'communicators (outside of torch)' },
      { fill: 'text', words: 'range of nine in ten measured runs' },
    ],
    0,
    bottom + 6,
    width,
  );
  const more =
    all.length > shown.length
      ? [words(0, bottom + keys.height + 20, `the ${shown.length} fullest of ${stages.length} stages`, 'muted')]
      : [];
  return {
    shapes: [
      title('Memory of a rank'),
      ...rows,
      ...(gpuBytes === null ? [] : limit(x(gpuBytes), top, bottom, `${gibibytes(gpuBytes)} a GPU`, width)),
      ...keys.shapes,
      ...more,
    ],
    height: bottom + 6 + keys.height + more.length * LINE,
  };
}

/** Neighbouring stages that need the same are one row: `stage 1 – 14`. */
function merged(stages: readonly StageCost[]): StageCost[] {
  const rows: { first: StageCost; last: StageCost }[] = [];
  for (const stage of stages) {
    const row = rows.at(-1);
    if (row && isAlike(row.first, stage)) {
      row.last = stage;
    } else {
      rows.push({ first: stage, last: stage });
    }
  }
  return rows.map(({ first, last }) => ({
    ...first,
    name: first === last ? first.name : `${first.name} – ${/\d+$/.exec(last.name)?.[0] ?? last.name}`,
  }));
}

const isAlike = (one: StageCost, other: StageCost): boolean =>
  one.name.replace(/\d+$/, '') === other.name.replace(/\d+$/, '') &&
  one.states === other.states &&
  one.activations === other.activations;

interface RowPlace {
  readonly x: (bytes: number) => number;
  readonly y: number;
  readonly width: number;
  readonly gpuBytes: number | null;
}

const BAR = 14;

function stageRow(stage: StageCost, { x, y, width, gpuBytes }: RowPlace): Shape[] {
  const ends = [stage.states, stage.states + stage.activations, totalOf(stage)];
  const bars = [STATES, ACTIVATIONS, COMMUNICATORS].map(
    (fill, i): Shape => ({
      kind: 'rect',
      x: n(x(ends[i - 1] ?? 0)),
      y,
      width: n(x(ends[i] ?? 0) - x(ends[i - 1] ?? 0)),
      height: BAR,
      fill,
    }),
  );
  const over = gpuBytes !== null && totalOf(stage) > gpuBytes;
  const [low, high, middle] = [n(x(stage.low)), n(x(stage.high)), y + BAR + 4];
  const whisker: Shape = {
    kind: 'path',
    d: `M${low} ${middle - 3}L${low} ${middle + 3}M${low} ${middle}L${high} ${middle}M${high} ${middle - 3}L${high} ${middle + 3}`,
    stroke: 'text',
    lineWidth: 1.5,
  };
  return [
    words(0, y + 11, stage.name),
    ...bars,
    whisker,
    words(width, y + 11, gibibytes(totalOf(stage)), over ? 'error' : 'text', {
      anchor: 'end',
      ...(over ? { weight: 600 } : {}),
    }),
  ];
}

/** The line that bars must not cross, with its words above. */
function limit(x: number, top: number, bottom: number, text: string, width: number): Shape[] {
  const half = widthOf(text) / 2;
  return [
    { kind: 'path', d: `M${n(x)} ${top - 5}L${n(x)} ${bottom}`, stroke: 'error', lineWidth: 2 },
    words(Math.min(Math.max(x, half), width - half), top - 9, text, 'text', { anchor: 'middle', weight: 600 }),
  ];
}

/** So many flows are drawn apart; the least of more are one. */
const MAX_FLOWS = 12;

/** How thick all bands are together, and how thin one can be, in pixels. */
const THICKNESS = 110;
const THINNEST = 1.5;
const FLOW_STEP = 24;

function trafficPart(flows: readonly Flow[], width: number): Part {
  const ordered = (['nvlink', 'network'] as const).flatMap((tier) => topFlows(flows, tier));
  const total = ordered.reduce((sum, { bytes }) => sum + bytes, 0);
  const thick = (bytes: number) => Math.max(THINNEST, (THICKNESS * bytes) / total);
  const top = 34;
  const texts = Math.min(width * 0.62, Math.max(...ordered.map((flow) => widthOf(flowText(flow)))) + 12);
  const [start, end] = [Math.min(64, width * 0.18), width - texts];
  const heights = ordered.map(({ bytes }) => Math.max(FLOW_STEP, thick(bytes) + 8));
  const high = heights.reduce((sum, one) => sum + one, 0);
  const source = ordered.reduce((sum, { bytes }) => sum + thick(bytes), 0);
  let from = top + (high - source) / 2;
  const begin = from;
  let to = top;
  const bands = ordered.flatMap((flow, i) => {
    const wide = thick(flow.bytes);
    const middle = to + (heights[i] ?? 0) / 2;
    const band = bandShape([start + 6, from], [end - 10, middle - wide / 2], wide, flow.tier);
    from += wide;
    to += heights[i] ?? 0;
    return [band, words(end, middle + 4, flowText(flow))];
  });
  const keys: Key[] = (['nvlink', 'network'] as const)
    .filter((tier) => sentOver(flows, tier) > 0)
    .map((tier) => ({
      fill: tier === 'nvlink' ? NVLINK : NETWORK,
      words: `${tier === 'nvlink' ? 'over NVLink' : 'over the network'} ${traffic(sentOver(flows, tier))}`,
    }));
  const legend = keysOf(keys, 0, top + high + 8, width);
  return {
    shapes: [
      title('What a rank sends in a step'),
      words(0, begin + source / 2 + 4, 'a rank', 'text', { weight: 600 }),
      { kind: 'rect', x: start, y: n(begin), width: 6, height: n(source), fill: 'text' },
      ...bands,
      ...legend.shapes,
    ],
    height: top + high + 8 + legend.height,
  };
}

const flowText = ({ group, carries, bytes }: Flow): string => `${group} · ${carries} · ${traffic(bytes)}`;

/** The flows over one kind of link, those of one group and content together, the largest first. */
function topFlows(flows: readonly Flow[], tier: Flow['tier']): Flow[] {
  const sums = new Map<string, Flow>();
  for (const flow of flows.filter((one) => one.tier === tier)) {
    const key = `${flow.group}\n${flow.carries}`;
    sums.set(key, { ...flow, bytes: flow.bytes + (sums.get(key)?.bytes ?? 0) });
  }
  const sorted = [...sums.values()].sort((a, b) => b.bytes - a.bytes);
  const rest = sorted.slice(MAX_FLOWS - 1);
  return rest.length > 1
    ? [
        ...sorted.slice(0, MAX_FLOWS - 1),
        { group: `${rest.length} more`, carries: 'together', tier, bytes: sentOver(rest, tier) },
      ]
    : sorted;
}

/** A band from one point to another that leaves and arrives level. */
function bandShape(
  [x0, y0]: readonly [number, number],
  [x1, y1]: readonly [number, number],
  wide: number,
  tier: Flow['tier'],
): Shape {
  const middle = n((x0 + x1) / 2);
  const [a, b, c, d] = [n(y0), n(y1), n(y1 + wide), n(y0 + wide)];
  return {
    kind: 'path',
    d: `M${n(x0)} ${a}C${middle} ${a} ${middle} ${b} ${n(x1)} ${b}L${n(x1)} ${c}C${middle} ${c} ${middle} ${d} ${n(x0)} ${d}Z`,
    fill: tier === 'nvlink' ? NVLINK : NETWORK,
  };
}

/** More stages than this have no room for a row each; more passes than this are too many to draw. */
const MAX_ROWS = 64;
const MAX_PASSES = 6000;

/** A forward pass is so wide where there is room: its micro-batch can be read then. In pixels. */
const PASS = 13;

function pipelinePart(pipeline: NonNullable<Cost['pipeline']>, width: number): Part {
  const { stages, chunks, microbatches, bubble } = pipeline;
  const kind = chunks > 1 ? `interleaved 1F1B, ${chunks} chunks a stage` : '1F1B';
  const head = title('Pipeline schedule');
  const says = `${kind} · ${grouped(microbatches)} micro-batches a step · about ${percent(bubble)} of the step is waiting`;
  const caption = wrapped(says, width, 'muted');
  const from = 18 + caption.height + 6;
  if (stages > MAX_ROWS) {
    return { shapes: [head, lowered(caption, 18)], height: from };
  }
  const left = 62;
  const count = drawnMicrobatches(pipeline, width - left);
  const passes = scheduleOf({ ...pipeline, microbatches: count });
  const end = Math.max(...passes.map((pass) => pass.end));
  const unit = (width - left) / end;
  const step = stages <= 8 ? 22 : stages <= 16 ? 16 : 9;
  const rows = Array.from({ length: stages }, (_, stage) => stage);
  const named = rows.filter((stage) => step >= 14 || stage % 8 === 0);
  const bottom = from + stages * step;
  const keys = keysOf(
    [
      { fill: FORWARD, words: 'forward' },
      { fill: BACKWARD, words: 'backward' },
      ...(chunks > 1 ? [{ fill: FORWARD, fade: 0.6, words: 'paler: later chunks' } as const] : []),
      { fill: 'boxFill', stroke: 'box', words: 'waiting' },
    ],
    0,
    bottom + 8,
    width,
  );
  const note =
    count < microbatches
      ? `Drawn with ${count} of ${grouped(microbatches)} micro-batches; all chunks are drawn equally long.`
      : 'All chunks are drawn equally long.';
  const notes = wrapped(note, width, 'muted');
  return {
    shapes: [
      head,
      lowered(caption, 18),
      ...named.map((stage) => words(0, from + stage * step + step / 2 + 4, `stage ${stage}`)),
      {
        kind: 'rect',
        x: left,
        y: from,
        width: n(width - left),
        height: stages * step - 2,
        fill: 'boxFill',
        stroke: 'box',
      },
      ...passes.flatMap((pass) => passShapes(pass, { left, from, step, unit, chunks })),
      ...keys.shapes,
      lowered(notes, bottom + 8 + keys.height),
    ],
    height: bottom + 8 + keys.height + notes.height,
  };
}

const percent = (share: number): string => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;

/** As many micro-batches as can be read, but enough for the steady state; in whole groups where chunks are interleaved. */
function drawnMicrobatches({ stages, chunks, microbatches, group }: NonNullable<Cost['pipeline']>, room: number) {
  const byWidth = Math.floor((room / PASS - 3 * stages) / (3 * chunks));
  const byNumber = Math.floor(MAX_PASSES / (2 * stages * chunks));
  const unit = chunks > 1 ? Math.max(1, group) : 1;
  const wanted = Math.min(Math.max(byWidth, 2 * stages), byNumber);
  return Math.min(microbatches, Math.max(unit, Math.floor(wanted / unit) * unit));
}

interface Timeline {
  readonly left: number;
  readonly from: number;
  readonly step: number;
  readonly unit: number;
  readonly chunks: number;
}

function passShapes(pass: Pass, { left, from, step, unit, chunks }: Timeline): Shape[] {
  const { stage, chunk, microbatch, isBackward, start, end } = pass;
  const [x, y] = [left + start * unit, from + stage * step];
  const [wide, high] = [(end - start) * unit, step - 2];
  const number = String(microbatch);
  const gap = wide > 5 ? 0.5 : 0;
  const fade = chunk > 0 ? Math.min(0.6, (0.6 * chunk) / Math.max(1, chunks - 1)) : 0;
  return [
    {
      kind: 'rect',
      x: n(x + gap),
      y,
      width: n(wide - 2 * gap),
      height: high,
      fill: isBackward ? BACKWARD : FORWARD,
      ...(fade > 0 ? { fade } : {}),
    },
    ...(high >= 12 && wide > widthOf(number, 10) + 4
      ? [
          words(n(x + wide / 2), n(y + high / 2 + 3.5), number, fade < 0.45 ? '#000000' : 'text', {
            size: 10,
            anchor: 'middle' as const,
          }),
        ]
      : []),
  ];
}

function notesPart({ missing, assumed, seconds }: Cost, width: number): Part {
  const texts = [
    ...(seconds
      ? [
          `A step takes about ${time(seconds.median)} (nine in ten within ${time(seconds.low)} to ${time(seconds.high)}).`,
        ]
      : []),
    ...(missing.length > 0 ? [`Not in the file, and would narrow the estimate: ${missing.join(', ')}.`] : []),
    ...(assumed.length > 0 ? [`Assumed: ${assumed.join('; ')}.`] : []),
  ];
  const parts = texts.map((text) => wrapped(text, width, 'muted'));
  const shapes: Shape[] = [];
  let y = 0;
  for (const part of parts) {
    shapes.push(lowered(part, y));
    y += part.height;
  }
  return { shapes, height: y };
}

const time = (seconds: number): string =>
  seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;

/** A text in as many lines as it needs. */
function wrapped(text: string, width: number, paint: Paint): Part {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(`${line} ${word}`) <= width) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return { shapes: lines.map((line, i) => words(0, 12 + i * LINE, line, paint)), height: lines.length * LINE };
}
