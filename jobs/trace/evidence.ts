import type { Value } from './value';

/** A process group of the run, as the run's own files describe it. */
export interface RunGroup {
  /** torch's name of the group: the same on all members, another for each group. */
  readonly name: string;
  /** `group_desc`: Megatron-LM's tag, `default_pg`, or `undefined` where the program gave none. */
  readonly desc: string;
  /** Global ranks by group rank; empty where no file tells them. */
  readonly ranks: readonly number[];
}

/** What is done, as far as the members of a group must agree on it. */
export interface Operation {
  /** `all_reduce`, `_all_gather_base`, `send`, `coalesced`, ... without the backend in front. */
  readonly name: string;
  /** The group rank at the other end of a `send` or `recv`; null for collectives. */
  readonly peer: number | null;
  /** Elements of all inputs and of all outputs; -1 where the file does not tell. */
  readonly input: number;
  readonly output: number;
  /** torch's names of the element types, such as `Float`; empty where the file does not tell. */
  readonly dtype: string;
}

/** One entry of a rank's ring: an operation that the rank has enqueued. */
export interface Entry {
  /** Counts all entries of the rank from 0, also those that the ring has dropped. */
  readonly record: number;
  readonly group: RunGroup;
  /** Counts the group's collectives, or its point-to-point operations, from 1. */
  readonly seq: number;
  readonly p2p: boolean;
  readonly operation: Operation;
  readonly completed: boolean;
  /** Nanoseconds since 1970, to some hundred; 0 where the file does not tell. */
  readonly created: number;
  /** torch's stack frames, undecoded. */
  readonly frames: readonly Value[];
}

/** How far a rank is in one group. */
export interface Progress {
  readonly group: RunGroup;
  /** The last collective that the rank has enqueued, and the last one that it knows to be through. */
  readonly enqueued: number;
  readonly completed: number;
}

/** What one rank says of itself. */
export interface RankEvidence {
  readonly rank: number;
  /** The ring, the oldest entry first; of logs and broken dumps what can be had. */
  readonly entries: readonly Entry[];
  readonly progress: ReadonlyMap<RunGroup, Progress>;
  /** `dump`: the ring to its end. `part`: the end is not there. `log`: only what the watchdog printed. */
  readonly source: 'dump' | 'part' | 'log';
  /** When the dump was written, as its file tells, in nanoseconds since 1970; null where no file does. */
  readonly written: number | null;
}

/** Where a rank's process runs, as RAS or the recorder tell. */
export interface Place {
  readonly host: string | null;
  readonly gpu: number | null;
  readonly pid: number | null;
}

/** Memory shared by all files of a run: one object for equal groups and operations, so that they compare by identity. */
export class Interner {
  readonly #groups = new Map<string, RunGroup>();
  readonly #written = new Map<string, RunGroup>();
  readonly #ranks = new Map<string, { readonly ranks: readonly number[]; readonly joined: string }>();
  readonly #operations = new Map<string, Operation>();

  group(name: string, desc: string, ranks: readonly number[], joined = ranks.join()): RunGroup {
    return interned(this.#groups, `${name}\0${desc}\0${joined}`, () => ({ name, desc, ranks }));
  }

  /** A group whose ranks are written as torch does, `[0, 2]`: thousands of files write the same ones, which are read once. */
  writtenGroup(name: string, desc: string, ranks: string): RunGroup {
    return interned(this.#written, `${name}\0${desc}\0${ranks}`, () => {
      const members = interned(this.#ranks, ranks, () => {
        const found = [...ranks.matchAll(/\d{1,10}/g)].map(([digits]) => Number(digits));
        return { ranks: found, joined: found.join() };
      });
      return this.group(name, desc, members.ranks, members.joined);
    });
  }

  operation(operation: Operation): Operation {
    const { name, peer, input, output, dtype } = operation;
    return interned(this.#operations, `${name} ${peer} ${input} ${output} ${dtype}`, () => operation);
  }
}

function interned<T>(known: Map<string, T>, key: string, make: () => T): T {
  let value = known.get(key);
  if (value === undefined) {
    value = make();
    known.set(key, value);
  }
  return value;
}

/** One stack frame of an operation. */
export interface StackFrame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}
