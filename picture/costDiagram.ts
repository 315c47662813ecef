import { grouped, secondsText } from '../layout';
import { type Cost, type CostResult, memory, type StageCost } from './cost';
import {
  type Diagram,
  type Key,
  keysOf,
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
import { percent } from './scoreboard';

/** A part of a rank's memory, in bytes. */
interface MemoryPart {
  readonly fill: Paint;
  readonly words: string;
  readonly of: (stage: StageCost) => number;
}

/** What a rank's memory is made of, from the left. */
const PARTS: readonly MemoryPart[] = [
  { fill: '#56b4e9', words: 'states', of: ({ statesBytes }: StageCost) => statesBytes },
  { fill: '#e69f00', words: 'activations', of: ({ activationsBytes }: StageCost) => activationsBytes },
  {
    fill: '#cc79a7',
    words: 'communicators (outside of torch)',
    of: ({ communicatorsBytes }: StageCost) => communicatorsBytes,
  },
];

/** What the engine of another phase takes beyond them, where it takes more. */
const ENGINE: MemoryPart = {
  fill: '#999999',
  words: 'more that an engine takes',
  of: (stage) => stage.totalBytes - PARTS.reduce((sum, { of }) => sum + of(stage), 0),
};

/** Below a byte is what sums are off by. */
const partsOf = (stages: readonly StageCost[]): readonly MemoryPart[] =>
  stages.some((stage) => ENGINE.of(stage) >= 1) ? [...PARTS, ENGINE] : PARTS;

const NVLINK: Paint = '#009e73';
const NETWORK: Paint = '#d55e00';
const FORWARD: Paint = '#56b4e9';
const BACKWARD: Paint = '#e69f00';

/** Between two sections, in pixels. */
const BETWEEN = 26;

/** The text in place of the picture where the file does not say enough; the headline says what it lacks. */
const UNKNOWN =
  'Once the file says enough, this view shows the memory of each pipeline stage, what a rank sends in a step, and the pipeline schedule.';

/** The cost of another layout, drawn in outline. */
export interface CostBase {
  readonly title: string;
  readonly cost: Cost;
}

/**
 * Does it fit, what travels: memory a stage, traffic a group, the schedule of the pipeline, and what is not known.
 * @param base a layout to hold it against
 */
export function costDiagram({ cost }: CostResult, width: number, base: CostBase | null = null): Diagram {
  const parts = cost
    ? [
        memoryPart(cost, width, base),
        ...(base ? [linksPart(cost, width, base)] : []),
        ...(cost.flows.length > 0 ? [trafficPart(cost.flows, width)] : []),
        ...(cost.pipeline ? [pipelinePart(cost.pipeline, width)] : []),
        notesPart(cost, width),
      ]
    : [wrapped(UNKNOWN, width, 'text')];
  return { width, ...stacked(parts, BETWEEN) };
}

const n = (value: number): number => Math.round(value * 100) / 100;

/** More rows than this: the fullest stages are shown. */
const MAX_STAGES = 24;

/** Where bars begin under the title of a section, in pixels. */
const BARS_TOP = 42;

function memoryPart({ stages, gpuMemoryBytes: gpuBytes }: Cost, width: number, base: CostBase | null): Part {
  const all = rowsOf(stages);
  const fullest = all.toSorted((a, b) => b.stage.totalBytes - a.stage.totalBytes).slice(0, MAX_STAGES);
  const shown = all.filter((row) => fullest.includes(row));
  const left = Math.min(width * 0.35, Math.max(...shown.map(({ name }) => widthOf(name))) + 12);
  const room = Math.max(40, width - left - 62);
  const before = new Map(base?.cost.stages.map((stage) => [stage.name, stage.totalBytes]));
  const most = 1.02 * Math.max(gpuBytes ?? 0, ...shown.map(({ stage }) => stage.totalInterval[1]), ...before.values());
  const x = (bytes: number) => left + (room * bytes) / most;
  const step = shown.length > 12 ? 22 : 27;
  const bottom = BARS_TOP + shown.length * step;
  const rows = shown.flatMap((row, i) => {
    const y = BARS_TOP + i * step;
    const old = before.get(row.stage.name);
    return [...rowShapes(row, { x, y, width, gpuBytes }), ...(old === undefined ? [] : [outline(left, x(old), y)])];
  });
  const limit = gpuBytes === null ? [] : limitShapes(x(gpuBytes), bottom, `${memory(gpuBytes)} a GPU`, width);
  const count = shown.reduce((sum, one) => sum + one.count, 0);
  const more = count < stages.length ? [`the ${count} fullest of ${stages.length} stages`] : [];
  return stacked([
    { shapes: [titleAt(0, 'Memory of a rank'), ...rows, ...limit], height: bottom + 6 },
    keysOf(
      [
        ...partsOf(stages).map(({ fill, words }) => ({ fill, words })),
        { fill: 'whisker', words: 'range of nine in ten measured runs' },
        ...(base ? [outlineKey(base)] : []),
      ],
      width,
    ),
    ...more.map((words) => wrapped(words, width, 'muted')),
  ]);
}

/** A bar of the layout that this one is held against. */
const outline = (left: number, right: number, y: number): Shape => ({
  kind: 'rect',
  x: n(left),
  y: y - 2,
  width: n(right - left),
  height: BAR + 4,
  stroke: 'text',
});

const outlineKey = ({ title }: CostBase): Key => ({ fill: 'ground', stroke: 'text', words: title });

/** What a rank sends over each kind of link, with what it sent in another layout in outline. */
function linksPart({ flows }: Cost, width: number, base: CostBase): Part {
  const rows = TIERS.map(({ tier, fill, words }) => ({
    fill,
    words,
    now: sentOver(flows, tier),
    before: sentOver(base.cost.flows, tier),
  }));
  const left = 114;
  const room = Math.max(40, width - left - 150);
  const most = Math.max(1, ...rows.flatMap(({ now, before }) => [now, before]));
  const x = (bytes: number) => left + (room * bytes) / most;
  const shapes = rows.flatMap(({ fill, words, now, before }, i): Shape[] => {
    const y = 30 + i * 27;
    return [
      textAt(0, y + 11, words),
      { kind: 'rect', x: left, y, width: n(x(now) - left), height: BAR, fill },
      outline(left, x(before), y),
      textAt(width, y + 11, `${traffic(now)} (${traffic(before)})`, { anchor: 'end' }),
    ];
  });
  return stacked([
    { shapes: [titleAt(0, 'What a rank sends, by link'), ...shapes], height: 30 + rows.length * 27 },
    keysOf([outlineKey(base)], width),
  ]);
}

/** Neighbouring stages that need the same, as one row: `stage 1 – 14`. */
interface StageRow {
  readonly name: string;
  readonly stage: StageCost;
  /** How many stages. */
  readonly count: number;
}

function rowsOf(stages: readonly StageCost[]): StageRow[] {
  const rows: StageRow[] = [];
  for (const stage of stages) {
    const row = rows.at(-1);
    if (row && isAlike(row.stage, stage)) {
      const last = /(?<!\d)\d+$/.exec(stage.name)?.[0] ?? stage.name;
      rows[rows.length - 1] = { ...row, name: `${row.stage.name} – ${last}`, count: row.count + 1 };
    } else {
      rows.push({ name: stage.name, stage, count: 1 });
    }
  }
  return rows;
}

const isAlike = (one: StageCost, other: StageCost): boolean =>
  one.name.replace(/(?<!\d)\d+$/, '') === other.name.replace(/(?<!\d)\d+$/, '') &&
  PARTS.every(({ of }) => of(one) === of(other));

interface RowPlace {
  readonly x: (bytes: number) => number;
  readonly y: number;
  readonly width: number;
  readonly gpuBytes: number | null;
}

const BAR = 14;

function rowShapes({ name, stage }: StageRow, { x, y, width, gpuBytes }: RowPlace): Shape[] {
  let end = 0;
  const bars = partsOf([stage]).map(({ fill, of }): Shape => {
    const start = end;
    end += of(stage);
    return { kind: 'rect', x: x(start), y, width: x(end) - x(start), height: BAR, fill };
  });
  const { totalBytes, totalInterval } = stage;
  const over = gpuBytes !== null && totalBytes > gpuBytes;
  return [
    textAt(0, y + 11, name),
    ...bars,
    whisker(n(x(totalInterval[0])), n(x(totalInterval[1])), y + BAR + 4),
    textAt(width, y + 11, memory(totalBytes), {
      anchor: 'end',
      ...(over ? { paint: 'error', weight: 600 } : {}),
    }),
  ];
}

/** The line that bars must not cross, with its words above. */
function limitShapes(x: number, bottom: number, words: string, width: number): Shape[] {
  const half = widthOf(words) / 2;
  return [
    { kind: 'path', d: `M${n(x)} ${BARS_TOP - 5}L${n(x)} ${bottom}`, stroke: 'error', lineWidth: 2 },
    textAt(Math.min(Math.max(x, half), width - half), BARS_TOP - 9, words, { anchor: 'middle', weight: 600 }),
  ];
}

/** So many flows are drawn apart; the least of more are one. */
const MAX_FLOWS = 12;

/** How thick all bands are together, and how thin one can be, in pixels. */
const THICKNESS = 110;
const THINNEST = 1.5;
const FLOW_STEP = 24;

/** What travels over which link. */
const TIERS = [
  { tier: 'nvlink', fill: NVLINK, words: 'over NVLink' },
  { tier: 'network', fill: NETWORK, words: 'over the network' },
] as const;

function trafficPart(flows: readonly Flow[], width: number): Part {
  const bands = TIERS.flatMap(({ tier, fill }) => topFlows(flows, tier).map((flow) => ({ flow, fill })));
  const total = bands.reduce((sum, { flow }) => sum + flow.bytes, 0);
  const thick = ({ bytes }: Flow) => Math.max(THINNEST, (THICKNESS * bytes) / total);
  const texts = Math.min(width * 0.62, Math.max(...bands.map(({ flow }) => widthOf(flowText(flow)))) + 12);
  const [start, end] = [Math.min(64, width * 0.18), width - texts];
  const heights = bands.map(({ flow }) => Math.max(FLOW_STEP, thick(flow) + 8));
  const high = heights.reduce((sum, one) => sum + one, 0);
  const source = bands.reduce((sum, { flow }) => sum + thick(flow), 0);
  const begin = 34 + (high - source) / 2;
  let [from, to] = [begin, 34];
  const shapes = bands.flatMap(({ flow, fill }, i) => {
    const wide = thick(flow);
    const middle = to + (heights[i] ?? 0) / 2;
    const d = bandPath([start + 6, from], [end - 10, middle - wide / 2], wide);
    from += wide;
    to += heights[i] ?? 0;
    return [{ kind: 'path', d, fill } as const, textAt(end, middle + 4, flowText(flow))];
  });
  const keys = TIERS.flatMap(({ tier, fill, words }) => {
    const sent = sentOver(flows, tier);
    return sent > 0 ? [{ fill, words: `${words} ${traffic(sent)}` }] : [];
  });
  return stacked([
    {
      shapes: [
        titleAt(0, 'What a rank sends in a step'),
        textAt(0, begin + source / 2 + 4, 'a rank', { weight: 600 }),
        { kind: 'rect', x: start, y: n(begin), width: 6, height: n(source), fill: 'text' },
        ...shapes,
      ],
      height: 34 + high + 8,
    },
    keysOf(keys, width),
  ]);
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
        {
          module: null,
          kind: '',
          group: `${rest.length} more`,
          carries: 'together',
          tier,
          bytes: sentOver(rest, tier),
        },
      ]
    : sorted;
}

type Point = readonly [x: number, y: number];

/** A band of a thickness from one point to another that leaves and arrives level. */
function bandPath([x0, y0]: Point, [x1, y1]: Point, wide: number): string {
  const middle = n((x0 + x1) / 2);
  const [a, b, c, d] = [n(y0), n(y1), n(y1 + wide), n(y0 + wide)];
  return `M${n(x0)} ${a}C${middle} ${a} ${middle} ${b} ${n(x1)} ${b}L${n(x1)} ${c}C${middle} ${c} ${middle} ${d} ${n(x0)} ${d}Z`;
}

/** More stages than this have no room for a row each; more passes than this are too many to draw. */
const MAX_ROWS = 64;
const MAX_PASSES = 6000;

/** A forward pass is so wide where there is room: its micro-batch can be read then. In pixels. */
const PASS = 13;

/** Where the timeline of a stage begins, after its name. */
const TIMELINE = 62;

function pipelinePart(pipeline: NonNullable<Cost['pipeline']>, width: number): Part {
  const { stages, chunks, microbatches, bubble } = pipeline;
  const kind = chunks > 1 ? `interleaved 1F1B, ${chunks} chunks a stage` : '1F1B';
  const says = `${kind} · ${grouped(microbatches)} micro-batches a step · about ${percent(bubble)} of the step is waiting`;
  const caption = wrapped(says, width, 'muted');
  const head = [
    { shapes: [titleAt(0, 'Pipeline schedule')], height: 18 },
    { ...caption, height: caption.height + 6 },
  ];
  if (stages > MAX_ROWS) {
    return stacked(head);
  }
  const count = drawnMicrobatches(pipeline, width - TIMELINE);
  const passes = scheduleOf({ ...pipeline, microbatches: count });
  const unit = (width - TIMELINE) / Math.max(...passes.map((pass) => pass.end));
  const step = stages <= 8 ? 22 : stages <= 16 ? 16 : 9;
  const named = Array.from({ length: stages }, (_, stage) => stage).filter((stage) => step >= 14 || stage % 8 === 0);
  const ground = { x: TIMELINE, y: 0, width: n(width - TIMELINE), height: stages * step - 2 };
  const timeline: Part = {
    shapes: [
      ...named.map((stage) => textAt(0, stage * step + step / 2 + 4, `stage ${stage}`)),
      { kind: 'rect', ...ground, fill: 'boxFill', stroke: 'box' },
      ...passes.flatMap((pass) => passShapes(pass, { step, unit, chunks })),
    ],
    height: stages * step + 8,
  };
  const keys: Key[] = [
    { fill: FORWARD, words: 'forward' },
    { fill: BACKWARD, words: 'backward' },
    ...(chunks > 1 ? [{ fill: FORWARD, fade: 0.6, words: 'fainter: later chunks' } as const] : []),
    { fill: 'boxFill', stroke: 'box', words: 'waiting' },
  ];
  const note =
    count < microbatches
      ? `Drawn with ${count} of ${grouped(microbatches)} micro-batches; all chunks are drawn equally long.`
      : 'All chunks are drawn equally long.';
  return stacked([...head, timeline, keysOf(keys, width), wrapped(note, width, 'muted')]);
}

/** As many micro-batches as can be read, but enough for the steady state; in whole groups where chunks are interleaved. */
function drawnMicrobatches({ stages, chunks, microbatches, group }: NonNullable<Cost['pipeline']>, room: number) {
  const byWidth = Math.floor((room / PASS - 3 * stages) / (3 * chunks));
  const byNumber = Math.floor(MAX_PASSES / (2 * stages * chunks));
  const unit = chunks > 1 ? Math.max(1, group) : 1;
  const wanted = Math.min(Math.max(byWidth, 2 * stages), byNumber);
  return Math.min(microbatches, Math.max(unit, Math.floor(wanted / unit) * unit));
}

interface Timeline {
  /** From one stage to the next, and the length of a forward pass, in pixels. */
  readonly step: number;
  readonly unit: number;
  readonly chunks: number;
}

function passShapes(pass: Pass, { step, unit, chunks }: Timeline): Shape[] {
  const { stage, chunk, microbatch, isBackward, start, end } = pass;
  const [x, y] = [TIMELINE + start * unit, stage * step];
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

function notesPart({ missing, assumed, stepTimeS }: Cost, width: number): Part {
  const texts = [
    ...(stepTimeS
      ? [
          `A step takes about ${secondsText(stepTimeS.median)} (nine in ten within ${stepTimeS.interval.map(secondsText).join(' to ')}).`,
        ]
      : []),
    ...(missing.length > 0 ? [`Not in the file, and would narrow the estimate: ${missing.join(', ')}.`] : []),
    ...(assumed.length > 0 ? [`Assumed: ${assumed.join('; ')}.`] : []),
  ];
  return stacked(texts.map((text) => wrapped(text, width, 'muted')));
}
