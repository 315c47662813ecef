/** One timed operation of a group: bytes moved, milliseconds of the slowest rank, bus bandwidth in GB/s. */
export interface Operation {
  readonly bytes: number;
  readonly ms: number;
  readonly busGBs?: number;
}

/** Which process group an event speaks of. */
export interface GroupFields {
  readonly group: number;
  readonly kind: string;
  readonly module: string | null;
  readonly idx: number;
  readonly ranks: readonly number[];
}

/** What went wrong: at most one in a stream. */
export interface Fault extends Partial<GroupFields> {
  readonly ev: 'fault';
  readonly code: string;
  readonly exit: number;
  readonly msg: string;
  /** The ranks that the fault names: the one that failed, those that are missing, or those under suspicion. */
  readonly culprits: readonly number[];
}

/** One line of the event stream, as schemas/smoke-events.schema.json describes it. */
export type SmokeEvent =
  | { readonly ev: 'start'; readonly world: number; readonly groups: number; readonly layout: string }
  | { readonly ev: 'rank'; readonly rank: number; readonly host: string; readonly pid: number }
  | {
      readonly ev: 'phase';
      readonly name: string;
      readonly ok: boolean;
      readonly device?: string;
      readonly software?: readonly string[];
      readonly bytes?: number;
    }
  | ({
      readonly ev: 'group';
      readonly ok: boolean;
      readonly ms: number;
      readonly ops: Readonly<Record<string, Operation>>;
    } & GroupFields)
  | { readonly ev: 'check'; readonly name: string; readonly ok: boolean; readonly msg?: string }
  | Fault
  | {
      readonly ev: 'end';
      readonly ok: boolean;
      readonly verdict: string;
      readonly exit: number;
      readonly secs: number;
    };

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads one line of the event stream.
 * @returns null for a line that is no event of this version: it is passed over, never guessed at
 */
export function parseEvent(line: string): SmokeEvent | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  return isRecord(value) ? eventOf(value) : null;
}

function eventOf(value: Json): SmokeEvent | null {
  switch (value.ev) {
    case 'start':
      return isNumber(value.world) && isNumber(value.groups)
        ? { ev: 'start', world: value.world, groups: value.groups, layout: String(value.layout) }
        : null;
    case 'rank':
      return isNumber(value.rank)
        ? { ev: 'rank', rank: value.rank, host: String(value.host), pid: Number(value.pid) }
        : null;
    case 'phase':
      return {
        ev: 'phase',
        name: String(value.name),
        ok: value.ok === true,
        ...(typeof value.device === 'string' && { device: value.device }),
        ...(Array.isArray(value.software) && { software: value.software.map(String) }),
        ...(isNumber(value.bytes) && { bytes: value.bytes }),
      };
    case 'group': {
      const group = groupOf(value);
      return (
        group && { ev: 'group', ok: value.ok === true, ms: Number(value.ms), ops: operationsOf(value.ops), ...group }
      );
    }
    case 'check':
      return {
        ev: 'check',
        name: String(value.name),
        ok: value.ok === true,
        ...(typeof value.msg === 'string' && { msg: value.msg }),
      };
    case 'fault':
      return faultOf(value);
    case 'end':
      return isNumber(value.exit) && typeof value.verdict === 'string'
        ? { ev: 'end', ok: value.ok === true, verdict: value.verdict, exit: value.exit, secs: Number(value.secs) }
        : null;
    default:
      return null;
  }
}

function faultOf(value: Json): Fault {
  const named = [value.suspect, value.missing, value.rank === undefined ? undefined : [value.rank]].find(Array.isArray);
  return {
    ev: 'fault',
    code: String(value.code),
    exit: Number(value.exit),
    msg: String(value.msg),
    culprits: (named ?? []).filter(isNumber),
    ...groupOf(value),
  };
}

function groupOf(value: Json): GroupFields | null {
  const { group, kind, idx, ranks, module } = value;
  return isNumber(group) && typeof kind === 'string' && isNumber(idx) && Array.isArray(ranks)
    ? { group, kind, module: typeof module === 'string' ? module : null, idx, ranks: ranks.filter(isNumber) }
    : null;
}

function operationsOf(value: unknown): Record<string, Operation> {
  const operations: Record<string, Operation> = {};
  for (const [name, operation] of Object.entries(isRecord(value) ? value : {})) {
    if (isRecord(operation) && isNumber(operation.bytes) && isNumber(operation.ms)) {
      const { bytes, ms, busGBs } = operation;
      operations[name] = { bytes, ms, ...(isNumber(busGBs) && { busGBs }) };
    }
  }
  return operations;
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** Cuts a stream of text into lines; a last line without a break is given by `end`. */
export class LineSplitter {
  #rest = '';

  *feed(text: string): Iterable<string> {
    const lines = (this.#rest + text).split(/\r?\n/);
    this.#rest = lines.pop() ?? '';
    yield* lines;
  }

  *end(): Iterable<string> {
    if (this.#rest !== '') {
      yield this.#rest;
      this.#rest = '';
    }
  }
}
