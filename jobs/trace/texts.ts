import type { Entry } from './evidence';
import { callerOf } from './flightDump';
import type { RunContext } from './suspect';
import { SET_UP } from './waits';

/** How many ranks are named in one sentence. */
const MAX_NAMED = 8;

/** `tp all_reduce #4`, with the other end of a transfer. */
export function operationText(entry: Entry, context: Pick<RunContext, 'nameOf'>): string {
  const { operation, group, seq } = entry;
  if (operation.name === SET_UP) {
    return `the set-up of the ${context.nameOf(entry)} communicator`;
  }
  const peer = operation.peer === null ? undefined : group.ranks[operation.peer];
  const end = peer === undefined ? '' : operation.name === 'send' ? ` to rank ${peer}` : ` from rank ${peer}`;
  return `${context.nameOf(entry)} ${operation.name}${end} #${seq}`;
}

/** Where an operation was called, in the program's own code. */
export function stackTexts(entry: Entry): string[] {
  const frame = callerOf(entry.frames);
  return frame
    ? [`${entry.completed ? 'It was' : 'It is'} called from ${frame.name} (${frame.file}:${frame.line}).`]
    : [];
}

/** `ranks 2 and 3`, `ranks 0, 1, 2 and 13 more`. */
export function ranksText(ranks: readonly number[], capital = false): string {
  const named = ranks.slice(0, MAX_NAMED);
  const last = ranks.length > named.length ? `${ranks.length - named.length} more` : String(named.pop() ?? 'none');
  const noun = `${capital ? 'R' : 'r'}ank${ranks.length === 1 ? '' : 's'}`;
  return `${noun} ${named.length > 0 ? `${named.join(', ')} and ${last}` : last}`;
}

/** A confidence with two digits. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** `12.5 ms`. */
export function milliseconds(seconds: number): string {
  return `${(seconds * 1000).toFixed(1)} ms`;
}
