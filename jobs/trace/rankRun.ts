import { getOrInsert } from '../collections';
import type { Entry, RankEvidence, RunGroup } from './evidence';

/**
 * How long an operation must have been pending when a dump was written, in nanoseconds, to count as blocked. The ranks of a
 * run in progress are dumped one after another, so a member may have entered the operation a moment later.
 */
const SETTLED = 3e9;

/** Whether a rank has entered an operation; null for unknown. */
export type Entered = boolean | null;

/** The evidence of one rank, with an index. */
export class RankRun {
  readonly rank: number;
  /** Operations that have not completed, in the order in which they were enqueued. */
  readonly pending: readonly Entry[];
  readonly #lastSeq = new Map<RunGroup, number>();
  #transfers: Map<RunGroup, Map<string, Entry[]>> | null = null;

  constructor(readonly evidence: RankEvidence) {
    this.rank = evidence.rank;
    this.pending = evidence.entries.filter(({ completed }) => !completed);
    for (const { group, seq, p2p } of evidence.entries) {
      if (!p2p) {
        this.#lastSeq.set(group, Math.max(seq, this.#lastSeq.get(group) ?? 0));
      }
    }
  }

  /** Whether the ring holds the rank's last operation. */
  get whole(): boolean {
    return this.evidence.source === 'dump';
  }

  /** The number of the last operation that the ring holds; -1 for none. */
  get lastRecord(): number {
    return this.evidence.entries.at(-1)?.record ?? -1;
  }

  /** Whether the dump was written so long after a moment that it shows all that happened then; true for unknown times. */
  isSettled(since: number): boolean {
    const { written } = this.evidence;
    return written === null || since === 0 || written - since >= SETTLED;
  }

  /** Whether the ring still holds the rank's first operation. */
  get fromStart(): boolean {
    return this.evidence.entries[0]?.record === 0;
  }

  /** The last collective of a group that the rank is known to have entered; 0 for none. */
  lastSeq(group: RunGroup): number {
    return Math.max(this.#lastSeq.get(group) ?? 0, this.evidence.enqueued.get(group) ?? 0);
  }

  /** Whether the rank has entered a collective of a group. */
  entered(group: RunGroup, seq: number): Entered {
    if (this.lastSeq(group) >= seq) {
      return true;
    }
    // a ring that has dropped entries may have dropped all of a group
    const showsLast = this.fromStart || this.#lastSeq.has(group);
    return this.evidence.enqueued.has(group) || (this.whole && showsLast) ? false : null;
  }

  /** The entry of a collective; undefined where the ring does not hold it. */
  entryOf(group: RunGroup, seq: number): Entry | undefined {
    return this.evidence.entries.findLast((entry) => entry.group === group && entry.seq === seq && !entry.p2p);
  }

  /** The transfers to or from one group rank, the oldest first. */
  transfers(group: RunGroup, name: string, peer: number): readonly Entry[] {
    this.#transfers ??= transfersOf(this.evidence.entries);
    return this.#transfers.get(group)?.get(`${name} ${peer}`) ?? [];
  }
}

/** Transfers by group, direction and peer. */
function transfersOf(entries: readonly Entry[]): Map<RunGroup, Map<string, Entry[]>> {
  const found = new Map<RunGroup, Map<string, Entry[]>>();
  for (const entry of entries) {
    const { name, peer } = entry.operation;
    if (peer !== null) {
      const ofGroup = getOrInsert(found, entry.group, () => new Map());
      getOrInsert(ofGroup, `${name} ${peer}`, () => []).push(entry);
    }
  }
  return found;
}

/** All ranks of a run with evidence. */
export class Run {
  readonly ranks: ReadonlyMap<number, RankRun>;
  readonly all: readonly RankRun[];

  constructor(
    readonly worldSize: number,
    evidence: Iterable<RankEvidence>,
  ) {
    this.all = [...evidence].map((one) => new RankRun(one));
    this.ranks = new Map(this.all.map((one) => [one.rank, one]));
  }

  /** The ranks without evidence; at most `most`. */
  silent(most = Number.POSITIVE_INFINITY): number[] {
    const silent: number[] = [];
    for (let rank = 0; rank < this.worldSize && silent.length < most; rank++) {
      if (!this.ranks.has(rank)) {
        silent.push(rank);
      }
    }
    return silent;
  }
}
