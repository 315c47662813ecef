import type { Verdict } from './conditions';

/** How a list of commands ends; `refuse` is an exit with a status of failure. */
export type Signal = null | 'exit' | 'refuse' | 'return' | 'break' | 'continue';

/** Whether a signal ends the script. */
export function endsScript(signal: Signal): signal is 'exit' | 'refuse' {
  return signal === 'exit' || signal === 'refuse';
}

/** How a command ended: its status (true is success), and whether it ends what is around it. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly signal: Signal;
}

export const DONE: Outcome = { verdict: true, signal: null };
export const UNKNOWN: Outcome = { verdict: null, signal: null };
