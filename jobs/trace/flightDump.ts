import { getOrInsert } from '../collections';
import type { Entry, Interner, Operation, RunGroup, StackFrame } from './evidence';
import { type Dict, dictOf, intOf, listOf, type Salvaged, textOf, type Value } from './value';

/** The most tensors of an operation, dimensions of a tensor and frames of a stack that are read. */
const MAX_PARTS = 4096;
const MAX_DIMS = 32;
const MAX_FRAMES = 64;
/** The most ranks, or characters of their text, of all groups of a dump: a pickle may refer to one list a million times. */
const MAX_MEMBERS = 16 * 1024 * 1024;
/** The most ranks of whom a dump may seem to be. */
const MAX_OWN = 8;
/** The most variants of one operation that are compared before a new object is made. */
const MAX_REMEMBERED = 16;

/** One Flight Recorder dump (torch/csrc/distributed/c10d/FlightRecorderDetail.hpp `dump_dict`, `dump_json`). */
export interface FlightDump {
  readonly groups: readonly RunGroup[];
  readonly entries: readonly Entry[];
  /** The last collective of each group that the rank has enqueued. */
  readonly enqueued: ReadonlyMap<RunGroup, number>;
  /** The ranks that are told by transfers: they number both ends. */
  readonly own: ReadonlySet<number>;
  /** When its first and last operations happened, in nanoseconds since 1970; 0 for unknown. */
  readonly oldest: number;
  readonly newest: number;
  /** Why the end is missing; null for a whole dump. */
  readonly problem: string | null;
}

/**
 * Reads a dump; null for a value of another kind.
 * @param keep the number of last entries to read
 */
export function flightDump({ value, problem: broken }: Salvaged, interner: Interner, keep: number): FlightDump | null {
  const root = dictOf(value);
  if (!root || textOf(root.get('version')) === undefined || !(root.get('pg_config') || root.get('entries'))) {
    return null;
  }
  const groups = groupsOf(root, interner);
  const byName = new Map(groups.map((group) => [group.name, group]));
  const raw = listOf(root.get('entries'));
  const reader = new EntryReader(byName, interner);
  const read = raw.slice(Math.max(0, raw.length - keep)).flatMap((item) => reader.read(item));
  const entries = read.slice(0, firstDamage(read));
  const damage = entries.length < read.length ? `is damaged at entry ${read[entries.length]?.record}` : null;
  const problem = broken ?? damage;
  return {
    groups,
    entries: withCoalescedStates(problem === null ? entries : withoutOpenBatch(entries)),
    enqueued: enqueuedIn(root, reader.groupOfId),
    own: reader.own,
    oldest: reader.oldest === Number.POSITIVE_INFINITY ? 0 : reader.oldest,
    newest: reader.newest,
    problem,
  };
}

/** The innermost frame of an entry; one of torch itself only where there is no other. */
export function callerOf(frames: readonly Value[]): StackFrame | undefined {
  const all = frames.slice(0, MAX_FRAMES).flatMap((item) => {
    const frame = dictOf(item);
    const file = textOf(frame?.get('filename'));
    return frame && file !== undefined
      ? [{ name: textOf(frame.get('name')) ?? '', file, line: intOf(frame.get('line')) ?? 0 }]
      : [];
  });
  return all.find(({ file }) => !/(^|[\\/])torch[\\/]/.test(file)) ?? all[0];
}

function groupsOf(root: Dict, interner: Interner): RunGroup[] {
  let members = 0;
  return [...(dictOf(root.get('pg_config'))?.entries() ?? [])].flatMap(([key, value]) => {
    const config = dictOf(value);
    const ranks = config?.get('ranks');
    members += typeof ranks === 'string' ? ranks.length : listOf(ranks).length;
    const name = textOf(config?.get('name')) ?? key;
    const desc = textOf(config?.get('desc')) ?? '';
    if (!config || members > MAX_MEMBERS) {
      return [];
    }
    return typeof ranks === 'string'
      ? [interner.writtenGroup(name, desc, ranks)]
      : [interner.group(name, desc, listOf(ranks))];
  });
}

/** `pg_status` is keyed by `pg_id`, which only entries relate to a group. */
function enqueuedIn(root: Dict, groupOfId: ReadonlyMap<number, RunGroup>): Map<RunGroup, number> {
  const found = new Map<RunGroup, number>();
  for (const [id, value] of dictOf(root.get('pg_status'))?.entries() ?? []) {
    const group = groupOfId.get(Number(id));
    const enqueued = intOf(dictOf(value)?.get('last_enqueued_collective'));
    if (group && enqueued !== undefined) {
      found.set(group, enqueued);
    }
  }
  return found;
}

/** Converts the dicts of one dump's ring to entries. */
class EntryReader {
  readonly groupOfId = new Map<number, RunGroup>();
  readonly own = new Set<number>();
  oldest = Number.POSITIVE_INFINITY;
  newest = 0;
  readonly #lastOf = new Map<RunGroup, Entry>();

  /** The place of each key in the first dict: the others have the same keys in the same places. */
  readonly #places = new Map<string, { readonly at: number; readonly key: Value | undefined }>();
  readonly #operations = new Map<string, Operation[]>();
  /** By list: a pickle may refer to one list of sizes in each of a million entries. */
  readonly #elements = new Map<Value, number>();

  constructor(
    readonly groups: Map<string, RunGroup>,
    readonly interner: Interner,
  ) {}

  #get(dict: Dict | undefined, key: string): Value | undefined {
    if (!dict) {
      return undefined;
    }
    const place = this.#places.get(key);
    if (!place) {
      const at = dict.items.indexOf(key);
      this.#places.set(key, { at, key: dict.items[at] });
      return dict.get(key);
    }
    return place.at >= 0 && place.at % 2 === 0 && dict.items[place.at] === place.key
      ? dict.items[place.at + 1]
      : dict.get(key);
  }

  /** The entry; none for an incomplete one. */
  read(value: Value): Entry[] {
    const dict = dictOf(value);
    const record = intOf(this.#get(dict, 'record_id'));
    const profile = textOf(this.#get(dict, 'profiling_name'));
    const group = dict ? this.#group(dict) : undefined;
    const p2p =
      this.#get(dict, 'is_p2p') === true || (/:coalesced$/.test(profile ?? '') && this.#closesTransfers(dict, group));
    const seq = intOf(this.#get(dict, p2p ? 'p2p_seq_id' : 'collective_seq_id')) ?? intOf(this.#get(dict, 'seq_id'));
    const state = textOf(this.#get(dict, 'state'));
    if (!dict || !group || record === undefined || seq === undefined || profile === undefined || state === undefined) {
      return [];
    }
    const created = intOf(this.#get(dict, 'time_created_ns')) ?? 0;
    this.#covers(created, intOf(this.#get(dict, 'time_discovered_completed_ns')) ?? 0);
    this.#tells(profile, group);
    const entry = {
      record,
      group,
      seq,
      p2p,
      operation: this.#operation(dict, profile),
      completed: state === 'completed' || (profile.startsWith('gloo:') && this.#get(dict, 'retired') === true),
      created,
      frames: listOf(this.#get(dict, 'frames')),
    };
    this.#lastOf.set(group, entry);
    return [entry];
  }

  #covers(created: number, completed: number): void {
    if (created > 0) {
      this.oldest = Math.min(this.oldest, created);
      this.newest = Math.max(this.newest, created, completed);
    }
  }

  /** Notes the rank itself, which stands before the arrow of a transfer: `send 0->1`. */
  #tells(profile: string, group: RunGroup): void {
    if (profile.endsWith('coalesced') || this.own.size > MAX_OWN) {
      return;
    }
    const place = /^\w+:(?:send|recv) (\d{1,7})(?:->|<-)/.exec(profile)?.[1];
    const rank = place === undefined ? undefined : group.ranks[Number(place)];
    if (rank !== undefined) {
      this.own.add(rank);
    }
  }

  /** Whether an entry closes a batch of transfers: torch does not mark it as a transfer, but gives it their number. */
  #closesTransfers(dict: Dict | undefined, group: RunGroup | undefined): boolean {
    const last = group && this.#lastOf.get(group);
    if (!last) {
      // the ring begins with it
      return (intOf(dict?.get('p2p_seq_id')) ?? 0) > 0;
    }
    return last.p2p && last.seq === intOf(this.#get(dict, 'p2p_seq_id'));
  }

  #group(dict: Dict): RunGroup {
    const id = intOf(this.#get(dict, 'pg_id'));
    const [name, desc] = listOf(this.#get(dict, 'process_group'));
    const key = textOf(name) ?? String(id ?? '');
    const group = getOrInsert(this.groups, key, () => this.interner.group(key, textOf(desc) ?? '', []));
    if (id !== undefined) {
      this.groupOfId.set(id, group);
    }
    return group;
  }

  #elementsOf(sizes: Value | undefined): number {
    if (!Array.isArray(sizes) || sizes.length <= 1) {
      return elements(sizes);
    }
    return getOrInsert(this.#elements, sizes, () => elements(sizes));
  }

  #operation(dict: Dict, profile: string): Operation {
    const input = this.#elementsOf(this.#get(dict, 'input_sizes'));
    const output = this.#elementsOf(this.#get(dict, 'output_sizes'));
    const dtype = typesOf(listOf(this.#get(dict, 'input_dtypes')));
    const known = getOrInsert(this.#operations, profile, () => []);
    const found = known.find((one) => one.input === input && one.output === output && one.dtype === dtype);
    if (found) {
      return found;
    }
    const text = profile.replace(/^\w+:/, '');
    const transfer = /^(send|recv) \d+(?:->|<-)(\d+)$/.exec(text);
    const peer = transfer ? Number(transfer[2]) : null;
    const operation = this.interner.operation({ name: transfer?.[1] ?? text, peer, input, output, dtype });
    if (known.length < MAX_REMEMBERED) {
      known.push(operation);
    }
    return operation;
  }
}

/** The element types of all tensors, each once. */
function typesOf(names: readonly Value[]): string {
  const [first] = names;
  return names.length === 1 && typeof first === 'string'
    ? first
    : [...new Set(names.slice(0, MAX_DIMS).flatMap((name) => textOf(name) ?? []))].join();
}

/** The elements of all tensors: a collective depends on bytes, not on shapes. */
function elements(sizes: Value | undefined): number {
  if (!Array.isArray(sizes)) {
    return -1;
  }
  let total = 0;
  for (const size of (sizes as readonly Value[]).slice(0, MAX_PARTS)) {
    let product = 1;
    for (const dim of listOf(size).slice(0, MAX_DIMS)) {
      product *= intOf(dim) ?? 0;
    }
    total += product;
  }
  return total;
}

/** The place of the first entry that torch cannot have written: it counts entries and the operations of a group upwards, from 1. */
function firstDamage(entries: readonly Entry[]): number {
  const last = new Map<RunGroup, number>();
  for (const [i, { record, group, seq, p2p, operation }] of entries.entries()) {
    const before = p2p ? 0 : (last.get(group) ?? 0);
    // a collective has no other end
    const mixed = operation.peer !== null && !p2p;
    if (mixed || seq < (p2p ? 1 : before) || (i > 0 && record <= (entries[i - 1]?.record ?? -1))) {
      return i;
    }
    last.set(group, p2p ? (last.get(group) ?? 0) : seq);
  }
  return entries.length;
}

/** The entries of a broken dump without an open batch at its end, whose state is unknown without its closing entry. */
function withoutOpenBatch(entries: readonly Entry[]): readonly Entry[] {
  const last = entries.at(-1);
  if (!last?.p2p || last.operation.name === 'coalesced') {
    return entries;
  }
  const first = entries.findLastIndex((entry) => !isOfBatch(entry, last));
  return entries.slice(0, first + 1);
}

/**
 * torch updates only the entry `coalesced` that closes a batch, never the operations of the batch. They get its state, and the
 * closing entry is left out.
 */
function withCoalescedStates(entries: readonly Entry[]): Entry[] {
  const result: Entry[] = [];
  // what an earlier batch has closed
  let closed = 0;
  for (const entry of entries) {
    if (entry.operation.name !== 'coalesced') {
      result.push(entry);
      continue;
    }
    let at = result.length;
    while (at > closed && isOfBatch(result[at - 1], entry)) {
      at--;
    }
    if (at === result.length) {
      result.push(entry);
    }
    for (let i = at; i < result.length; i++) {
      const part = result[i];
      if (part && part !== entry) {
        result[i] = { ...part, completed: entry.completed };
      }
    }
    closed = result.length;
  }
  return result;
}

function isOfBatch(part: Entry | undefined, batch: Entry): boolean {
  return part?.group === batch.group && part.p2p === batch.p2p && part.seq === batch.seq && !part.completed;
}
