import { relative, resolve, sep } from 'node:path';
import { fileErrorText, type ObservedRun, readRegularFile, STANDARD_INPUT } from '../jobs';
import { type ImportOptions, LAUNCH_LIMITS, type LaunchReading, type ReadFile, readLaunchFile } from '../layout/launch';
import { EXIT, exitWith, fail } from './output';
import { nearTo } from './repository';

/** The problem of a file of no supported family. */
export const UNKNOWN_FAMILY = 'is not a launch file of a supported framework';

/** A launch file that was read, or the reason why it cannot be. */
export type LaunchInput =
  | { readonly file: string; readonly reading: LaunchReading }
  | { readonly file: string; readonly error: string };

/**
 * Reads launch files one after another. A file that cannot be read is said on standard error and sets the exit status.
 * @param files paths; `-` is standard input
 * @param observedRuns what scripts among them started when they were run
 */
export function* launchInputs(
  files: readonly string[],
  options: ImportOptions = {},
  observedRuns: ReadonlyMap<string, ObservedRun> = new Map(),
): Iterable<LaunchInput> {
  for (const file of files) {
    const observed = observedRuns.get(file);
    const input = readLaunch(file, { ...options, observed: observed?.commands });
    if ('error' in input) {
      const error = `${file}: ${input.error}`;
      fail(error);
      yield { file, error };
    } else {
      const { reading } = input;
      if (reading.problem !== null) {
        fail(`${file}: ${reading.problem}`);
        yield { file, error: `${file}: ${reading.problem}` };
        continue;
      }
      yield { file, reading: { ...reading, notes: [...reading.notes, ...(observed?.notes ?? [])] } };
    }
  }
}

/** Reads one launch file, or says why it cannot be read. */
export function readLaunch(
  file: string,
  options: ImportOptions = {},
): { readonly reading: LaunchReading } | { readonly error: string } {
  const text = launchText(file);
  const path = resolve(file === '-' ? 'stdin' : file);
  if (typeof text !== 'string') {
    return text;
  }
  try {
    return { reading: readLaunchFile(toSlashes(path), text, namedFiles(path), options) };
  } catch (error) {
    exitWith(EXIT.internal);
    return { error: `internal error: ${fileErrorText(error)}` };
  }
}

/** How a path is shown: relative to the current directory where that is shorter. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return toSlashes(short !== '' && short.length < path.length ? short : path);
}

function launchText(file: string): string | { readonly error: string } {
  try {
    return textIn(file === '-' ? STANDARD_INPUT : file, LAUNCH_LIMITS.file) ?? { error: 'is not a text file' };
  } catch (error) {
    return { error: fileErrorText(error) };
  }
}

/** The text of a file; null where it is none. */
function textIn(file: string | typeof STANDARD_INPUT, most: number): string | null {
  const bytes = readRegularFile(file, most);
  return bytes.includes(0) ? null : new TextDecoder().decode(bytes);
}

/** Reads the files that a launch file names: regular, not too large, and in its repository alone. */
function namedFiles(launchFile: string): ReadFile {
  const isNear = nearTo(launchFile);
  return (path) => {
    try {
      return isNear(path) ? textIn(path, LAUNCH_LIMITS.named) : null;
    } catch {
      return null;
    }
  };
}

function toSlashes(path: string): string {
  return sep === '/' ? path : path.split(sep).join('/');
}
