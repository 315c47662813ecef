import type { Verdict } from './conditions';

/** How a list of commands ends. */
export type Signal = null | 'exit' | 'return' | 'break' | 'continue';

/** How a command ended: its status (true is success), and whether it ends what is around it. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly signal: Signal;
}

export const DONE: Outcome = { verdict: true, signal: null };
export const UNKNOWN: Outcome = { verdict: null, signal: null };
