import type { Entry, RankEvidence, RunGroup } from './evidence';

/**
 * How long an operation must have been waiting before a dump tells anything of it, in nanoseconds: in a run that goes on, ranks
 * that are dumped one after another are at different places, and a member may come some moments later.
 */
const SETTLED = 3e9;

/** Whether a rank has entered an operation; null where the files do not tell. */
export type Entered = boolean | null;

/** What one rank says, with what is asked of it again and again. */
export class RankRun {
  readonly rank: number;
  /** What is not through, in the order in which it was enqueued. */
  readonly pending: readonly Entry[];
  readonly #lastSeq = new Map<RunGroup, number>();

  constructor(readonly evidence: RankEvidence) {
    this.rank = evidence.rank;
    this.pending = evidence.entries.filter(({ completed }) => !completed);
    for (const { group, seq, p2p } of evidence.entries) {
      if (!p2p) {
        this.#lastSeq.set(group, Math.max(seq, this.#lastSeq.get(group) ?? 0));
      }
    }
  }

  /** Whether the ring ends where the rank stands. */
  get whole(): boolean {
    return this.evidence.source === 'dump';
  }

  /** Whether the dump was written so long after a moment that what is not in it did not happen then; true where no file tells. */
  isSettled(since: number): boolean {
    const { written } = this.evidence;
    return written === null || since === 0 || written - since >= SETTLED;
  }

  /** Whether the ring still begins with the first operation of the rank. */
  get fromStart(): boolean {
    return this.evidence.entries[0]?.record === 0;
  }

  /** The last collective of a group that the rank is known to have entered; 0 for none. */
  lastSeq(group: RunGroup): number {
    return Math.max(this.#lastSeq.get(group) ?? 0, this.evidence.progress.get(group)?.enqueued ?? 0);
  }

  /** Whether the rank has entered a collective of a group. */
  entered(group: RunGroup, seq: number): Entered {
    if (this.lastSeq(group) >= seq) {
      return true;
    }
    return this.whole || this.evidence.progress.has(group) ? false : null;
  }

  /** The entry of a collective; undefined where the ring has dropped it or never had it. */
  entryOf(group: RunGroup, seq: number): Entry | undefined {
    return this.evidence.entries.findLast((entry) => entry.group === group && entry.seq === seq && !entry.p2p);
  }

  /** The transfers to or from one group rank, the oldest first. */
  transfers(group: RunGroup, name: string, peer: number): Entry[] {
    return this.evidence.entries.filter(
      (entry) => entry.group === group && entry.operation.name === name && entry.operation.peer === peer,
    );
  }
}

/** All ranks of a run that say something of themselves. */
export class Run {
  readonly ranks: ReadonlyMap<number, RankRun>;

  constructor(
    readonly worldSize: number,
    evidence: Iterable<RankEvidence>,
  ) {
    this.ranks = new Map([...evidence].map((one) => [one.rank, new RankRun(one)]));
  }

  /** The ranks of the world that say nothing; of a large world the first `most`. */
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
