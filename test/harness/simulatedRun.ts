import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Checked, denseGrid, processGroups, type ResolvedLayout } from '../../layout';
import { type Plain, pickled, Tuple } from './pickleWriter';

/** A fault planted in one rank of a simulated run. */
export interface PlantedFault {
  readonly rank: number;
  /**
   * `sleep`: the rank stops before the operation and can write its dump; `stop`: it cannot. `skip` leaves the operation out,
   * `swap` does it behind the next one, `twice` does it again, `group` does it on `on`. `size`, `long`, `dtype` and `op` change it:
   * fewer elements, more of them, another type, another operation.
   */
  readonly kind: 'sleep' | 'stop' | 'skip' | 'swap' | 'twice' | 'group' | 'size' | 'long' | 'dtype' | 'op';
  /** In which step, from 0. */
  readonly step: number;
  /** At which operation of that step on a group of this name: `tp`, `pp`, `dp`, ... */
  readonly at: string;
  /** At which of these in the step, from 0. */
  readonly nth?: number;
  /** The group of a `group` fault. */
  readonly on?: string;
}

/** A run to be simulated. */
export interface SimulatedRun {
  readonly faults: readonly PlantedFault[];
  readonly steps: number;
  /** Micro-batches a step. */
  readonly microbatches?: number;
  /** How many entries the ring of a rank holds. */
  readonly ring?: number;
  /** Whether gradients are reduced beside the backward pass. */
  readonly overlap?: boolean;
  /** Whether each transfer is an operation of its own, rather than a part of a batch. */
  readonly unbatched?: boolean;
  /** How groups are named: by numbers as a rule, by hashes (`use_local_synchronization`), or without a description. */
  readonly names?: 'hashes' | 'undescribed';
  /** Ranks whose dump is taken before nothing moves any more: in which round of the simulation. */
  readonly moments?: ReadonlyMap<number, number>;
}

/** What one rank has in its ring when nothing moves any more. */
export interface SimulatedRank {
  readonly rank: number;
  readonly entries: readonly SimulatedEntry[];
  /** Whether it could write a dump. */
  readonly dumps: boolean;
  /** Whether its program is at its end, with nothing pending. */
  readonly finished: boolean;
  /** How many rounds the simulation took. */
  readonly rounds: number;
  /** When it was dumped, in seconds since 1970: early, or when the watchdog has waited in vain. */
  readonly written: number;
}

interface SimulatedEntry {
  readonly record: number;
  readonly group: SimulatedGroup;
  readonly seq: number;
  readonly p2p: boolean;
  readonly op: string;
  readonly size: number;
  readonly dtype: string;
  readonly completed: boolean;
  readonly round: number;
  readonly line: number;
}

interface SimulatedGroup {
  readonly name: string;
  readonly kind: string;
  readonly desc: string;
  readonly ranks: readonly number[];
}

/** Megatron-LM's descriptions of the groups that the simulated program uses. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  tp: 'TENSOR_MODEL_PARALLEL_GROUP',
  cp: 'CONTEXT_PARALLEL_GROUP',
  pp: 'PIPELINE_MODEL_PARALLEL_GROUP',
  ep: 'EXPERT_MODEL_PARALLEL_GROUP',
  dp: 'DATA_PARALLEL_GROUP',
  dp_cp: 'DATA_PARALLEL_GROUP_WITH_CP',
  ep_dp: 'EXPERT_DATA_PARALLEL_GROUP',
  mp: 'MODEL_PARALLEL_GROUP',
  embd: 'EMBEDDING_GROUP',
};

/** One thing that a program does. */
interface Action {
  readonly kind: string;
  readonly op: string;
  readonly size: number;
  readonly dtype: string;
  /** Whether the program goes on before it is through. */
  readonly overlapped: boolean;
  /** Transfers: the stages at the other ends. */
  readonly sends: readonly number[];
  readonly receives: readonly number[];
  readonly step: number;
  readonly fault: PlantedFault | null;
}

/** Plays every rank of a layout through a schedule like Megatron-LM's (1F1B, distributed optimizer) until nothing moves. */
export function simulate(layout: ResolvedLayout, run: SimulatedRun): SimulatedRank[] {
  return new Simulation(layout, run).play();
}

/** The operations of one step of a rank, by the name of their group. */
export function placesOf(layout: ResolvedLayout, run: SimulatedRun, rank: number): ReadonlyMap<string, number> {
  return new Simulation(layout, { ...run, steps: 1, faults: [] }).placesOf(rank);
}

/** How dumps are written. */
export interface DumpForm {
  readonly json: boolean;
  /** How many entries the ring holds. */
  readonly ring: number;
  /** Of the dump's schema: `2.5` to `2.10`. */
  readonly version: string;
}

/** Writes the dumps of a simulated run into a folder, as torch names and writes them; a rank that cannot dump leaves none. */
export function writeDumps(
  folder: string,
  ranks: readonly SimulatedRank[],
  { json = false, ring = 2000, version = '2.10' }: Partial<DumpForm> = {},
): void {
  mkdirSync(folder, { recursive: true });
  for (const rank of ranks.filter(({ dumps }) => dumps)) {
    const dump = dumpOf(rank, ring, version);
    const name = join(folder, `nccl_trace_rank_${rank.rank}`);
    const path = json ? `${name}.json` : name;
    writeFileSync(path, json ? jsonOf(dump) : pickled(dump));
    utimesSync(path, rank.written, rank.written);
  }
}

/** The layout of a text, which must be free of errors. */
export function resolvedOf(checked: Checked): ResolvedLayout {
  if (!checked.resolved) {
    throw new Error(checked.diagnostics.map(({ message }) => message).join('\n'));
  }
  return checked.resolved;
}

class Simulation {
  readonly #groups = new Map<string, readonly SimulatedGroup[]>();
  readonly #ranks: Player[];

  constructor(
    readonly layout: ResolvedLayout,
    readonly run: SimulatedRun,
  ) {
    let name = 0;
    for (const family of processGroups(layout)) {
      if (family.name in DESCRIPTIONS) {
        this.#groups.set(
          family.name,
          Array.from({ length: family.count }, (_, index) => ({
            name: run.names === 'hashes' ? hashed(++name) : String(++name),
            kind: family.name,
            desc: run.names === 'undescribed' ? 'undefined' : (DESCRIPTIONS[family.name] ?? ''),
            ranks: [...family.ranks(index)].sort((a, b) => a - b),
          })),
        );
      }
    }
    this.#ranks = Array.from({ length: layout.worldSize }, (_, rank) => new Player(rank, this.#program(rank)));
  }

  play(): SimulatedRank[] {
    const early = new Map<number, SimulatedRank>();
    let round = 0;
    for (let moved = true; moved; round++) {
      moved = false;
      for (const player of this.#ranks) {
        moved = player.advance((kind) => this.#groupOf(kind, player.rank), round) || moved;
      }
      moved = this.#complete() || moved;
      for (const player of this.#ranks.filter(({ rank }) => this.run.moments?.get(rank) === round)) {
        early.set(player.rank, player.result(round, secondsAt(round)));
      }
    }
    return this.#ranks.map((player) => ({
      ...player.result(round, secondsAt(round) + WATCHDOG),
      ...early.get(player.rank),
    }));
  }

  placesOf(rank: number): Map<string, number> {
    const places = new Map<string, number>();
    for (const { kind } of this.#ranks[rank]?.program ?? []) {
      places.set(kind, (places.get(kind) ?? 0) + 1);
    }
    return places;
  }

  #groupOf(kind: string, rank: number): SimulatedGroup | undefined {
    return this.#groups.get(kind)?.find(({ ranks }) => ranks.includes(rank));
  }

  /** Completes what all members have come to; a member that gave another operation keeps the others waiting. */
  #complete(): boolean {
    let moved = false;
    for (const player of this.#ranks) {
      const pending = player.ready();
      for (const operation of pending) {
        const others = operation.transfers
          ? operation.transfers.map((transfer) => this.#counterpart(player.rank, transfer))
          : operation.group.ranks.map((rank) => this.#ranks[rank]?.collective(operation.group, operation.seq));
        const there = others.every((other) => other !== undefined && (other.started || other.completed));
        const agree = others.every((other) => fits(operation, other));
        if (there && agree && !operation.completed) {
          operation.completed = true;
          moved = true;
        }
      }
    }
    return moved;
  }

  #counterpart(rank: number, { group, send, peer, nth }: Transfer): Operation | undefined {
    return this.#ranks[peer]?.transfer(group, !send, rank, nth);
  }

  #program(rank: number): Action[] {
    const actions: Action[] = [];
    for (let step = 0; step < this.run.steps; step++) {
      actions.push(...this.#step(rank, step));
    }
    return withFaults(
      actions.filter(({ kind }) => (this.#groupOf(kind, rank)?.ranks.length ?? 1) > 1),
      this.run.faults.filter((fault) => fault.rank === rank),
    );
  }

  /** One step of the schedule without interleaving (megatron/core/pipeline_parallel/schedules.py). */
  #step(rank: number, step: number): Action[] {
    const module = this.layout.modules[0];
    const grid = module && denseGrid(module);
    const axis = grid?.axes.find(({ name }) => name === 'pp');
    const stages = axis?.size ?? 1;
    const stage = grid && axis ? grid.indexAlong(axis, rank) : 0;
    const actions: Action[] = [];
    const add = (kind: string, op: string, size: number, overlapped = false) =>
      actions.push({ kind, op, size, dtype: 'Float', overlapped, sends: [], receives: [], step, fault: null });
    const transfer = (sends: readonly number[], receives: readonly number[]) => {
      const inside = (all: readonly number[]) => all.filter((one) => one >= 0 && one < stages);
      const base = { kind: 'pp', op: 'coalesced', size: 8192, dtype: 'BFloat16', overlapped: false, step, fault: null };
      const batches = [
        { ...base, sends: inside(sends), receives: inside(receives) },
        ...inside(sends).map((to) => ({ ...base, op: 'send', sends: [to], receives: [] })),
        ...inside(receives).map((of) => ({ ...base, op: 'recv', sends: [], receives: [of] })),
      ];
      if (batches.length > 1) {
        // neighbours send and receive in turns, as megatron/core/pipeline_parallel/p2p_communication.py does
        const single = stage % 2 === 0 ? batches.slice(1) : batches.slice(1).reverse();
        actions.push(...(this.run.unbatched ? single : batches.slice(0, 1)));
      }
    };
    const compute = () => {
      add('tp', '_all_gather_base', 4096);
      add('cp', 'all_reduce', 1024);
      add('ep', 'all_to_all', 2048);
      add('tp', '_reduce_scatter_base', 4096);
    };
    const count = this.run.microbatches ?? stages;
    const warmup = Math.min(count, stages - stage - 1);
    for (let i = 0; i < warmup; i++) {
      transfer([], [stage - 1]);
      compute();
      transfer([stage + 1], []);
    }
    for (let i = warmup; i < count; i++) {
      if (i === warmup) {
        transfer([], [stage - 1]);
      }
      compute();
      transfer([stage + 1], [stage + 1]);
      compute();
      transfer([stage - 1], i + 1 < count ? [stage - 1] : []);
    }
    for (let i = 0; i < warmup; i++) {
      transfer([], [stage + 1]);
      compute();
      transfer([stage - 1], []);
    }
    add('dp_cp', '_reduce_scatter_base', 65536, this.run.overlap);
    add('ep_dp', '_reduce_scatter_base', 16384, this.run.overlap);
    add('embd', 'all_reduce', 32768);
    add('dp', 'all_reduce', 2);
    add('mp', 'all_reduce', 1);
    add('dp_cp', '_all_gather_base', 65536);
    return actions;
  }
}

function withFaults(actions: readonly Action[], faults: readonly PlantedFault[]): Action[] {
  const result = [...actions];
  for (const fault of faults) {
    const places = result.flatMap(({ kind, step }, at) => (kind === fault.at && step === fault.step ? [at] : []));
    const at = places[fault.nth ?? 0];
    const action = at === undefined ? undefined : result[at];
    if (at === undefined || !action) {
      throw new Error(`rank ${fault.rank} does nothing on ${fault.at} in step ${fault.step}`);
    }
    const next = result[at + 1];
    const changed: Readonly<Record<PlantedFault['kind'], () => readonly Action[]>> = {
      sleep: () => [{ ...action, fault }],
      stop: () => [{ ...action, fault }],
      skip: () => [],
      twice: () => [action, action],
      swap: () => (next ? [next, action] : [action]),
      group: () => [{ ...action, kind: fault.on ?? action.kind }],
      size: () => [{ ...action, size: action.size / 2 }],
      long: () => [{ ...action, size: action.size * 2 }],
      dtype: () => [{ ...action, dtype: 'BFloat16' }],
      op: () => [{ ...action, op: action.op === 'all_reduce' ? '_all_gather_base' : 'all_reduce' }],
    };
    result.splice(at, fault.kind === 'swap' ? 2 : 1, ...changed[fault.kind]());
  }
  return result;
}

interface Transfer {
  readonly group: SimulatedGroup;
  readonly send: boolean;
  readonly peer: number;
  /** How many transfers in this direction with this peer came before. */
  readonly nth: number;
}

interface Operation {
  readonly group: SimulatedGroup;
  readonly seq: number;
  readonly action: Action;
  /** Null for a collective. */
  readonly transfers: readonly Transfer[] | null;
  /** Whether what stands before it on its rank is through. */
  started: boolean;
  completed: boolean;
  /** In which round of the simulation it was enqueued. */
  readonly round: number;
}

function fits({ action, transfers }: Operation, other: Operation | undefined): boolean {
  return (
    other !== undefined &&
    (other.action.op === action.op || transfers !== null) &&
    other.action.dtype === action.dtype &&
    // the smaller one is served by what the larger one sends
    (action.op === 'all_to_all' || action.size <= other.action.size)
  );
}

/** One rank: what it has enqueued, and how far its program is. */
class Player {
  readonly #operations: Operation[] = [];
  readonly #collectives = new Map<SimulatedGroup, Operation[]>();
  readonly #transfers = new Map<string, Operation[]>();
  readonly #batches = new Map<SimulatedGroup, number>();
  #at = 0;
  #stopped: PlantedFault | null = null;

  constructor(
    readonly rank: number,
    readonly program: readonly Action[],
  ) {}

  /** Enqueues what the program comes to: it runs ahead of the device until a transfer, which it waits for. */
  advance(groupOf: (kind: string) => SimulatedGroup | undefined, round: number): boolean {
    const from = this.#at;
    while (this.#at < this.program.length && !this.#stopped) {
      const action = this.program[this.#at];
      const last = this.#operations.at(-1);
      // transfers of one exchange are enqueued together and then waited for
      const waits = last?.transfers && !last.completed && (action?.kind !== 'pp' || action.op === 'coalesced');
      if (!action || waits || this.#newStepBlocked(action)) {
        break;
      }
      if (action.fault) {
        this.#stopped = action.fault;
        break;
      }
      this.#enqueue(action, groupOf(action.kind), round);
      this.#at++;
    }
    return this.#at > from;
  }

  /** The loss is read at the end of a step, so the host waits there. */
  #newStepBlocked({ step }: Action): boolean {
    const last = this.#operations.at(-1);
    return last !== undefined && last.action.step < step && this.#operations.some(({ completed }) => !completed);
  }

  #enqueue(action: Action, group: SimulatedGroup | undefined, round: number): void {
    if (!group) {
      return;
    }
    const base = { group, action, started: false, completed: false, round };
    if (action.sends.length + action.receives.length === 0) {
      const list = this.#collectives.get(group) ?? [];
      this.#collectives.set(group, list);
      const operation = { ...base, seq: list.length + 1, transfers: null };
      list.push(operation);
      this.#operations.push(operation);
      return;
    }
    const seq = (this.#batches.get(group) ?? 0) + 1;
    this.#batches.set(group, seq);
    const transfers: Transfer[] = [];
    const operation = { ...base, seq, transfers };
    for (const [send, stages] of [
      [true, action.sends],
      [false, action.receives],
    ] as const) {
      for (const stage of stages) {
        const peer = group.ranks[stage] ?? 0;
        const key = `${group.name} ${send} ${peer}`;
        const list = this.#transfers.get(key) ?? [];
        this.#transfers.set(key, list);
        transfers.push({ group, send, peer, nth: list.length });
        list.push(operation);
      }
    }
    this.#operations.push(operation);
  }

  /** Operations that the device has come to. An overlapped one holds up nothing behind it. */
  ready(): Operation[] {
    const ready: Operation[] = [];
    for (const operation of this.#operations) {
      if (!operation.completed) {
        operation.started = true;
        ready.push(operation);
        if (!operation.action.overlapped) {
          break;
        }
      }
    }
    return ready;
  }

  collective(group: SimulatedGroup, seq: number): Operation | undefined {
    return this.#collectives.get(group)?.[seq - 1];
  }

  transfer(group: SimulatedGroup, send: boolean, peer: number, nth: number): Operation | undefined {
    return this.#transfers.get(`${group.name} ${send} ${peer}`)?.[nth];
  }

  result(rounds: number, written: number): SimulatedRank {
    const entries = this.#operations.flatMap((operation) => entriesOf(operation, this.rank));
    return {
      rounds,
      written,
      finished: this.#at === this.program.length && this.#operations.every(({ completed }) => completed),
      rank: this.rank,
      entries: entries.map((entry, record) => ({ ...entry, record })),
      dumps: this.#stopped?.kind !== 'stop',
    };
  }
}

/** torch records every transfer of a batch, never to touch it again, and then the batch. */
function entriesOf(
  { group, seq, action, transfers, completed, round }: Operation,
  rank: number,
): Omit<SimulatedEntry, 'record'>[] {
  const { op, size, dtype, step } = action;
  const base = { group, seq, size, dtype, round, line: 100 + step };
  if (!transfers) {
    return [{ ...base, p2p: false, op, completed }];
  }
  const own = group.ranks.indexOf(rank);
  const batched = op === 'coalesced';
  return [
    ...transfers.map(({ send, peer }) => ({
      ...base,
      p2p: true,
      op: `${send ? 'send' : 'recv'} ${own}${send ? '->' : '<-'}${group.ranks.indexOf(peer)}`,
      completed: completed && !batched,
    })),
    ...(batched ? [{ ...base, p2p: true, op, completed }] : []),
  ];
}

const START = 1_795_299_293_000_000_000n;
const ROUND = 10_000_000n;
/** How long a watchdog waits, in seconds. */
const WATCHDOG = 600;

/** When a round begins, in seconds since 1970; the dump of a round holds some entries more. */
function secondsAt(round: number): number {
  return Number((START + BigInt(round + 1) * ROUND) / 1_000_000n) / 1000;
}

/** A name such as torch makes for groups that not all ranks take part in making. */
function hashed(name: number): string {
  return (BigInt(name) * 0x9e37_79b9_7f4a_7c15_f39cn).toString(16).padStart(40, '0').slice(-40);
}

/** torch reads the version as text: `2.10` comes behind `2.9`. */
function isBefore(version: string, minor: number): boolean {
  return Number(version.split('.')[1]) < minor;
}

function dumpOf({ entries }: SimulatedRank, ring: number, version: string): { readonly [key: string]: Plain } {
  const groups = [...new Set(entries.map(({ group }) => group))];
  const frames = new Map<number, Plain>();
  const frame = (line: number): Plain => {
    const known = frames.get(line) ?? { name: 'step', filename: 'train.py', line };
    frames.set(line, known);
    return known;
  };
  const collectives = (group: SimulatedGroup) => entries.filter((entry) => entry.group === group && !entry.p2p);
  const ids = new Map(groups.map((group, id) => [group, 10 * (id + 1)]));
  return {
    version,
    pg_config: Object.fromEntries(
      groups.map((group) => [group.name, { name: group.name, desc: group.desc, ranks: `[${group.ranks.join(', ')}]` }]),
    ),
    [isBefore(version, 10) ? 'nccl_version' : 'comm_lib_version']: '2.28.9',
    pg_status: Object.fromEntries(
      groups.map((group) => [
        String(ids.get(group)),
        {
          last_enqueued_collective: collectives(group).length,
          last_started_collective: -1,
          last_completed_collective: collectives(group).filter(({ completed }) => completed).length,
        },
      ]),
    ),
    entries: entries.slice(-ring).map((entry) => entryOf(entry, ids.get(entry.group) ?? 0, frame(entry.line), version)),
  };
}

function entryOf(
  { record, group, seq, p2p, op, size, dtype, completed, round, line }: SimulatedEntry,
  id: number,
  frame: Plain,
  version: string,
): { readonly [key: string]: Plain } {
  const time = START + BigInt(round) * ROUND + BigInt(record) * 1000n;
  return {
    frames: [frame],
    record_id: record,
    pg_id: id,
    process_group: new Tuple([group.name, group.desc]),
    ...(isBefore(version, 9) ? {} : { thread_name: 'python', thread_id: String(line) }),
    collective_seq_id: p2p ? 0 : seq,
    p2p_seq_id: p2p ? seq : 0,
    op_id: record + 1,
    profiling_name: `nccl:${op}`,
    time_created_ns: time,
    input_sizes: op === 'coalesced' ? [] : [[size]],
    input_dtypes: op === 'coalesced' ? [] : [dtype],
    output_sizes: op === 'coalesced' ? [] : [[size]],
    output_dtypes: op === 'coalesced' ? [] : [dtype],
    state: completed ? 'completed' : 'scheduled',
    time_discovered_started_ns: null,
    time_discovered_completed_ns: completed ? time + 500n : null,
    retired: completed,
    timeout_ms: 600_000,
    // torch says so of the transfers alone, not of the batch
    is_p2p: p2p && op !== 'coalesced',
  };
}

/** As torch's JSON dumps: keys sorted, no frames, numbers of `pg_status` as text. */
function jsonOf(dump: { readonly [key: string]: Plain }): string {
  return JSON.stringify(sortedKeys(dump), (_, value) => (typeof value === 'bigint' ? Number(value) : value));
}

function sortedKeys(value: unknown): unknown {
  if (value instanceof Tuple) {
    return value.items;
  }
  if (Array.isArray(value)) {
    return value.map(sortedKeys);
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([key]) => key !== 'frames')
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([key, item]) => [key, sortedKeys(item)]),
      )
    : value;
}
