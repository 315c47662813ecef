import { fileErrorText, parseEvent, readRegularFile } from '../jobs';
import { type MeasuredRun, measuredRun } from '../layout';
import type { MeasuredGroup } from '../layout/cost';

/** The largest log that is read. Bytes. */
const MAX_LOG_BYTES = 256 * 1024 * 1024;

/** What a file of measurements holds, or why it cannot be used. */
type Read<T> = { readonly value: T } | { readonly reason: string };

/** Step time and memory in the log of a training run. */
export function readMeasuredRun(file: string): Read<MeasuredRun> {
  return reading(file, (lines) => {
    const run = measuredRun(lines);
    return run ? { value: run } : { reason: `${file} holds no training steps of a framework that is known` };
  });
}

/** What the groups of a smoke job reached, in the event stream that `smoke --format jsonl` prints. */
export function readMeasuredGroups(file: string): Read<readonly MeasuredGroup[]> {
  return reading(file, (lines) => {
    const groups = lines.flatMap(groupsOfLine);
    return groups.length > 0 ? { value: groups } : { reason: `${file} holds no bandwidths of a smoke job` };
  });
}

/** All-reduces move the bytes of a ring, by which the estimate counts. */
function groupsOfLine(line: string): MeasuredGroup[] {
  const event = parseEvent(line);
  const group = event?.ev === 'group' ? event : event?.ev === 'check' ? event.measured : undefined;
  const reduce = group?.ops.all_reduce;
  return group && reduce ? [{ ranks: group.ranks, bytes: reduce.bytes, busBytesPerSecond: reduce.busGBs * 1e9 }] : [];
}

function reading<T>(file: string, read: (lines: readonly string[]) => Read<T>): Read<T> {
  try {
    return read(readRegularFile(file, MAX_LOG_BYTES).toString('utf8').split(/\r?\n/));
  } catch (error) {
    return { reason: `${file}: ${fileErrorText(error)}` };
  }
}
