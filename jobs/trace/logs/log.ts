import { type LogLine, logLine, type MeasuredRun, MeasuredRunReader } from '../../../layout';
import { EndReader, type ProcessEnd, type RanksEnd } from './ends';
import { type RaisedException, rayException, TracebackReader } from './tracebacks';
import { type GroupStatus, type SetUp, type TimedOut, type WatchdogLine, watchdogLine } from './watchdog';

/** An operation in which a rank has waited in vain, as its watchdog prints it. */
export interface LogWait {
  /** torch's name and description of the group; null for untold. */
  readonly name: string | null;
  readonly desc: string | null;
  readonly groupRank: number | null;
  /** The number of the operation; null for the set-up of a communicator. */
  readonly seq: number | null;
  /** As in dumps; null for untold. */
  readonly op: string | null;
  /** Elements; -1 for unknown. */
  readonly input: number;
  readonly output: number;
  /** The last operation that the rank has enqueued; null for untold. */
  readonly enqueued: number | null;
  /** The rank inside the group that a set-up of a communicator waits for; null for an operation. */
  readonly from: number | null;
}

/** A wait whose group and operation the log does not name. */
export const UNTOLD_WAIT: LogWait = {
  ...{ name: null, desc: null, groupRank: null, seq: null, op: null, input: -1, output: -1 },
  ...{ enqueued: null, from: null },
};

/** How far a rank is in a group, without an operation at fault. */
export type LogProgress = Omit<GroupStatus, 'kind' | 'seq'>;

/** The log lines of one rank. */
export interface RankLog {
  readonly rank: number;
  readonly waits: readonly LogWait[];
  readonly progress: readonly LogProgress[];
  /** Whether the rank's process was alive when another one had timed out. */
  readonly alive: boolean;
  /** The exception that ended it, unless another rank, a person or a scheduler caused it, or the run went on after it. */
  readonly error: string | null;
  /** Whether it raised an exception that another rank, a person or a scheduler caused. */
  readonly caused: boolean;
  readonly end: ProcessEnd | null;
  readonly pid: number | null;
  readonly host: string | null;
}

/** What the logs of a run tell. */
export interface RunLogs {
  readonly ranks: ReadonlyMap<number, RankLog>;
  /** Waits of processes whose rank no line tells. */
  readonly unplaced: readonly LogWait[];
  /** How somebody ended the run from outside: a sentence; null for no sign of that. */
  readonly stopped: string | null;
  /** Exceptions after which the run went on. */
  readonly survived: readonly { readonly rank: number; readonly error: string }[];
  /** Warnings of NCCL, each once. */
  readonly warnings: readonly string[];
  /** Ranks of lines that the layout does not have. */
  readonly beyond: readonly number[];
  readonly measured: MeasuredRun | null;
}

/** The sizes by which ranks of one machine are placed. */
export interface Machines {
  readonly worldSize: number;
  readonly gpusPerNode: number;
}

/** How many processes are followed for each rank of the layout, and for a layout of few ranks: restarts and loaders print, too. */
const PROCESSES_A_RANK = 4;
const FEW_PROCESSES = 4096;
/** The most operations of one rank that are kept. */
const MAX_WAITS = 64;
const MAX_WARNINGS = 8;
/** After how many lines of a training loop an exception has not ended the run: some are printed late. */
const GOES_ON = 3;

/** A line of a training loop, of any framework. */
const PROGRESS = /\b(?:iter(?:ation)?s?|steps?|global_step|epochs?|batch|loss|samples|s\/it|it\/s)\b/i;
/** Lines that also hold such words, but come from what has ended. */
const NO_PROGRESS =
  /Error|Exception|Traceback|^\s+File "|^\s+\^|frame #\d|ProcessGroupNCCL|NCCL (?:WARN|INFO)|^[EWF]\d{4} |srun:|exitcode/;

/** What one process has printed so far. */
class Speaker {
  /** The task of its label: its rank, unless tasks are machines. */
  task: number | null = null;
  readonly traceback = new TracebackReader();
  readonly timedOut: TimedOut[] = [];
  readonly statuses: GroupStatus[] = [];
  readonly setUps: SetUp[] = [];
  alive = false;
  error: (RaisedException & { readonly at: number }) | null = null;
  caused = false;
  /** Lines of a training loop that it printed after its exception. */
  ownProgress = 0;
  end: ProcessEnd | null = null;
  pid: number | null = null;
  host: string | null = null;

  constructor(public rank: number | null) {}
}

/** Collects the evidence of logs by rank, one line at a time, in memory that the number of ranks bounds. */
export class LogReader {
  readonly #speakers = new Map<string, Speaker>();
  readonly #ends = new EndReader();
  readonly #measured = new MeasuredRunReader();
  readonly #warnings = new Set<string>();
  readonly #survived: { rank: number; error: string }[] = [];
  /** Lines of a training loop so far. */
  #progress = 0;
  #interrupted = false;
  /** Whether labels of tasks stand before lines of several ranks: then a task is a machine. */
  #tasksAreNodes = false;

  readonly #most: number;

  constructor(readonly machines: Machines) {
    this.#most = machines.worldSize * PROCESSES_A_RANK + FEW_PROCESSES;
  }

  /** Reads a line; true where it tells something about the run. */
  line(whole: string): boolean {
    let told = false;
    for (const message of messagesOf(whole)) {
      told = this.#part(logLine(message)) || told;
    }
    return told;
  }

  logs(): RunLogs {
    const ranks = new Map<number, RankLog>();
    const unplaced: LogWait[] = [];
    const beyond = new Set<number>();
    for (const speaker of this.#speakers.values()) {
      const rank = this.#rankOf(speaker);
      if (rank === null) {
        unplaced.push(...waitsOf(speaker));
      } else if (rank >= this.machines.worldSize) {
        beyond.add(rank);
      } else {
        ranks.set(rank, merged(ranks.get(rank), this.#rankLog(rank, speaker)));
      }
    }
    return {
      ranks,
      unplaced: unplaced.slice(0, MAX_WAITS),
      stopped: this.#stopped(),
      survived: this.#survived,
      warnings: [...this.#warnings],
      beyond: [...beyond].sort((a, b) => a - b),
      measured: this.#measured.run(),
    };
  }

  #part(line: LogLine): boolean {
    const { text } = line;
    const measured = this.#measured.line(line);
    const end = this.#ends.line(text);
    if (end) {
      this.#ended(end);
    }
    const speaker = this.#speaker(line);
    const event = watchdogLine(text);
    if (event) {
      this.#event(speaker, event);
    }
    const raised = this.#exception(speaker, text);
    const warning = this.#warning(line);
    if (!raised && !event) {
      this.#went(speaker, text, measured);
    }
    return (
      measured || end !== null || event !== null || raised || warning || /ChildFailedError|CANCELLED AT/.test(text)
    );
  }

  /** The process that printed a line, by its rank where a prefix tells it, or by whatever else does. */
  #speaker(line: LogLine): Speaker {
    const { rank, localRank, task, pid, host } = line;
    this.#tasksAreNodes ||= task !== null && (localRank !== null || (rank !== null && rank !== task));
    const process = pid === null ? null : `${host ?? ''} ${pid}`;
    const key =
      rank !== null
        ? `rank ${rank}`
        : process !== null
          ? `process ${process}`
          : `task ${task ?? ''} local ${localRank ?? ''}`;
    let speaker = this.#speakers.get(key);
    if (!speaker) {
      speaker = new Speaker(rank);
      if (this.#speakers.size < this.#most) {
        this.#speakers.set(key, speaker);
      }
    }
    speaker.pid = pid ?? speaker.pid;
    speaker.host = host === null ? speaker.host : copied(host);
    if (rank !== null && process !== null) {
      const own = this.#speakers.get(`process ${process}`);
      if (own) {
        own.rank = rank;
      } else if (this.#speakers.size < this.#most) {
        this.#speakers.set(`process ${process}`, new Speaker(rank));
      }
    }
    if (speaker.rank === null) {
      speaker.rank = this.#placed(line);
      speaker.task = localRank === null ? task : null;
    }
    return speaker;
  }

  /** The rank of a line with the prefixes of a launcher alone; null for unknown. */
  #placed({ localRank, task }: LogLine): number | null {
    const { worldSize, gpusPerNode } = this.machines;
    if (localRank !== null && localRank < gpusPerNode) {
      return task !== null ? task * gpusPerNode + localRank : worldSize <= gpusPerNode ? localRank : null;
    }
    return null;
  }

  /** The rank of a process; that of a task of its own is its number. */
  #rankOf(speaker: Speaker): number | null {
    if (speaker.rank !== null) {
      return speaker.rank;
    }
    return this.#tasksAreNodes ? null : speaker.task;
  }

  #event(speaker: Speaker, event: WatchdogLine): void {
    speaker.alive = true;
    if (event.kind === 'timed-out') {
      keep(speaker.timedOut, event, ['seq', 'op', 'input', 'output', 'groupRank']);
    } else if (event.kind === 'status') {
      keep(speaker.statuses, event, ['seq', 'name', 'desc', 'groupRank']);
    } else if (event.kind === 'set-up') {
      keep(speaker.setUps, event, ['name', 'from']);
    }
  }

  /** Reads a line of a traceback; true at its end. */
  #exception(speaker: Speaker, text: string): boolean {
    const ray = rayException(text);
    if (ray) {
      const own = this.#speakers.get(`process ${ray.host ?? ''} ${ray.pid}`);
      this.#raise(own ?? speaker, ray.raised);
      return true;
    }
    const raised = speaker.traceback.line(text);
    if (raised) {
      this.#raise(speaker, raised);
    }
    return raised !== null;
  }

  #raise(speaker: Speaker, raised: RaisedException): void {
    this.#interrupted ||= raised.interrupt;
    speaker.caused ||= raised.caused;
    if (!raised.caused) {
      speaker.error = { ...raised, text: copied(raised.text), at: this.#progress };
      speaker.ownProgress = 0;
    }
  }

  #warning({ text }: LogLine): boolean {
    const at = text.indexOf('NCCL WARN ');
    if (at >= 0 && this.#warnings.size < MAX_WARNINGS) {
      this.#warnings.add(copied(text.slice(at + 10, at + 210)));
    }
    return at >= 0;
  }

  #went(speaker: Speaker, text: string, measured: boolean): void {
    if (measured || (/\d/.test(text) && PROGRESS.test(text) && !NO_PROGRESS.test(text) && !speaker.traceback.open)) {
      this.#progress++;
      speaker.ownProgress++;
    }
  }

  #ended({ ranks, host, pid, end }: RanksEnd): void {
    for (const rank of ranks) {
      const key = `rank ${rank}`;
      const speaker = this.#speakers.get(key) ?? new Speaker(rank);
      if (this.#speakers.size < this.#most) {
        this.#speakers.set(key, speaker);
      }
      // torchrun tells more than srun, and the first end more than later ones
      speaker.end = speaker.end && !end.first ? speaker.end : end;
      speaker.pid = pid ?? speaker.pid;
      speaker.host = host === null ? speaker.host : copied(host);
    }
  }

  #rankLog(rank: number, speaker: Speaker): RankLog {
    const { alive, error, caused, end, pid, host } = speaker;
    const survived =
      error !== null &&
      (this.#progress - error.at >= GOES_ON || speaker.ownProgress > 0) &&
      !(end?.first === true && end.code !== 0);
    if (survived && this.#survived.length < MAX_WAITS) {
      this.#survived.push({ rank, error: error.text });
    }
    return {
      rank,
      waits: waitsOf(speaker),
      progress: speaker.statuses.filter(({ enqueued }) => enqueued >= 0),
      alive,
      error: error === null || survived ? null : error.text,
      caused,
      end,
      pid,
      host,
    };
  }

  /** Who ended the run, if that came before the end of any rank. */
  #stopped(): string | null {
    const cancelled = this.#ends.cancelled;
    if (cancelled && (cancelled.reason !== null || cancelled.endsBefore === 0)) {
      const reason = cancelled.reason === null ? '' : ` (${cancelled.reason.toLowerCase()})`;
      return `Slurm ended the job from outside${reason}: its signals say nothing about the ranks.`;
    }
    const signals = [...this.#speakers.values()].flatMap(({ end }) => (end && end.code < 0 ? [end.code] : []));
    const [first] = signals;
    const many = first !== undefined && signals.length > 1 && signals.length * 2 > this.machines.worldSize;
    if (many && signals.every((code) => code === first) && (first === -9 || first === -15 || first === -2)) {
      return `All ${signals.length} processes that were ended got the same signal: somebody or something outside ended them.`;
    }
    return this.#interrupted ? 'Somebody interrupted the run.' : null;
  }
}

/** Adds an event unless one with the same values of some fields is there, which the later one replaces. */
function keep<T>(events: T[], event: T, fields: readonly (keyof T)[]): void {
  const at = events.findIndex((one) => fields.every((field) => one[field] === event[field]));
  if (at >= 0) {
    events[at] = event;
  } else if (events.length < MAX_WAITS) {
    events.push(event);
  }
}

/** A text of its own: a part of a line would hold the whole piece of the file in memory. */
function copied(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

/** The messages of a line: a terminal or a paste joins those of several ranks, and each begins with the prefix of its rank. */
function messagesOf(whole: string): string[] {
  return whole.length > 200 && whole.includes(']:[') ? whole.split(/(?=\[rank\d{1,7}\]:\[[EWIF])/) : [whole];
}

/**
 * The operations in which a process waits: what has timed out, with the group of the status that has its number. The rank before
 * `Watchdog caught` is that of the first operation that has timed out in the process, for all later ones, too (`logPrefix` of
 * WorkNCCL is static).
 */
function waitsOf({ rank, task, timedOut, statuses, setUps }: Speaker): LogWait[] {
  const isOne = rank !== null || task !== null;
  const failed = statuses.filter(({ seq }) => seq !== null);
  const waits = failed.map((status): LogWait => {
    const same = timedOut.filter(({ seq }) => seq === status.seq);
    const [one] = same;
    // two groups of one rank may be at the same number
    const clear =
      one && same.every(({ op, input, output }) => op === one.op && input === one.input && output === one.output);
    return { ...UNTOLD_WAIT, ...status, ...(clear && { op: one.op, input: one.input, output: one.output }) };
  });
  const told = new Set(failed.map(({ seq }) => seq));
  const bare = timedOut
    .filter(({ seq }) => !told.has(seq))
    .map(
      (one): LogWait => ({
        ...UNTOLD_WAIT,
        groupRank: isOne && one !== timedOut[0] ? null : one.groupRank,
        ...{ seq: one.seq, op: one.op, input: one.input, output: one.output },
      }),
    );
  const setUp = setUps
    .filter(({ waited }) => waited)
    .map(
      ({ name, groupRank, from }): LogWait => ({
        ...UNTOLD_WAIT,
        ...{ name, desc: name === '0' ? 'default_pg' : null, groupRank, from },
      }),
    );
  return [...waits, ...bare, ...setUp];
}

/** The lines of one rank from two processes' prefixes, such as Ray's and torch's own. */
function merged(known: RankLog | undefined, other: RankLog): RankLog {
  return known
    ? {
        rank: other.rank,
        waits: [...known.waits, ...other.waits].slice(0, MAX_WAITS),
        progress: [...known.progress, ...other.progress].slice(0, MAX_WAITS),
        alive: known.alive || other.alive,
        error: known.error ?? other.error,
        caused: known.caused || other.caused,
        end: known.end ?? other.end,
        pid: known.pid ?? other.pid,
        host: known.host ?? other.host,
      }
    : other;
}
