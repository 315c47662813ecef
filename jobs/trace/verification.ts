import type { MeasuredRun } from '../../layout';
import type { GroupDifference, UnexpectedGroups } from './groupComparison';
import type { MismatchKind } from './mismatch';
import type { ProfiledRun } from './profile/timeSpent';
import type { SlowRank } from './slowRanks';

/** The verdict on a run. */
export type Verdict = 'healthy' | 'wrong-groups' | 'hang' | 'mismatch' | 'lost' | 'unknown';

/** The kinds of files. */
export type SourceKind = 'flight-recorder' | 'ras' | 'recorder' | 'profile' | 'log' | 'other';

/** One file of the run. */
export interface SourceFile {
  readonly file: string;
  readonly kind: SourceKind;
  /** The rank of the file; null for files of several ranks. */
  readonly rank: number | null;
  /** Whether all of it could be read. */
  readonly ok: boolean;
  /** What could not be read or was not used; empty for nothing. */
  readonly note: string;
}

/** Groups of one name that differ, with the change to the layout that would give those of the run. */
export interface ExplainedDifference extends GroupDifference {
  /** `order tp-cp-ep-pp-dp`; null for unknown. */
  readonly cause: string | null;
  /** The line of the layout file, from 1; null for none. */
  readonly line: number | null;
}

/** A rank that blocks others, differs from its peers, or is gone. */
export interface Culprit {
  readonly rank: number;
  /** Null for unknown. */
  readonly host: string | null;
  readonly gpu: number | null;
  /** Of its process on the host. */
  readonly pid: number | null;
  /** Its coordinates in the layout's grid, such as `{"tp": 1, "dp": 0}`. */
  readonly coordinates: Readonly<Record<string, number | string>>;
  /** From 0 to 1: never more than the files support. */
  readonly confidence: number;
  readonly because: readonly string[];
}

/** A rank that waits. */
export interface Victim {
  readonly rank: number;
  readonly waits_for: readonly number[];
  readonly group: string;
  readonly op: string;
  readonly seq: number;
}

/** An operation that the members of a group entered differently. */
export interface Mismatch {
  readonly group: string;
  readonly seq: number;
  readonly what: MismatchKind;
  /** What each rank did, by rank. */
  readonly by_rank: Readonly<Record<string, string>>;
}

/** The result of `verify`, which is also its JSON output. */
export interface Verification {
  readonly layout: string;
  readonly sources: readonly SourceFile[];
  readonly groups: {
    readonly equal: number;
    readonly different: readonly ExplainedDifference[];
    readonly unexpected: readonly UnexpectedGroups[];
    readonly not_seen: readonly string[];
  };
  readonly verdict: Verdict;
  readonly culprits: readonly Culprit[];
  readonly victims: readonly Victim[];
  readonly mismatch: Mismatch | null;
  /** Sentences that explain the verdict and what is unknown. */
  readonly why: readonly string[];
  /** Ranks of which no file tells anything; the first 65,536. */
  readonly unseen: readonly number[];
  /** The speed and memory that logs report; null for none. */
  readonly measured: MeasuredRun | null;
  /** Where the time goes, by the profiles of some ranks; null for none. */
  readonly profiled: ProfiledRun | null;
  /** Ranks that slow the run, the slowest first. */
  readonly slow: readonly SlowRank[];
}
