import type { Entry } from './evidence';
import type { RankLog } from './log';
import type { Programs } from './silent';

/** What the verdict needs of the layout and of other files. */
export interface RunContext extends Programs {
  /** What the layout calls the group of an operation. */
  nameOf(entry: Entry): string;
  /** The machine that the layout puts a rank on. */
  nodeOf(rank: number): number;
  readonly logs: ReadonlyMap<number, RankLog>;
  /** Ranks whose process does not answer RAS. */
  readonly unanswered: ReadonlySet<number>;
  /** Whether there are files of the recorder and nothing else. */
  readonly recorded: boolean;
  /** Ranks whose process answers RAS. */
  readonly answered: ReadonlySet<number>;
}

/** A rank at fault, before its place is looked up. */
export interface Suspect {
  readonly rank: number;
  readonly confidence: number;
  readonly because: readonly string[];
  /** Whether its process seems to be gone, rather than late. */
  readonly lost: boolean;
}
