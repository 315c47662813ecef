/** A time-out that the watchdog of a rank has logged. */
interface LogFailure {
  /** torch's name of the group. */
  readonly group: string;
  readonly desc: string;
  readonly seq: number;
  readonly enqueued: number;
  readonly completed: number;
}

/** How a process ended, according to torchrun or srun. */
interface ProcessEnd {
  /** The exit code; negative: the number of the signal. */
  readonly code: number;
  /** Whether torchrun saw it end first. */
  readonly first: boolean;
  readonly by: 'torchrun' | 'srun';
}

/** The log lines of one rank. */
export interface RankLog {
  readonly rank: number;
  readonly failures: LogFailure[];
  /** Whether the rank's process was alive when another one had timed out. */
  alive: boolean;
  /** The exception that ended it, unless the end of another rank caused it. */
  error: string | null;
  end: ProcessEnd | null;
  pid: number | null;
  host: string | null;
}

const PREFIX = /^(?:\S{1,64}:)?\[rank(\d{1,7})\]:/;
const FAILURE =
  /\[PG ID \d+ PG GUID ([^\s(]*)(?:\(([^)]*)\))? Rank \d+\].*work sequence id: (-?\d+) PG status: last enqueued work: (-?\d+), last completed work: (-?\d+)/;
const ALIVE = /flight recorder dump signal|Received a dump signal|preparing to dump debug info/;
const EXCEPTION = /^\s?([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Failure|Fault|OutOfMemory\w*)): ?(.*)$/;
/** Exceptions that the end of another rank causes. */
const CAUSED =
  /DistBackendError|DistNetworkError|DistStoreError|ChildFailedError|SignalException|Connection (?:reset|closed)|Watchdog|Gloo connect|Connection refused|NCCL (?:communicator was aborted|timeout)|remote process exited/;
const TORCHRUN_FIELD = /^\s+(host|rank|exitcode)\s+: (\S+)(?: \((?:local_rank|pid): (\d+)\))?/;
const SRUN =
  /^srun: error: (\S+): tasks? (\d+): (Killed|Segmentation fault|Aborted|Out Of Memory|Exited with exit code (\d+))/;
const SRUN_SIGNALS: Readonly<Record<string, number>> = {
  Killed: 9,
  'Out Of Memory': 9,
  'Segmentation fault': 11,
  Aborted: 6,
};

/** Longer lines are cut: the patterns match in the first few hundred characters. */
const MAX_LINE = 4096;

/** Whether `LogReader` reads something from a line. */
export function isTellingLine(line: string): boolean {
  return PREFIX.test(line) || SRUN.test(line) || /ChildFailedError|Root Cause \(first observed failure\)/.test(line);
}

/** Collects the evidence of logs by rank, one line at a time. */
export class LogReader {
  readonly ranks = new Map<number, RankLog>();
  #torchrun: { first: boolean; host: string | null; rank: number | null } | null = null;
  readonly #tracebacks = new Set<number>();

  line(whole: string): void {
    const line = whole.slice(0, MAX_LINE);
    const rank = PREFIX.exec(line)?.[1];
    if (rank !== undefined) {
      this.#rankLine(this.#of(Number(rank)), line.slice(line.indexOf(']:') + 2));
      return;
    }
    const [, host, task, what, code] = SRUN.exec(line) ?? [];
    if (task !== undefined && what !== undefined) {
      const log = this.#of(Number(task));
      log.host ??= host ?? null;
      log.end ??= { code: code === undefined ? -(SRUN_SIGNALS[what] ?? 9) : Number(code), first: false, by: 'srun' };
      return;
    }
    this.#torchrunLine(line);
  }

  #of(rank: number): RankLog {
    let log = this.ranks.get(rank);
    if (!log) {
      log = { rank, failures: [], alive: false, error: null, end: null, pid: null, host: null };
      this.ranks.set(rank, log);
    }
    return log;
  }

  #rankLine(log: RankLog, line: string): void {
    const [, group, desc, seq, enqueued, completed] = FAILURE.exec(line) ?? [];
    if (group !== undefined) {
      log.failures.push({
        group,
        desc: desc ?? '',
        seq: Number(seq),
        enqueued: Number(enqueued),
        completed: Number(completed),
      });
    }
    log.alive ||= ALIVE.test(line) || group !== undefined;
    this.#exception(log, line);
  }

  /** The last line of a Python traceback. */
  #exception(log: RankLog, line: string): void {
    if (line.includes('Traceback (most recent call last)')) {
      this.#tracebacks.add(log.rank);
      return;
    }
    const [, type, message] = EXCEPTION.exec(line) ?? [];
    if (type !== undefined && this.#tracebacks.delete(log.rank) && !CAUSED.test(`${type}: ${message}`)) {
      log.error ??= `${type}: ${message}`;
    }
  }

  /** The table that torchrun prints when a process has failed: host, rank and exit code on lines of their own. */
  #torchrunLine(line: string): void {
    if (/^Root Cause \(first observed failure\)/.test(line)) {
      this.#torchrun = { first: true, host: null, rank: null };
    } else if (/^Failures:/.test(line)) {
      this.#torchrun = { first: false, host: null, rank: null };
    }
    const [, field, value, pid] = TORCHRUN_FIELD.exec(line) ?? [];
    if (!this.#torchrun || field === undefined || value === undefined) {
      return;
    }
    if (field === 'host') {
      this.#torchrun.host = value;
    } else if (field === 'rank') {
      this.#torchrun.rank = Number(value);
    } else if (this.#torchrun.rank !== null && Number.isInteger(this.#torchrun.rank)) {
      const log = this.#of(this.#torchrun.rank);
      log.end = { code: Number(value), first: this.#torchrun.first, by: 'torchrun' };
      log.pid = pid === undefined ? log.pid : Number(pid);
      log.host = this.#torchrun.host ?? log.host;
    }
  }
}
