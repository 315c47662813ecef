import { grouped } from '../layout';
import { type Cost, type CostResult, gibibytes, type StageCost, totalOf } from './cost';
import {
  type Diagram,
  type Key,
  keysOf,
  lowered,
  type Paint,
  type Part,
  type Shape,
  stacked,
  textAt,
  titleAt,
  whisker,
  wrapped,
} from './diagram';
import { type Flow, sentOver, traffic } from './flows';
import { widthOf } from './labels';
import { type Pass, scheduleOf } from './schedule';

const STATES: Paint = '#56b4e9';
const ACTIVATIONS: Paint = '#e69f00';
const COMMUNICATORS: Paint = '#cc79a7';
const NVLINK: Paint = '#009e73';
const NETWORK: Paint = '#d55e00';
const FORWARD: Paint = '#56b4e9';
const BACKWARD: Paint = '#e69f00';

/** Between two sections, in pixels. */
const BETWEEN = 26;

/** What stands for the picture where the file does not say enough; the headline says what it lacks. */
const UNKNOWN =
  'Once the file says enough, this view shows the memory of each pipeline stage, what a rank sends in a step, and the pipeline schedule.';

/** Does it fit, what travels: memory a stage, traffic a group, the schedule of the pipeline, and what is not known. */
export function costDiagram({ cost }: CostResult, width: number): Diagram {
  const parts = cost
    ? [
        memoryPart(cost, width),
        ...(cost.flows.length > 0 ? [trafficPart(cost.flows, width)] : []),
        ...(cost.pipeline ? [pipelinePart(cost.pipeline, width)] : []),
        notesPart(cost, width),
      ]
    : [wrapped(UNKNOWN, width, 'text')];
  return { width, ...stacked(parts, BETWEEN) };
}

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
      { fill: 'whisker', words: 'range of nine in ten measured runs' },
    ],
    width,
  );
  const more =
    all.length > shown.length
      ? [
          textAt(0, bottom + keys.height + 20, `the ${shown.length} fullest of ${stages.length} stages`, {
            paint: 'muted',
          }),
        ]
      : [];
  return {
    shapes: [
      titleAt(0, 'Memory of a rank'),
      ...rows,
      ...(gpuBytes === null ? [] : limit(x(gpuBytes), top, bottom, `${gibibytes(gpuBytes)} a GPU`, width)),
      lowered(keys, bottom + 6),
      ...more,
    ],
    height: bottom + 6 + keys.height + more.length * 18,
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
  return [
    textAt(0, y + 11, stage.name),
    ...bars,
    whisker(n(x(stage.low)), n(x(stage.high)), y + BAR + 4),
    textAt(width, y + 11, gibibytes(totalOf(stage)), {
      anchor: 'end',
      ...(over ? { paint: 'error', weight: 600 } : {}),
    }),
  ];
}

/** The line that bars must not cross, with its words above. */
function limit(x: number, top: number, bottom: number, text: string, width: number): Shape[] {
  const half = widthOf(text) / 2;
  return [
    { kind: 'path', d: `M${n(x)} ${top - 5}L${n(x)} ${bottom}`, stroke: 'error', lineWidth: 2 },
    textAt(Math.min(Math.max(x, half), width - half), top - 9, text, { anchor: 'middle', weight: 600 }),
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
    return [band, textAt(end, middle + 4, flowText(flow))];
  });
  const keys: Key[] = (['nvlink', 'network'] as const)
    .filter((tier) => sentOver(flows, tier) > 0)
    .map((tier) => ({
      fill: tier === 'nvlink' ? NVLINK : NETWORK,
      words: `${tier === 'nvlink' ? 'over NVLink' : 'over the network'} ${traffic(sentOver(flows, tier))}`,
    }));
  const legend = keysOf(keys, width);
  return {
    shapes: [
      titleAt(0, 'What a rank sends in a step'),
      textAt(0, begin + source / 2 + 4, 'a rank', { weight: 600 }),
      { kind: 'rect', x: start, y: n(begin), width: 6, height: n(source), fill: 'text' },
      ...bands,
      lowered(legend, top + high + 8),
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
  const head = titleAt(0, 'Pipeline schedule');
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
      ...named.map((stage) => textAt(0, from + stage * step + step / 2 + 4, `stage ${stage}`)),
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
      lowered(keys, bottom + 8),
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
          textAt(n(x + wide / 2), n(y + high / 2 + 3.5), number, {
            size: 10,
            paint: fade < 0.45 ? '#000000' : 'text',
            anchor: 'middle',
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
  return stacked(texts.map((text) => wrapped(text, width, 'muted')));
}

const time = (seconds: number): string =>
  seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${seconds.toFixed(1)} s`;
