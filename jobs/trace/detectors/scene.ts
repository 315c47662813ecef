import type { Divergence } from '../programs';
import type { Run } from '../rankRun';
import type { RunContext, Suspect } from '../suspect';
import type { Mismatch, Verdict } from '../verification';
import type { WaitGraph } from '../waits';

/** What all detectors look at. */
export interface Scene {
  readonly run: Run;
  readonly graph: WaitGraph;
  readonly context: RunContext;
  /** Where ranks with one program do not do the same, also where nothing tells which of them is wrong. */
  readonly divergences: readonly Divergence[];
}

/** What a detector has found. */
export interface Finding {
  readonly verdict: Verdict;
  readonly suspects: readonly Suspect[];
  readonly mismatch: Mismatch | null;
  readonly why: readonly string[];
}

/** One explanation of what a run does. */
export interface Detector {
  readonly name: string;
  /** Null where the explanation does not apply. */
  detect(scene: Scene): Finding | null;
}
