import { getOrInsert } from '../collections';
import { intOf, type Value } from './value';

/** A process group of the run, as the files of the run describe it. */
export interface RunGroup {
  /** torch's name of the group: the same on all its members, unique among groups. */
  readonly name: string;
  /** `group_desc`: Megatron-LM's tag, `default_pg`, or `undefined` where the program gave none. */
  readonly desc: string;
  /** Global ranks by group rank; empty for unknown. */
  readonly ranks: readonly number[];
}

/** The properties of an operation on which the members of a group must agree. */
export interface Operation {
  /** `all_reduce`, `_all_gather_base`, `send`, `coalesced`, ... without the backend in front. */
  readonly name: string;
  /** The group rank at the other end of a `send` or `recv`; null for collectives. */
  readonly peer: number | null;
  /** Elements of all inputs and of all outputs; -1 for unknown. */
  readonly input: number;
  readonly output: number;
  /** torch's names of the element types, such as `Float`; empty for unknown. */
  readonly dtype: string;
}

/** One entry of a rank's ring: an operation that the rank has enqueued. */
export interface Entry {
  /** The number of the entry among all of the rank, from 0, with those that the ring has dropped. */
  readonly record: number;
  readonly group: RunGroup;
  /** The number among the group's collectives, or among its transfers, from 1. */
  readonly seq: number;
  readonly p2p: boolean;
  readonly operation: Operation;
  readonly completed: boolean;
  /** Nanoseconds since 1970, rounded to some hundred; 0 for unknown. */
  readonly created: number;
  /** torch's stack frames, undecoded. */
  readonly frames: readonly Value[];
}

/** The evidence of one rank. */
export interface RankEvidence {
  readonly rank: number;
  /** The ring, the oldest entry first; of logs and broken dumps a part of it. */
  readonly entries: readonly Entry[];
  /** The last collective of each group that the rank has enqueued, where its files tell it beside the ring. */
  readonly enqueued: ReadonlyMap<RunGroup, number>;
  /** `dump`: the ring to its end. `part`: without its end. `log`: only what the watchdog printed. */
  readonly source: 'dump' | 'part' | 'log';
  /** When the dump's file was written, in nanoseconds since 1970; null for unknown. */
  readonly written: number | null;
}

/** Where a rank's process runs. */
export interface Place {
  readonly host: string | null;
  readonly gpu: number | null;
  readonly pid: number | null;
}

/** A list of ranks, and its number among all lists. */
interface Members {
  readonly ranks: readonly number[];
  readonly id: number;
}

/** Gives equal groups and operations of all files one object, which saves memory and makes them comparable by identity. */
export class Interner {
  readonly #groups = new Map<string, RunGroup>();
  /** Equal lists of ranks, each with a number of its own. */
  readonly #members = new Map<string, Members>();
  readonly #written = new Map<string, Members>();
  readonly #listed = new WeakMap<readonly unknown[], Members>();
  readonly #operations = new Map<string, Operation>();

  /** A group whose ranks are text, `[0, 2]`, as in JSON dumps; each text is parsed once. */
  writtenGroup(name: string, desc: string, ranks: string): RunGroup {
    const members = getOrInsert(this.#written, ranks, () =>
      this.#equal([...ranks.matchAll(/\d{1,10}/g)].map(([digits]) => Number(digits))),
    );
    return this.#group(name, desc, members);
  }

  /** A group whose ranks are a list, also one of a dump; each list is read once. */
  group(name: string, desc: string, list: readonly Value[]): RunGroup {
    const members = getOrInsert(this.#listed, list, () => this.#equal(list.flatMap((value) => intOf(value) ?? [])));
    return this.#group(name, desc, members);
  }

  #group(name: string, desc: string, { ranks, id }: Members): RunGroup {
    return getOrInsert(this.#groups, `${name}\0${desc}\0${id}`, () => ({ name, desc, ranks }));
  }

  #equal(ranks: readonly number[]): Members {
    return getOrInsert(this.#members, ranks.join(), () => ({ ranks, id: this.#members.size }));
  }

  operation(operation: Operation): Operation {
    const { name, peer, input, output, dtype } = operation;
    return getOrInsert(this.#operations, `${name} ${peer} ${input} ${output} ${dtype}`, () => operation);
  }
}

/** One stack frame of an operation. */
export interface StackFrame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}
