/** How a process ended, according to torchrun or Slurm. */
export interface ProcessEnd {
  /** The exit code; negative: the number of the signal. */
  readonly code: number;
  /** Whether its launcher saw it end first. */
  readonly first: boolean;
  /** Whether the kernel ended it because its memory was used up. */
  readonly outOfMemory: boolean;
}

/** An end with the ranks that it is of. */
export interface RanksEnd {
  readonly ranks: readonly number[];
  readonly host: string | null;
  readonly pid: number | null;
  readonly end: ProcessEnd;
}

const TORCHRUN_FIELD = /^\s{1,16}(time|host|rank|exitcode)\s{1,16}: (\S{1,128})(?: \((?:local_rank|pid): (\d{1,9})\))?/;
const SRUN =
  /^srun: error: (\S{1,128}): tasks? ([\d,[\]-]{1,2000}): (Killed|Terminated|Segmentation fault|Aborted|Out Of Memory|Bus error|Floating point exception|Illegal instruction|Interrupt|Exited with exit code (\d{1,4}))/;
const SIGNALS: Readonly<Record<string, number>> = {
  Interrupt: 2,
  'Illegal instruction': 4,
  Aborted: 6,
  'Bus error': 7,
  'Floating point exception': 8,
  Killed: 9,
  'Out Of Memory': 9,
  'Segmentation fault': 11,
  Terminated: 15,
};
/** Slurm ends a job or step: `*** STEP 17.0 ON node1 CANCELLED AT 2026-11-21T10:00:00 DUE TO TIME LIMIT ***`. */
const CANCELLED =
  /\*\*\* (?:JOB|STEP) \S{1,64} ON \S{1,128} CANCELLED AT \S{1,40}(?: DUE TO ([A-Z][A-Z ,()_-]{0,60}?))?(?:, .{0,60})? ?\*\*\*/;
const STOPPED =
  /^srun: (?:forcing job termination|got SIGCONT|interrupt|Job step aborted: Waiting)|^scancel: |received (?:SIGTERM|SIGINT|SIGUSR1)\b(?:(?!received ).)*(?:shut|stop|exit|sav)|^srun: error: Node failure on (\S{1,128})/i;

/** The most tasks of all lines: a short line may name millions. */
const MAX_TASKS = 1024 * 1024;

/** Reads what launchers say of the ends of processes, line by line. */
export class EndReader {
  #table: { first: boolean; host: string | null; rank: number | null; time: string } | null = null;
  /** The time of the first failure of all agents of torchrun: each prints its own. */
  #earliest: string | null = null;
  #cancelled: { readonly reason: string | null; readonly endsBefore: number } | null = null;
  #ends = 0;
  #tasks = 0;

  /** Why Slurm or a person ended the whole run, from outside; null for no sign of that. */
  get cancelled(): { readonly reason: string | null; readonly endsBefore: number } | null {
    return this.#cancelled;
  }

  /** Reads a line; the end that it tells. */
  line(text: string): RanksEnd | null {
    const found = this.#srun(text) ?? this.#torchrun(text);
    this.#ends += found?.ranks.length ?? 0;
    if (text.includes('CANCELLED AT')) {
      const [whole, reason] = CANCELLED.exec(text) ?? [];
      if (whole !== undefined) {
        this.#cancelled = {
          reason: reason ?? this.#cancelled?.reason ?? null,
          endsBefore: this.#cancelled?.endsBefore ?? this.#ends,
        };
      }
    } else if (STOPPED.test(text)) {
      const node = STOPPED.exec(text)?.[1];
      const reason = node === undefined ? null : `failure of node ${node}`;
      this.#cancelled ??= { reason, endsBefore: this.#ends };
    }
    return found;
  }

  #srun(text: string): RanksEnd | null {
    const [, host, tasks = '', what, code] = text.startsWith('srun: ') ? (SRUN.exec(text) ?? []) : [];
    if (what === undefined) {
      return null;
    }
    const ranks = tasksIn(tasks, MAX_TASKS - this.#tasks);
    this.#tasks += ranks.length;
    return {
      ranks,
      host: host ?? null,
      pid: null,
      end: {
        code: code === undefined ? -(SIGNALS[what] ?? 9) : Number(code),
        first: this.#ends === 0,
        outOfMemory: what === 'Out Of Memory',
      },
    };
  }

  /** The table that torchrun prints when a process has failed: time, host, rank and exit code on lines of their own. */
  #torchrun(text: string): RanksEnd | null {
    if (/^Root Cause \(first observed failure\)/.test(text)) {
      this.#table = { first: true, host: null, rank: null, time: '' };
    } else if (/^Failures:/.test(text)) {
      this.#table = { first: false, host: null, rank: null, time: '' };
    }
    const table = this.#table;
    const [, field, value, pid] = table ? (TORCHRUN_FIELD.exec(text) ?? []) : [];
    if (!table || field === undefined || value === undefined) {
      return null;
    }
    if (field === 'time') {
      table.time = value;
    } else if (field === 'host') {
      table.host = value;
    } else if (field === 'rank') {
      table.rank = /^\d{1,7}$/.test(value) ? Number(value) : null;
    } else if (table.rank !== null && /^-?\d{1,5}$/.test(value)) {
      return this.#torchrunEnd(Number(value), table.rank, pid, table);
    }
    return null;
  }

  #torchrunEnd(
    code: number,
    rank: number,
    pid: string | undefined,
    { first, host, time }: { readonly first: boolean; readonly host: string | null; readonly time: string },
  ): RanksEnd {
    const earliest = this.#earliest === null || time <= this.#earliest;
    this.#earliest = first && earliest ? time : this.#earliest;
    return {
      ranks: [rank],
      host,
      pid: pid === undefined ? null : Number(pid),
      end: { code, first: first && earliest, outOfMemory: false },
    };
  }
}

/** The first `most` tasks of srun's list: `3`, `0-3,7`. */
function tasksIn(text: string, most: number): number[] {
  const found: number[] = [];
  for (const [, from, to = from] of text.matchAll(/(\d{1,7})(?:-(\d{1,7}))?/g)) {
    for (let task = Number(from); task <= Number(to) && found.length < most; task++) {
      found.push(task);
    }
  }
  return found;
}
