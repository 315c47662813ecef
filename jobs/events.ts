/** One timed operation of a group: bytes moved, milliseconds of the slowest rank, bus bandwidth in GB/s. */
interface Operation {
  readonly bytes: number;
  readonly ms: number;
  readonly busGBs: number;
}

/** Which process group an event speaks of. */
interface GroupFields {
  /** The group's place in the order of creation. */
  readonly group: number;
  readonly kind: string;
  readonly module: string | null;
  readonly idx: number;
  /** Its global ranks; the first of them where the line would have been too long. */
  readonly ranks: readonly number[];
}

/** The operations of one group, timed at one payload. */
export interface GroupOperations extends GroupFields {
  readonly ops: Readonly<Record<string, Operation>>;
  /** Operations that the backend cannot run, and why. */
  readonly skippedOps: Readonly<Record<string, string>>;
}

/** What went wrong: at most one in a stream. */
export interface Fault extends Partial<GroupFields> {
  readonly ev: 'fault';
  readonly code: string;
  readonly exit: number;
  readonly msg: string;
  /** The ranks that the fault names: the one that failed, those that are missing, or those under suspicion. */
  readonly culprits: readonly number[];
  /** The host of the first of them. */
  readonly host?: string;
  /** Ranks that wait for them. */
  readonly waiting: readonly number[];
}

/** One line of the event stream, as schemas/smoke-events.schema.json describes it. */
export type SmokeEvent =
  | { readonly ev: 'start'; readonly world: number; readonly groups: number; readonly layout: string }
  | {
      readonly ev: 'rank';
      readonly rank: number;
      readonly host: string;
      readonly pid: number;
      /** The scheduler's name of the host. */
      readonly node?: string;
    }
  | {
      readonly ev: 'phase';
      readonly name: string;
      readonly ok: boolean;
      readonly device?: string;
      readonly software?: readonly string[];
      readonly msg?: string;
      /** GPU memory that communicators hold, the most of any rank. */
      readonly bytes?: number;
      /** With `create`: groups made so far, and all of them. */
      readonly done?: number;
      readonly of?: number;
    }
  | ({ readonly ev: 'group'; readonly ok: boolean; readonly ms: number } & GroupOperations)
  | {
      readonly ev: 'check';
      readonly name: string;
      readonly ok: boolean;
      readonly msg?: string;
      /** Why the check was not run. */
      readonly skipped?: string;
      /** With `bandwidth`: one group at one payload. */
      readonly measured?: GroupOperations;
      /** With `all_gather_overlap`: the time in one communicator over the time in two. */
      readonly ratio?: number;
    }
  | Fault
  | {
      readonly ev: 'end';
      readonly ok: boolean;
      readonly verdict: string;
      readonly exit: number;
      readonly secs: number;
      /** Processes that could not be ended. */
      readonly left: readonly number[];
    };

/** A line that is no event of this version. */
class NoEventError extends Error {}

/**
 * Reads one line of the event stream.
 * @returns null for a line that is no event of this version: it is passed over, never guessed at
 */
export function parseEvent(line: string): SmokeEvent | null {
  try {
    return eventOf(new Fields(JSON.parse(line)));
  } catch (error) {
    if (error instanceof NoEventError || error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}

/** The fields of a JSON object, each asked for by the type that it must have. */
class Fields {
  readonly #value: Readonly<Record<string, unknown>>;

  constructor(value: unknown) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new NoEventError();
    }
    this.#value = { ...value };
  }

  has(key: string): boolean {
    return this.#value[key] !== undefined;
  }

  string(key: string): string {
    return string(this.#value[key]);
  }

  number(key: string): number {
    return number(this.#value[key]);
  }

  boolean(key: string): boolean {
    const value = this.#value[key];
    if (typeof value !== 'boolean') {
      throw new NoEventError();
    }
    return value;
  }

  list<T>(key: string, item: (value: unknown) => T): T[] {
    const value = this.#value[key];
    if (!Array.isArray(value)) {
      throw new NoEventError();
    }
    return value.map(item);
  }

  entries<T>(key: string, item: (value: unknown) => T): Record<string, T> {
    const entries = Object.entries(new Fields(this.#value[key]).#value);
    return Object.fromEntries(entries.map(([name, value]) => [name, item(value)]));
  }

  /** `read` of a field that may be absent, as an object to spread. */
  optional<K extends string, T>(key: K, read: (key: K) => T): Partial<Record<K, T>> {
    const found: Partial<Record<K, T>> = {};
    if (this.has(key)) {
      found[key] = read(key);
    }
    return found;
  }
}

function string(value: unknown): string {
  if (typeof value !== 'string') {
    throw new NoEventError();
  }
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new NoEventError();
  }
  return value;
}

function eventOf(fields: Fields): SmokeEvent {
  fields.number('t');
  const ev = fields.string('ev');
  const text = (key: string) => fields.string(key);
  switch (ev) {
    case 'start':
      if (fields.number('version') !== 1) {
        throw new NoEventError();
      }
      return { ev, world: fields.number('world'), groups: fields.number('groups'), layout: fields.string('layout') };
    case 'rank':
      return {
        ev,
        rank: fields.number('rank'),
        host: fields.string('host'),
        pid: fields.number('pid'),
        ...fields.optional('node', text),
      };
    case 'phase':
      return {
        ev,
        name: fields.string('name'),
        ok: fields.boolean('ok'),
        ...fields.optional('device', text),
        ...fields.optional('software', (key) => fields.list(key, string)),
        ...fields.optional('msg', text),
        ...fields.optional('bytes', (key) => fields.number(key)),
        ...fields.optional('done', (key) => fields.number(key)),
        ...fields.optional('of', (key) => fields.number(key)),
      };
    case 'group':
      return {
        ev,
        ok: fields.boolean('ok'),
        ms: fields.number('ms'),
        ...operationsOf(fields),
        ...groupOf(fields),
      };
    case 'check':
      return {
        ev,
        name: fields.string('name'),
        ok: fields.boolean('ok'),
        ...fields.optional('msg', text),
        ...fields.optional('skipped', text),
        ...fields.optional('ratio', (key) => fields.number(key)),
        ...(fields.has('ops') && { measured: { ...operationsOf(fields), ...groupOf(fields) } }),
      };
    case 'fault':
      return faultOf(fields);
    case 'end':
      return {
        ev,
        ok: fields.boolean('ok'),
        verdict: fields.string('verdict'),
        exit: fields.number('exit'),
        secs: fields.number('secs'),
        left: fields.has('left') ? fields.list('left', number) : [],
      };
    default:
      throw new NoEventError();
  }
}

function faultOf(fields: Fields): Fault {
  const ranks = (key: string) => (fields.has(key) ? fields.list(key, number) : undefined);
  const one = fields.has('rank') ? [fields.number('rank')] : [];
  // a fault in the making of a family names no single group
  const family = {
    ...fields.optional('kind', (key) => fields.string(key)),
    ...fields.optional('module', (key) => fields.string(key)),
  };
  return {
    ev: 'fault',
    code: fields.string('code'),
    exit: fields.number('exit'),
    msg: fields.string('msg'),
    culprits: ranks('suspect') ?? ranks('missing') ?? one,
    waiting: ranks('waiting') ?? [],
    ...fields.optional('host', (key) => fields.string(key)),
    ...(fields.has('group') ? groupOf(fields) : family),
  };
}

function groupOf(fields: Fields): GroupFields {
  return {
    group: fields.number('group'),
    kind: fields.string('kind'),
    module: fields.has('module') ? fields.string('module') : null,
    idx: fields.number('idx'),
    ranks: fields.list('ranks', number),
  };
}

/** The operations that were timed, and those that were not. */
function operationsOf(fields: Fields) {
  const ops: Record<string, Operation> = {};
  const skippedOps: Record<string, string> = {};
  for (const [name, operation] of Object.entries(fields.entries('ops', (value) => new Fields(value)))) {
    if (operation.has('skipped')) {
      skippedOps[name] = operation.string('skipped');
    } else {
      ops[name] = {
        bytes: operation.number('bytes'),
        ms: operation.number('ms'),
        busGBs: operation.number('busGBs'),
      };
    }
  }
  return { ops, skippedOps };
}

/** A longer line is broken, in characters: whoever writes without an end must not fill the memory. */
const MAX_LINE = 64 * 1024;

/** Cuts a stream of text into lines of at most MAX_LINE characters; a last line without a break is given by `end`. */
export class LineSplitter {
  #rest = '';

  *feed(text: string): Iterable<string> {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      yield* pieces(line);
    }
    if (this.#rest.length > MAX_LINE) {
      const whole = [...pieces(this.#rest)];
      this.#rest = whole.pop() ?? '';
      yield* whole;
    }
  }

  *end(): Iterable<string> {
    if (this.#rest !== '') {
      yield this.#rest;
      this.#rest = '';
    }
  }
}

function* pieces(line: string): Iterable<string> {
  for (let at = 0; at === 0 || at < line.length; at += MAX_LINE) {
    yield line.slice(at, at + MAX_LINE);
  }
}
