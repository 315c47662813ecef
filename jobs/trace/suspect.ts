import type { Entry } from './evidence';
import type { RankLog } from './logs/log';
import type { Programs } from './silentRanks';

/** What the layout and other files tell about a run. */
export interface RunContext extends Programs {
  /** The layout's name of the group of an operation. */
  nameOf(entry: Entry): string;
  /** The node that the layout puts a rank on. */
  nodeOf(rank: number): number;
  readonly logs: ReadonlyMap<number, RankLog>;
  /** How somebody ended the run from outside, a sentence; null for no sign of that. */
  readonly stopped: string | null;
  /** Sentences about what the files leave open. */
  readonly open: readonly string[];
  /** The last training step that a log reports; null for none. */
  readonly reported: number | null;
  /** Ranks of which a profile was read. */
  readonly profiled: readonly number[];
  /** Whether some files are of ranks that the layout does not have. */
  readonly foreign: boolean;
  /** Ranks whose process does not answer RAS. */
  readonly unanswered: ReadonlySet<number>;
  /** Ranks whose process answers RAS. */
  readonly answered: ReadonlySet<number>;
  /** Whether all files are of the recorder. */
  readonly recorded: boolean;
}

/** A rank at fault, before its place is looked up. */
export interface Suspect {
  readonly rank: number;
  readonly confidence: number;
  readonly because: readonly string[];
  /** Whether its process seems to be gone, rather than late. */
  readonly lost: boolean;
}
