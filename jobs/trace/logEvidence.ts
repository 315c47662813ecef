import { getOrInsert, groupedBy } from '../collections';
import type { Entry, Interner, RankEvidence, RunGroup } from './evidence';
import { INFERRED_DESC, type LayoutGroups, WORLD_DESC } from './groupComparison';
import { type LogWait, type RunLogs, UNTOLD_WAIT } from './logs/log';
import { UNTOLD } from './mismatch';
import { SET_UP } from './waits';

/** The evidence of logs by rank, and what they leave open. */
export interface LogEvidence {
  readonly ranks: readonly RankEvidence[];
  /** Sentences about waits whose group or rank the log does not tell. */
  readonly open: readonly string[];
}

/** The most sentences about open waits. */
const MAX_OPEN = 4;

/** Operations whose two ends count for themselves: their numbers are not those of other members. */
const TRANSFERS: ReadonlySet<string> = new Set(['send', 'recv', 'coalesced']);

/**
 * Finds the groups of the waits that logs tell. Older torch names no group: then it is the one group of the layout that has the rank in
 * this place and the size that the elements of a gather tell, and in which not everybody waits in the same operation.
 */
export function logEvidence(
  logs: RunLogs,
  layout: LayoutGroups,
  groups: readonly RunGroup[],
  interner: Interner,
): LogEvidence {
  const located = new WaitGroups(logs, layout, groups, interner);
  const ranks = new Map<number, { entries: Entry[]; enqueued: Map<RunGroup, number> }>();
  const open: string[] = [];
  const of = (rank: number) => getOrInsert(ranks, rank, () => ({ entries: [], enqueued: new Map() }));
  for (const { rank, wait } of located.waits) {
    const found = rank === null ? [] : located.groupsOf(rank, wait);
    const [group] = found;
    if (rank === null || !group || found.length > 1) {
      open.push(openText(rank, wait, found, layout));
      continue;
    }
    const { entries, enqueued } = of(rank);
    entries.push(entryOf(entries.length, wait, group, interner));
    if (wait.enqueued !== null && wait.enqueued >= 0 && !isTransfer(wait)) {
      enqueued.set(group, wait.enqueued);
    }
  }
  for (const { rank, progress: told } of logs.ranks.values()) {
    for (const one of told) {
      const [group, other] = located.groupsOf(rank, { ...UNTOLD_WAIT, ...one });
      if (group && !other && !ranks.get(rank)?.enqueued.has(group)) {
        of(rank).enqueued.set(group, one.enqueued);
      }
    }
  }
  return {
    ranks: [...ranks].map(([rank, told]) => ({ rank, ...told, source: 'log', written: null })),
    open: open.slice(0, MAX_OPEN),
  };
}

function isTransfer({ op }: LogWait): boolean {
  return op !== null && TRANSFERS.has(op);
}

function entryOf(record: number, wait: LogWait, group: RunGroup, interner: Interner): Entry {
  const { from, op, input, output } = wait;
  const name = from === null ? (op ?? UNTOLD) : SET_UP;
  const operation = interner.operation({ name, peer: from, input, output, dtype: '' });
  const p2p = from !== null || isTransfer(wait);
  return { record, group, seq: wait.seq ?? 0, p2p, operation, completed: false, created: 0, frames: [] };
}

interface PlacedWait {
  /** Null for unknown. */
  readonly rank: number | null;
  readonly wait: LogWait;
}

/** The groups that the waits of logs may belong to. */
class WaitGroups {
  readonly waits: readonly PlacedWait[];
  /** By name of a group, the ranks that wait in it. */
  readonly #byName: ReadonlyMap<string, readonly PlacedWait[]>;
  readonly #byRank: ReadonlyMap<number | null, readonly PlacedWait[]>;

  constructor(
    logs: RunLogs,
    readonly layout: LayoutGroups,
    readonly groups: readonly RunGroup[],
    readonly interner: Interner,
  ) {
    const placed = [...logs.ranks.values()].flatMap(({ rank, waits }) => waits.map((wait) => ({ rank, wait })));
    const unplaced = logs.unplaced.map((wait) => ({ rank: this.#rankOfUnplaced(wait), wait }));
    this.waits = [...placed, ...unplaced];
    this.#byName = groupedBy(
      this.waits.filter(({ rank, wait }) => rank !== null && wait.name !== null),
      ({ wait }) => wait.name ?? '',
    );
    this.#byRank = groupedBy(this.waits, ({ rank }) => rank);
  }

  /** The groups that a wait of a rank may belong to: one where it is known. */
  groupsOf(rank: number, wait: LogWait): readonly RunGroup[] {
    const { name, desc } = wait;
    const known = this.groups.find((one) => name !== null && one.name === name && one.ranks.includes(rank));
    if (known) {
      return [known];
    }
    if (desc === WORLD_DESC) {
      return [this.interner.group(name ?? '0', WORLD_DESC, this.layout.world)];
    }
    const described = desc === null ? null : this.layout.ranksOf(desc, rank);
    if (desc !== null) {
      return described ? [this.interner.group(name ?? '', desc, described)] : [];
    }
    const possible = this.layout.membersAround(rank).filter((ranks) => this.#fits(ranks, rank, wait));
    const blocked = possible.filter((ranks) => !this.#everybodyWaits(ranks, wait));
    return (blocked.length > 0 ? blocked : possible).map((ranks) =>
      this.interner.group(name ?? `of ${ranks.join()}`, INFERRED_DESC, ranks),
    );
  }

  #fits(ranks: readonly number[], rank: number, { groupRank, op, input, output, from, name }: LogWait): boolean {
    const size = sizeTold(op, input, output);
    const namesakes = name === null ? [] : (this.#byName.get(name) ?? []);
    return (
      (groupRank === null || ranks.indexOf(rank) === groupRank) &&
      (size === null || ranks.length === size) &&
      (from === null || from < ranks.length) &&
      namesakes.every((one) => one.wait.groupRank === null || ranks[one.wait.groupRank] === one.rank)
    );
  }

  /** Whether all members wait in the same operation: then it would have run. */
  #everybodyWaits(ranks: readonly number[], { seq, op }: LogWait): boolean {
    return (
      seq !== null &&
      ranks.every((member) => this.#byRank.get(member)?.some(({ wait }) => wait.seq === seq && wait.op === op))
    );
  }

  /** Without any prefix, the rank inside the group is the global rank where only the default group is large enough. */
  #rankOfUnplaced({ groupRank, op, input, output, desc }: LogWait): number | null {
    const { worldSize } = this.layout.layout;
    const size = sizeTold(op, input, output);
    const onlyWorld =
      desc === WORLD_DESC ||
      size === worldSize ||
      this.layout.sizes.every((one) => one === worldSize || one <= Math.max(1, groupRank ?? 0));
    return groupRank !== null && groupRank < worldSize && onlyWorld ? groupRank : null;
  }
}

/** The number of members that the elements of a gather or scatter tell; null for untold. */
function sizeTold(op: string | null, input: number, output: number): number | null {
  const [small, large] = /scatter/.test(op ?? '')
    ? [output, input]
    : /gather/.test(op ?? '')
      ? [input, output]
      : [-1, -1];
  const size = small > 0 ? large / small : 0;
  return Number.isInteger(size) && size > 1 ? size : null;
}

function openText(rank: number | null, wait: LogWait, possible: readonly RunGroup[], layout: LayoutGroups): string {
  const who = rank === null ? `A rank, number ${wait.groupRank ?? 'unknown'} of its group,` : `Rank ${rank}`;
  const what =
    wait.from === null
      ? `${wait.op ?? 'an operation'}${wait.seq === null ? '' : ` #${wait.seq}`}${wait.input >= 0 ? ` of ${wait.input} elements` : ''}`
      : 'the set-up of a communicator';
  const names = [...new Set(possible.map((group) => layout.nameOf(group)))];
  const which = names.length > 0 ? `it may be ${names.slice(0, 4).join(', or ')}` : 'the layout has no group that fits';
  return `${who} waits in ${what}; the log does not tell in which group: ${which}.`;
}
