import { countOf } from '../../../layout';
import type { Interner, RunGroup } from '../evidence';
import { readJson } from '../jsonText';
import { type Dict, dictOf, intOf, listOf, textOf, type Value } from '../value';
import { Coverage, type Interval, lastIndex } from './intervals';
import { ObjectScanner } from './objectScanner';

/** One collective or transfer on a GPU, whose process group the profiler has noted. */
export interface ProfiledOperation {
  readonly group: RunGroup;
  /** torch's name: `allreduce`, `_allgather_base`, `send`, ... */
  readonly name: string;
  /** The group rank at the other end of a `send` or `recv`; null for collectives. */
  readonly peer: number | null;
  /** Elements that go in and come out; -1 for unknown. */
  readonly input: number;
  readonly output: number;
  /** torch's name of the element type. */
  readonly dtype: string;
  /** The number of the step in which the program called it; null for unknown. */
  readonly step: number | null;
  /** When its kernel starts, and how long it runs. Seconds, by the clock of its machine. */
  readonly start: number;
  readonly duration: number;
}

/** What `torch.profiler` wrote of one rank. */
export interface RankProfile {
  readonly rank: number;
  /** The ranks of the run; null for unknown. */
  readonly worldSize: number | null;
  /** Steps of which the start and the end were recorded, in ascending order. */
  readonly steps: readonly number[];
  /** In the order of time. */
  readonly operations: readonly ProfiledOperation[];
  readonly groups: readonly RunGroup[];
  /** When its GPU has other work than communication. */
  readonly computing: Coverage;
  /** Why a part is missing; null for a whole trace. */
  readonly problem: string | null;
}

/** The longest beginning of a trace, which lists the process groups. Bytes. */
const MAX_HEAD = 16 * 1024 * 1024;
/** The most kernels, calls and steps that are kept. */
const MAX_KERNELS = 4 * 1024 * 1024;
const MAX_STEPS = 65_536;
/** The longest name or list of ranks of a kernel (Kineto cuts lists at 30 ranks), and how many different ones are kept. */
const MAX_TEXT = 1024;
const MAX_TEXTS = 65_536;

const MICROSECOND = 1e-6;

/** The key of the list of events. */
const EVENTS = '"traceEvents"';
/** The events that are read: kernels, the calls of collectives on the host, and the profiler's own steps. */
const WANTED = /"cat": ?"kernel"|"record_param_comms"|"ProfilerStep#/;

/** Whether a text begins like a trace of `torch.profiler` (Kineto's JSON, in the form of Chrome's traces). */
export function looksLikeTrace(text: string): boolean {
  return /^\s*\{\s*"(?:schemaVersion|deviceProperties|traceEvents|traceName|displayTimeUnit)"/.test(text);
}

/** A kernel with what the profiler noted of its collective. */
interface Communication extends Omit<ProfiledOperation, 'group' | 'step'> {
  /** torch's name and description of the group, and its ranks as text. */
  readonly groupName: string;
  readonly desc: string;
  readonly ranks: string;
  /** The profiler's number of the call. */
  readonly call: number;
}

/**
 * Reads a trace piece by piece (torch 2.3 and newer note the process group of each kernel: libkineto's `CuptiActivity.h`, and
 * `ParamCommsUtils.hpp` of torch). Memory grows with the number of kernels, not with the length of the file.
 */
export class TraceReader {
  #head = Buffer.alloc(0);
  #inEvents = false;
  readonly #decoder = new TextDecoder();
  readonly #scanner = new ObjectScanner();
  readonly #computing: Interval[] = [];
  readonly #communications: Communication[] = [];
  /** Communication kernels of which the profiler noted nothing. */
  #unnoted = 0;
  /** When each recorded call of a collective began, by the profiler's number of the call. */
  readonly #calls = new Map<number, number>();
  readonly #steps: (Interval & { readonly step: number })[] = [];
  /** Each text of kernels once: a million of them name the same group. */
  readonly #texts = new Map<string, string>();

  constructor(readonly interner: Interner) {}

  push(piece: Uint8Array): void {
    if (this.#inEvents) {
      this.#scanner.push(piece, (object) => this.#event(object));
      return;
    }
    if (this.#head.length > MAX_HEAD) {
      return;
    }
    this.#head = Buffer.concat([this.#head, piece]);
    const named = this.#head.indexOf(EVENTS);
    const begin = named < 0 ? -1 : this.#head.indexOf('[', named);
    if (begin >= 0) {
      const rest = this.#head.subarray(begin + 1);
      this.#head = this.#head.subarray(0, begin + 1);
      this.#inEvents = true;
      this.#scanner.push(rest, (object) => this.#event(object));
    }
  }

  /**
   * What was read, once all of it is there.
   * @param named the rank that the file's name tells, for a trace without one
   * @returns a sentence about why it cannot be used, or the profile
   */
  profile(named: number | null): RankProfile | string {
    if (!this.#inEvents) {
      return 'is a trace of torch.profiler without events';
    }
    const head = dictOf(readJson(this.#head.toString()).value);
    const run = dictOf(head?.get('distributedInfo'));
    const rank = intOf(run?.get('rank')) ?? named;
    if (rank === null || rank < 0) {
      return 'is a trace of torch.profiler of no rank: the process group was made after the profiler had started, or there is none';
    }
    const groups = this.#groups(run);
    const operations = this.#operations(groups);
    if (operations.length === 0) {
      return this.#unnoted > 0
        ? `has ${countOf(this.#unnoted, 'communication kernel')} that ${this.#unnoted === 1 ? 'does' : 'do'} not tell ${this.#unnoted === 1 ? 'its' : 'their'} process group: profile with torch 2.3 or newer, and with ProfilerActivity.CPU beside CUDA`
        : 'is a trace of torch.profiler without communication on a GPU';
    }
    return {
      rank,
      worldSize: intOf(run?.get('world_size')) ?? null,
      steps: this.#steps.map(({ step }) => step).sort((a, b) => a - b),
      operations,
      groups: [...groups.values()],
      computing: new Coverage(this.#computing),
      problem: this.#problem(),
    };
  }

  #problem(): string | null {
    if (this.#computing.length + this.#communications.length >= MAX_KERNELS) {
      return `only the first ${MAX_KERNELS} kernels were read`;
    }
    if (this.#scanner.state === 'overlong') {
      return 'has an event of more than 1 MiB';
    }
    return this.#scanner.state === 'ended' ? null : 'breaks off';
  }

  #event(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes);
    if (!WANTED.test(text)) {
      return;
    }
    const event = dictOf(readJson(text).value);
    const start = numberOf(event?.get('ts'));
    const duration = numberOf(event?.get('dur'));
    const name = textOf(event?.get('name'));
    if (!event || start === undefined || duration === undefined || name === undefined || duration < 0) {
      return;
    }
    const args = dictOf(event.get('args'));
    const category = textOf(event.get('cat'));
    if (category === 'kernel') {
      this.#kernel(name, { start: start * MICROSECOND, end: (start + duration) * MICROSECOND }, args);
    } else if (category === 'cpu_op' && name === 'record_param_comms') {
      const call = intOf(args?.get('External id'));
      if (call !== undefined && this.#calls.size < MAX_KERNELS) {
        this.#calls.set(call, start);
      }
    } else if (category === 'user_annotation') {
      const step = /^ProfilerStep#(\d{1,9})$/.exec(name)?.[1];
      if (step !== undefined && this.#steps.length < MAX_STEPS) {
        this.#steps.push({ step: Number(step), start, end: start + duration });
      }
    }
  }

  #kernel(name: string, kernel: Interval, args: Dict | undefined): void {
    if (this.#computing.length + this.#communications.length >= MAX_KERNELS) {
      return;
    }
    if (args?.get('Process Group Name') !== undefined && args.get('Collective name') !== undefined) {
      this.#communications.push(this.#communication(kernel, args));
    } else if (/^(?:nccl|rccl|mccl|hccl)/i.test(name)) {
      this.#unnoted++;
    } else {
      this.#computing.push(kernel);
    }
  }

  #communication({ start, end }: Interval, args: Dict): Communication {
    const text = (key: string) => this.#text(args.get(key)) ?? '';
    return {
      groupName: text('Process Group Name') || String(intOf(args.get('Process Group Name')) ?? ''),
      desc: text('Process Group Description'),
      ranks: text('Process Group Ranks'),
      name: text('Collective name'),
      peer: intOf(args.get('Dst Rank')) ?? intOf(args.get('Src Rank')) ?? null,
      input: intOf(args.get('In msg nelems')) ?? -1,
      output: intOf(args.get('Out msg nelems')) ?? -1,
      dtype: text('dtype'),
      call: intOf(args.get('External id')) ?? -1,
      start,
      duration: end - start,
    };
  }

  /** A text of an event, which holds nothing else of the event in memory; undefined for one that no profiler writes. */
  #text(value: Value | undefined): string | undefined {
    const text = textOf(value);
    if (text === undefined || text.length > MAX_TEXT) {
      return undefined;
    }
    const known = this.#texts.get(text);
    if (known === undefined && this.#texts.size < MAX_TEXTS) {
      this.#texts.set(text, text);
      return text;
    }
    return known;
  }

  /** The process groups that the trace lists, by torch's name. */
  #groups(run: Dict | undefined): Map<string, RunGroup> {
    return new Map(
      listOf(run?.get('pg_config')).flatMap((item) => {
        const one = dictOf(item);
        const name = textOf(one?.get('pg_name'));
        const ranks = listOf(one?.get('ranks')).flatMap((rank) => intOf(rank) ?? []);
        // a long list is cut: then the group's size is another
        const whole = ranks.length > 0 && (intOf(one?.get('pg_size')) ?? ranks.length) === ranks.length;
        return name !== undefined && whole
          ? [[name, this.interner.group(name, textOf(one?.get('pg_desc')) ?? '', ranks)] as const]
          : [];
      }),
    );
  }

  #operations(groups: ReadonlyMap<string, RunGroup>): ProfiledOperation[] {
    const steps = this.#steps.toSorted((one, other) => one.start - other.start);
    const stepAt = (time: number): number | null => {
      const last = steps[lastIndex(steps.length, (index) => (steps[index]?.start ?? time) <= time)];
      return last && time <= last.end ? last.step : null;
    };
    return this.#communications
      .sort((a, b) => a.start - b.start)
      .flatMap(({ groupName, desc, ranks, call, ...operation }) => {
        // a long list is cut
        const isWhole = /^\[[\d, ]+\]$/.test(ranks);
        const group =
          groups.get(groupName) ?? (isWhole ? this.interner.writtenGroup(groupName, desc, ranks) : undefined);
        const called = this.#calls.get(call);
        return group ? [{ ...operation, group, step: called === undefined ? null : stepAt(called) }] : [];
      });
  }
}

function numberOf(value: Value | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
