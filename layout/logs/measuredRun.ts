import { median } from '../median';
import { type LogLine, logLine } from './logLine';
import type { MeasuredRun } from './measuredRunOutput';

type Framework = MeasuredRun['framework'];
type Memory = MeasuredRun['memory_bytes_peak'][number];
type Part = MeasuredRun['parts'][number];

/** The most steps, ranks and parts of a step that are kept. */
const MAX_STEPS = 100_000;
const MAX_RANKS = 65_536;
const MAX_PARTS = 256;

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const GB = 1e9;

/**
 * What the lines of a log tell of the run's speed and memory; null where no line is one of a training step, of memory or timers.
 * Reads the lines of Megatron-LM, Megatron Bridge, NeMo, NeMo-RL, torchtitan, nanotron and verl behind the prefixes of launchers.
 */
export function measuredRun(lines: Iterable<string>): MeasuredRun | null {
  const reader = new MeasuredRunReader();
  for (const line of lines) {
    reader.line(logLine(line));
  }
  return reader.run();
}

/** What one line tells of one step; null or absent for untold. */
interface Step {
  readonly step: number | null;
  readonly time?: number | null;
  readonly tokens?: number | null;
  readonly tokensPerGpu?: number | null;
  readonly tflops?: number | null;
}

/** Reads a log line by line, in bounded memory. */
export class MeasuredRunReader {
  #framework: Framework | null = null;
  readonly #steps: Step[] = [];
  /** Model TFLOP/s that Megatron Bridge prints on a line of its own, with their step time. */
  readonly #bridge: Step[] = [];
  readonly #memory = new Map<number | null, Memory>();
  readonly #parts = new Parts();
  readonly #stragglers = new Stragglers();
  readonly #settings = new Map<'batch' | 'sequence' | 'world', number>();
  /** The last step of torchtitan by rank: its lines have a time, but no duration. */
  readonly #titan = new Map<number | null, { readonly step: number; readonly at: number }>();
  /** The step that NeMo-RL has announced. */
  #announced: number | null = null;

  /** Reads one line; true where it tells something. */
  line(line: LogLine): boolean {
    return FORMS.some(({ mark, read }) => line.text.includes(mark) && read(this, line)) || this.#parts.line(line.text);
  }

  /** What was read; null for nothing. */
  run(): MeasuredRun | null {
    const parts = this.#parts.all();
    const stragglers = this.#stragglers.all();
    const steps = this.#steps.length > 0 ? this.#steps : this.#bridge;
    const told = steps.length + this.#memory.size + parts.length + stragglers.length;
    if (told === 0) {
      return null;
    }
    const numbers = steps.flatMap(({ step }) => step ?? []);
    const time = typical(steps, ({ time }) => time);
    const batch = this.#settings.get('batch') ?? null;
    const sequence = this.#settings.get('sequence') ?? null;
    const world = this.#settings.get('world') ?? null;
    const counted = batch !== null && sequence !== null && time !== null ? (batch * sequence) / time : null;
    const tokens = typical(steps, (step) => step.tokens) ?? counted;
    const tokensPerGpu = typical(steps, (step) => step.tokensPerGpu);
    return {
      framework: this.#framework ?? 'megatron-lm',
      steps: steps.length,
      first_step: numbers[0] ?? null,
      last_step: numbers.at(-1) ?? null,
      step_time_s: time,
      tokens_per_s: tokens ?? (tokensPerGpu !== null && world !== null ? tokensPerGpu * world : null),
      tokens_per_s_per_gpu: tokensPerGpu ?? (tokens !== null && world !== null ? tokens / world : null),
      tflops_per_gpu: typical(steps, ({ tflops }) => tflops) ?? typical(this.#bridge, ({ tflops }) => tflops),
      global_batch_size: batch,
      sequence_length: sequence,
      memory_bytes_peak: [...this.#memory.values()].sort((a, b) => (a.rank ?? -1) - (b.rank ?? -1)),
      parts,
      straggler_reports: this.#stragglers.reports,
      stragglers,
    };
  }

  /** Megatron-LM's and Megatron Bridge's `training_log`: ` iteration 10/ 100 | ... | elapsed time per iteration (ms): 52.1 |`. */
  megatronStep({ text }: LogLine): boolean {
    const time = numberAfter(text, 'elapsed time per iteration (ms):');
    if (time === null) {
      return false;
    }
    this.#set('batch', numberAfter(text, 'global batch size:'));
    const samples = numberAfter(text, 'samples per second:');
    return this.#add(this.#framework ?? 'megatron-lm', {
      step: numberAfter(text, 'iteration'),
      time: time / 1000,
      tokensPerGpu: numberAfter(text, 'tokens per gpu per second (tgs):') ?? numberAfter(text, 'tokens/s/GPU:'),
      tflops:
        numberAfter(text, 'throughput per GPU (TFLOP/s/GPU):') ??
        (samples === null ? null : numberAfter(text, 'TFLOPs:')),
    });
  }

  /** Megatron Bridge: `Step Time : 3.10s GPU utilization: 512.3MODEL_TFLOP/s/GPU`. */
  bridgeStep({ text }: LogLine): boolean {
    this.#framework = 'megatron-bridge';
    push(this.#bridge, {
      step: null,
      time: numberAfter(text, 'Step Time :'),
      tflops: numberAfter(text, 'GPU utilization:'),
    });
    return true;
  }

  /** NeMo's progress line: `Training epoch 0, iteration 9/99 | ... | train_step_timing in s: 3.1`. */
  nemoStep({ text }: LogLine): boolean {
    this.#set('batch', numberAfter(text, 'global_batch_size:'));
    return this.#add('nemo', {
      step: numberAfter(text, 'global_step:') ?? numberAfter(text, 'iteration'),
      time: numberAfter(text, 'train_step_timing in s:'),
      tflops: numberAfter(text, 'TFLOPS_per_GPU:'),
    });
  }

  /** `report_memory` of Megatron-LM (MiB) and Megatron Bridge (GB): `[Rank 3] (after 2 iterations) memory (MB) | ...`. */
  megatronMemory({ text }: LogLine): boolean {
    // ranks that print at the same time share a line
    const reports = [...text.matchAll(/\[Rank (\d{1,7})\] [^[|]{0,80}memory \((?:MB|GB)\)([^[]{0,600})/g)];
    for (const [, rank, values = ''] of reports) {
      const bridge = values.includes('gigabytes:');
      this.#framework ??= bridge ? 'megatron-bridge' : 'megatron-lm';
      this.#remember(
        Number(rank),
        bridge
          ? scaled(numberAfter(values, 'mem-max-allocated-gigabytes:'), GB)
          : scaled(numberAfter(values, 'max allocated:'), MIB),
        bridge
          ? scaled(numberAfter(values, 'mem-max-reserved-gigabytes:'), GB)
          : scaled(numberAfter(values, 'max reserved:'), MIB),
      );
    }
    return reports.length > 0;
  }

  /** torchtitan's `MetricsProcessor.log`: `step: 10  loss: ...  memory: 40.50GiB(51.20%)  tps: 5,120  tflops: 310.2`. */
  titanStep({ text, rank }: LogLine): boolean {
    const memory = numberAfter(text, 'memory:');
    if (memory === null || !text.includes('GiB(')) {
      return false;
    }
    this.#remember(rank, null, memory * GIB);
    if (text.includes('validate step:')) {
      return true;
    }
    const step = numberAfter(text, 'step:');
    const time = step === null ? null : this.#titanTime(rank, step, momentIn(text));
    const [only = rank] = this.#titan.keys();
    // every rank that prints reports the same steps
    return only === rank
      ? this.#add('torchtitan', {
          step,
          time,
          tokensPerGpu: numberAfter(text, 'tps:') ?? numberAfter(text, 'wps:'),
          tflops: numberAfter(text, 'tflops:'),
        })
      : true;
  }

  /** The time of a step between two lines of one rank; null for the first one. */
  #titanTime(rank: number | null, step: number, at: number | null): number | null {
    const last = this.#titan.get(rank);
    if (at === null || this.#titan.size >= MAX_RANKS) {
      return null;
    }
    this.#titan.set(rank, { step, at });
    return last && step > last.step && at > last.at ? (at - last.at) / 1000 / (step - last.step) : null;
  }

  /** nanotron's `train_step_logs`: `iteration: 10 / 100 | consumed_tokens: 1.2M | time_per_iteration_ms: 1.23K | ...`. */
  nanotronStep({ text, rank }: LogLine): boolean {
    const milliseconds =
      numberAfter(text, 'time_per_iteration_ms:') ?? numberAfter(text, 'elapsed_time_per_iteration_ms:');
    const reserved = numberAfter(text, 'cuda_max_memory_reserved:');
    if (reserved !== null) {
      this.#remember(rank, null, reserved);
    }
    return (
      milliseconds !== null &&
      this.#add('nanotron', {
        step: numberAfter(text, 'iteration:'),
        time: milliseconds / 1000,
        tokens: numberAfter(text, 'tokens_per_sec:'),
        tokensPerGpu: numberAfter(text, 'tokens_per_sec_per_gpu:'),
        tflops: numberAfter(text, 'model_tflops_per_gpu:'),
      })
    );
  }

  /** nanotron's `log_memory`, which rank 0 prints: `Memory usage: 1.5MiB. Peak allocated 2.5MiB. Peak reserved: 4.0MiB`. */
  nanotronMemory({ text }: LogLine): boolean {
    this.#framework ??= 'nanotron';
    this.#remember(
      0,
      scaled(numberAfter(text, 'Peak allocated'), MIB),
      scaled(numberAfter(text, 'Peak reserved:'), MIB),
    );
    return true;
  }

  /** verl's console logger: `step:3 - actor/loss:0.1 - timing_s/step:40.2 - perf/throughput:812.4`. */
  verlStep({ text }: LogLine): boolean {
    const time = numberAfter(text, 'perf/time_per_step:') ?? numberAfter(text, 'timing_s/step:');
    if (time === null) {
      return false;
    }
    const total = numberAfter(text, 'perf/total_num_tokens:');
    this.#remember(
      null,
      scaled(numberAfter(text, 'perf/max_memory_allocated_gb:'), GIB),
      scaled(numberAfter(text, 'perf/max_memory_reserved_gb:'), GIB),
    );
    for (const [, name = '', value] of text.matchAll(
      /timing_s\/([\w/]{1,64}):(?:np\.float\d\d\()?([\d.]{1,32}(?:e[+-]?\d{1,3})?)/g,
    )) {
      if (name !== 'step') {
        this.#parts.add(name, Number(value), Number(value));
      }
    }
    return this.#add('verl', {
      step: numberAfter(text, 'step:'),
      time,
      tokens: total === null ? null : total / time,
      tokensPerGpu: numberAfter(text, 'perf/throughput:'),
    });
  }

  /** NeMo-RL announces a step: `==== Step 3/100 ====`. */
  nemoRlHead({ text }: LogLine): boolean {
    const step = /(?<!=)={3,} Step (\d{1,12})\/\d{1,12} ={3,}/.exec(text)?.[1];
    this.#announced = step === undefined ? this.#announced : Number(step);
    return step !== undefined;
  }

  /** NeMo-RL's lines of one step, which follow its announcement; each begins with a bullet. */
  nemoRlLine({ text }: LogLine): boolean {
    const time = numberAfter(text, 'Total step time:');
    if (time !== null) {
      return this.#add('nemo-rl', { step: this.#announced, time });
    }
    const [, name, seconds] = /^\s{0,8}• ([\w/]{1,64}): ([\d.]{1,20})s \([\d.]{1,8}%\)$/.exec(text) ?? [];
    if (name !== undefined) {
      this.#parts.add(name, Number(seconds), Number(seconds));
      return true;
    }
    const tflops = /Training FLOPS: [\d.]{1,20} TFLOPS \(([\d.]{1,20}) TFLOPS per rank\)/.exec(text)?.[1];
    return tflops !== undefined && this.#append({ tflops: Number(tflops) });
  }

  /** NeMo-RL's throughput of a whole step: `- E2E (Tokens/sec/gpu): 812.40`. */
  nemoRlThroughput({ text }: LogLine): boolean {
    return this.#append({
      tokens: numberAfter(text, 'E2E (Tokens/sec):'),
      tokensPerGpu: numberAfter(text, 'E2E (Tokens/sec/gpu):'),
    });
  }

  /** The arguments that Megatron-LM prints at the start: `seq_length ........ 4096`. */
  setting({ text }: LogLine): boolean {
    const [, name, value] = /(?:^|\s)(seq_length|world_size) \.{2,60} ?(\d{1,12})$/.exec(text) ?? [];
    this.#set(name === 'world_size' ? 'world' : 'sequence', value === undefined ? null : Number(value));
    return false;
  }

  straggler({ text }: LogLine): boolean {
    return this.#stragglers.line(text);
  }

  #set(name: 'batch' | 'sequence' | 'world', value: number | null): void {
    if (value !== null) {
      this.#settings.set(name, value);
    }
  }

  #add(framework: Framework, step: Step): boolean {
    this.#framework = framework;
    push(this.#steps, step);
    return true;
  }

  /** Adds numbers that a framework prints on lines of their own, before or behind the time of the step. */
  #append(more: Partial<Step>): boolean {
    this.#framework ??= 'nemo-rl';
    push(this.#bridge, { step: null, ...more });
    const last = this.#steps.at(-1);
    if (last && this.#framework === 'nemo-rl') {
      const known = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== null));
      this.#steps[this.#steps.length - 1] = { ...last, ...known };
    }
    return true;
  }

  #remember(rank: number | null, allocated: number | null, reserved: number | null): void {
    const known = this.#memory.get(rank);
    if ((allocated === null && reserved === null) || (!known && this.#memory.size >= MAX_RANKS)) {
      return;
    }
    this.#memory.set(rank, {
      rank,
      allocated: larger(known?.allocated ?? null, allocated),
      reserved: larger(known?.reserved ?? null, reserved),
    });
  }
}

/** The lines that are read: what they contain, and who reads them. */
const FORMS: readonly {
  readonly mark: string;
  readonly read: (reader: MeasuredRunReader, line: LogLine) => boolean;
}[] = [
  { mark: 'elapsed time per iteration (ms):', read: (reader, line) => reader.megatronStep(line) },
  { mark: 'MODEL_TFLOP/s/GPU', read: (reader, line) => reader.bridgeStep(line) },
  { mark: 'train_step_timing in s:', read: (reader, line) => reader.nemoStep(line) },
  { mark: ' memory (', read: (reader, line) => reader.megatronMemory(line) },
  { mark: 'GiB(', read: (reader, line) => reader.titanStep(line) },
  { mark: 'time_per_iteration_ms:', read: (reader, line) => reader.nanotronStep(line) },
  { mark: 'Peak allocated', read: (reader, line) => reader.nanotronMemory(line) },
  { mark: 'timing_s/step:', read: (reader, line) => reader.verlStep(line) },
  { mark: 'perf/time_per_step:', read: (reader, line) => reader.verlStep(line) },
  { mark: '= Step ', read: (reader, line) => reader.nemoRlHead(line) },
  { mark: '• ', read: (reader, line) => reader.nemoRlLine(line) },
  { mark: 'E2E (Tokens/sec', read: (reader, line) => reader.nemoRlThroughput(line) },
  { mark: '/Rnk:', read: (reader, line) => reader.straggler(line) },
  { mark: ' ...', read: (reader, line) => reader.setting(line) },
];

/** Megatron-LM's timers (megatron/core/timers.py) and the phases of other frameworks. */
class Parts {
  readonly #parts = new Map<
    string,
    { min: number; max: number; count: number; byRank: Map<number, [number, number]> }
  >();
  /** The form of the block of timers that is being printed, and the timer of the last line. */
  #block: 'pairs' | 'ranks' | null = null;
  #name: string | null = null;

  /** Reads a line of a block of timers; true where it is one. */
  line(text: string): boolean {
    if (text.includes('across ranks (ms):')) {
      this.#block = /^\s{0,4}times across/.test(text) ? 'ranks' : 'pairs';
      return true;
    }
    if (this.#block === null) {
      return false;
    }
    return this.#block === 'pairs' ? this.#pair(text) : this.#rank(text);
  }

  /** `    forward-backward .......: (12.50, 13.75)`, or one number for `--timing-log-option max`. */
  #pair(text: string): boolean {
    const [, name, first, second] =
      /^\s{0,8}([\w-]{1,64}) \.{2,60}: \(?([\d.]{1,20})(?:, ([\d.]{1,20})\))?$/.exec(text) ?? [];
    if (name === undefined) {
      return false;
    }
    const least = Number(first) / 1000;
    this.add(name, least, second === undefined ? least : Number(second) / 1000);
    return true;
  }

  /** `  forward-backward:`, then `     rank  3: 12.50` for each rank. */
  #rank(text: string): boolean {
    const name = /^\s{0,4}([\w-]{1,64}):$/.exec(text)?.[1];
    this.#name = name ?? this.#name;
    const [, rank, time] = /^\s{0,8}rank\s{1,7}(\d{1,7}): ([\d.]{1,20})$/.exec(text) ?? [];
    if (this.#name !== null && rank !== undefined) {
      const seconds = Number(time) / 1000;
      this.add(this.#name, seconds, seconds, Number(rank));
    }
    return name !== undefined || rank !== undefined;
  }

  add(name: string, min: number, max: number, rank: number | null = null): void {
    const part = this.#parts.get(name) ?? { min: 0, max: 0, count: 0, byRank: new Map() };
    if (part.count === 0 && this.#parts.size >= MAX_PARTS) {
      return;
    }
    this.#parts.set(name, part);
    part.count++;
    part.min += min;
    part.max += max;
    if (rank !== null && part.byRank.size < MAX_RANKS) {
      const [sum, count] = part.byRank.get(rank) ?? [0, 0];
      part.byRank.set(rank, [sum + min, count + 1]);
    }
  }

  /** The parts, the longest first. */
  all(): Part[] {
    return [...this.#parts]
      .map(([name, { min, max, count, byRank }]) => {
        const means = [...byRank].map(([rank, [sum, times]]) => [rank, sum / times] as const);
        const values = means.map(([, mean]) => mean);
        return {
          name,
          min_s: means.length > 0 ? values.reduce((a, b) => Math.min(a, b)) : min / count,
          max_s: means.length > 0 ? values.reduce((a, b) => Math.max(a, b)) : max / count,
          by_rank: Object.fromEntries(means),
        };
      })
      .sort((a, b) => b.max_s - a.max_s);
  }
}

/** The reports of Megatron-LM's `StragglerDetector` (megatron/core/utils.py). */
class Stragglers {
  readonly #ranks = new Map<number, { reports: number; tflops: number; fastest: number }>();
  reports = 0;

  line(text: string): boolean {
    const [, slow, rank, fast] =
      /MnEtpt\/Rnk: ([\d.]{1,20})TF\/(\d{1,7}) \| MxEtpt\/Rnk: ([\d.]{1,20})TF\/\d{1,7}/.exec(text) ?? [];
    const known = this.#ranks.get(Number(rank)) ?? { reports: 0, tflops: 0, fastest: 0 };
    if (rank === undefined || (known.reports === 0 && this.#ranks.size >= MAX_RANKS)) {
      return false;
    }
    this.reports++;
    known.reports++;
    known.tflops += Number(slow);
    known.fastest += Number(fast);
    this.#ranks.set(Number(rank), known);
    return true;
  }

  /** The ranks that were slowest, the most frequent first. */
  all(): MeasuredRun['stragglers'][number][] {
    return [...this.#ranks]
      .map(([rank, { reports, tflops, fastest }]) => ({
        rank,
        reports,
        tflops: tflops / reports,
        fastest_tflops: fastest / reports,
      }))
      .sort((a, b) => b.reports - a.reports || a.rank - b.rank);
  }
}

function push(steps: Step[], step: Step): void {
  if (steps.length < MAX_STEPS) {
    steps.push(step);
  }
}

/** The median over all steps but the first; null where no step has the value. */
function typical(steps: readonly Step[], of: (step: Step) => number | null | undefined): number | null {
  const values = steps.map(of);
  const later = values.slice(1).flatMap((value) => value ?? []);
  return median(later.length > 0 ? later : values.flatMap((value) => value ?? []));
}

const UNITS: Readonly<Record<string, number>> = { K: 1e3, M: 1e6, G: 1e9, B: 1e9, T: 1e12, P: 1e15 };

/**
 * The number that follows a label: `1,234`, `5.4E+02`, `1.2K` as nanotron writes it, `np.float64(0.5)`. Null for none.
 * A label is a whole word: `step:` is not the end of `global_step:`.
 */
function numberAfter(text: string, label: string): number | null {
  let at = text.indexOf(label);
  while (at > 0 && /[\w/]/.test(text[at - 1] ?? '')) {
    at = text.indexOf(label, at + 1);
  }
  if (at < 0) {
    return null;
  }
  const found =
    /^\s{0,24}(?:np\.float\d\d\()?((?:\d{1,3}(?:,\d{3}){1,6}|\d{1,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?)([KMGBTP](?!\w))?/.exec(
      text.slice(at + label.length, at + label.length + 80),
    );
  const value = found ? Number(found[1]?.replaceAll(',', '')) * (UNITS[found[2] ?? ''] ?? 1) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}

/** The moment that Python's logging writes before a line, `2026-08-22 10:11:12,345`, in milliseconds; null for none. */
function momentIn(text: string): number | null {
  const [, day, time, milliseconds] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d),(\d{3})/.exec(text) ?? [];
  const at = day === undefined ? Number.NaN : Date.parse(`${day}T${time}.${milliseconds}Z`);
  return Number.isNaN(at) ? null : at;
}

function scaled(value: number | null, unit: number): number | null {
  return value === null ? null : value * unit;
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b);
}
