import { fileErrorText, parseEvent, readRegularFile } from '../jobs';
import { type MeasuredRun, measuredRun } from '../layout';
import type { MeasuredGroup } from '../layout/cost';
import { fail } from './output';

/** The largest log that is read. Bytes. */
const MAX_LOG_BYTES = 256 * 1024 * 1024;

/** What was measured, read once for all files; null where that was not asked. */
export interface Measurements {
  readonly run: MeasuredRun | null;
  readonly groups: readonly MeasuredGroup[] | null;
}

/**
 * What the options `--measured` and `--bandwidths` name: step time and memory in the log of a training run, and what the groups of
 * a smoke job reached, in the events that `smoke --format jsonl` prints. Null, with the reason on standard error, where a file
 * cannot be used.
 */
export function measurementsOf(named: {
  readonly measured?: string;
  readonly bandwidths?: string;
}): Measurements | null {
  const { measured, bandwidths } = named;
  const run =
    measured === undefined ? undefined : reading(measured, measuredRun, 'training steps of a framework that is known');
  const groups =
    bandwidths === undefined || run === null
      ? undefined
      : reading(bandwidths, groupsOfLines, 'bandwidths of a smoke job');
  return run === null || groups === null ? null : { run: run ?? null, groups: groups ?? null };
}

function groupsOfLines(lines: readonly string[]): MeasuredGroup[] | null {
  const groups = lines.flatMap(groupsOfLine);
  return groups.length > 0 ? groups : null;
}

/** All-reduces move the bytes of a ring, by which the estimate counts. */
function groupsOfLine(line: string): MeasuredGroup[] {
  const event = parseEvent(line);
  const group = event?.ev === 'group' ? event : event?.ev === 'check' ? event.measured : undefined;
  const reduce = group?.ops.all_reduce;
  return group && reduce ? [{ ranks: group.ranks, bytes: reduce.bytes, busBytesPerSecond: reduce.busGBs * 1e9 }] : [];
}

function reading<T>(file: string, read: (lines: readonly string[]) => T | null, what: string): T | null {
  try {
    const lines = readRegularFile(file, MAX_LOG_BYTES).toString('utf8').split(/\r?\n/);
    return read(lines) ?? fail(`${file} holds no ${what}`);
  } catch (error) {
    return fail(`${file}: ${fileErrorText(error)}`);
  }
}
