import type { Fault, GroupOperations } from './smokeResult';

/** A line that is not an event of this version. */
class NoEventError extends Error {}

/** Reads a JSON value of one type. Throws NoEventError for another type. */
type Read<T> = (value: unknown) => T;

type Shape = Readonly<Record<string, Read<unknown>>>;

type ValuesOf<S extends Shape> = { readonly [Key in keyof S]: ReturnType<S[Key]> };

const string = typed<string>((value) => typeof value === 'string');
const number = typed<number>((value) => Number.isFinite(value));
const boolean = typed<boolean>((value) => typeof value === 'boolean');
const object = typed<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
);

function typed<T>(fits: (value: unknown) => boolean): Read<T> {
  return (value) => {
    if (!fits(value)) {
      throw new NoEventError();
    }
    return value as T;
  };
}

function list<T>(item: Read<T>): Read<readonly T[]> {
  const array = typed<unknown[]>(Array.isArray);
  return (value) => array(value).map(item);
}

/** The value where a field is absent. */
function otherwise<T, D>(read: Read<T>, absent: D): Read<T | D> {
  return (value) => (value === undefined ? absent : read(value));
}

/** Reads an object with fields that it must have and fields that it may have; passes over others. */
function fields<R extends Shape, O extends Shape>(required: R, optional: O): Read<ValuesOf<R> & Partial<ValuesOf<O>>> {
  return (value) => {
    const all = object(value);
    const present = Object.entries(optional).filter(([key]) => all[key] !== undefined);
    const entries = [...Object.entries(required), ...present].map(([key, read]) => [key, read(all[key])]);
    return Object.fromEntries(entries) as ValuesOf<R> & Partial<ValuesOf<O>>;
  };
}

/** The fields of an event that say which process group it is about. */
const GROUP = {
  group: number,
  kind: string,
  module: otherwise(string, null),
  idx: number,
  ranks: list(number),
} as const;

const timed = fields({ bytes: number, ms: number, busGBs: number }, {});
const skipped = fields({ skipped: string }, {});

function groupOperations(value: unknown): GroupOperations {
  const ops: Record<string, ReturnType<typeof timed>> = {};
  const skippedOps: Record<string, string> = {};
  for (const [name, operation] of Object.entries(object(object(value).ops))) {
    if (object(operation).skipped === undefined) {
      ops[name] = timed(operation);
    } else {
      skippedOps[name] = skipped(operation).skipped;
    }
  }
  return { ops, skippedOps, ...fields(GROUP, {})(value) };
}

function fault(value: unknown): Omit<Fault, 'ev'> {
  const ranks = list(number);
  const { suspect, missing, rank } = fields({}, { suspect: ranks, missing: ranks, rank: number })(value);
  // a fault in the creation of a family names no single group
  const group = object(value).group === undefined ? fields({}, { kind: string, module: string }) : fields(GROUP, {});
  return {
    ...fields({ code: string, exit: number, msg: string, waiting: otherwise(ranks, []) }, { host: string })(value),
    culprits: suspect ?? missing ?? (rank === undefined ? [] : [rank]),
    ...group(value),
  };
}

const check = fields(
  { name: string, ok: boolean },
  {
    msg: string,
    /** Why the check was not run. */
    skipped: string,
    /** With `all_gather_overlap`: the time in one communicator over the time in two. */
    ratio: number,
  },
);

/** The readers of the events, by the name of the event. */
const EVENTS = {
  start: fields({ version: typed<1>((version) => version === 1), world: number, groups: number, layout: string }, {}),
  /** `node` is the scheduler's name of the host. */
  rank: fields({ rank: number, host: string, pid: number }, { node: string }),
  phase: fields(
    { name: string, ok: boolean },
    {
      device: string,
      software: list(string),
      msg: string,
      /** The most GPU memory that communicators hold on any rank. */
      bytes: number,
      /** With `create`: groups made so far, and all of them. */
      done: number,
      of: number,
    },
  ),
  group: (value: unknown) => ({ ...fields({ ok: boolean, ms: number }, {})(value), ...groupOperations(value) }),
  /** With `bandwidth`, `measured` is one group at one payload. */
  check: (value: unknown): ReturnType<typeof check> & { readonly measured?: GroupOperations } => ({
    ...check(value),
    ...(object(value).ops !== undefined && { measured: groupOperations(value) }),
  }),
  fault,
  /** `left` are processes that could not be ended. */
  end: fields({ ok: boolean, verdict: string, exit: number, secs: number, left: otherwise(list(number), []) }, {}),
} as const;

/** One line of the event stream, as schemas/smoke-events.schema.json describes it. */
export type SmokeEvent = {
  readonly [Name in keyof typeof EVENTS]: { readonly ev: Name } & ReturnType<(typeof EVENTS)[Name]>;
}[keyof typeof EVENTS];

/**
 * Reads one line of the event stream.
 * @returns null for a line that is not an event of this version
 */
export function parseEvent(line: string): SmokeEvent | null {
  try {
    const value: unknown = JSON.parse(line);
    const { ev } = fields({ ev: string, t: number }, {})(value);
    const read = Object.hasOwn(EVENTS, ev) ? EVENTS[ev as keyof typeof EVENTS] : null;
    return read && ({ ev, ...read(value) } as SmokeEvent);
  } catch (error) {
    if (error instanceof NoEventError || error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}

/** The longest line, in characters; a longer one is cut into several, so that no sender can fill the memory. */
const MAX_LINE = 64 * 1024;

/** Cuts a stream of text into lines of at most MAX_LINE characters. */
export class LineSplitter {
  #rest = '';

  /** @param take receives each line */
  constructor(readonly take: (line: string) => void) {}

  feed(text: string): void {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      for (let at = 0; at === 0 || at < line.length; at += MAX_LINE) {
        this.take(line.slice(at, at + MAX_LINE));
      }
    }
    for (; this.#rest.length > MAX_LINE; this.#rest = this.#rest.slice(MAX_LINE)) {
      this.take(this.#rest.slice(0, MAX_LINE));
    }
  }

  /** Gives the last line where it has no line break. */
  end(): void {
    if (this.#rest !== '') {
      this.take(this.#rest);
    }
  }
}
