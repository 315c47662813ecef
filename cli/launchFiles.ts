import { relative, resolve, sep } from 'node:path';
import { readRegularFile, STANDARD_INPUT } from '../jobs/regularFile';
import { type ImportOptions, type LaunchReading, type ReadFile, readLaunchFile } from '../layout/launch';
import { complain, EXIT, exitWith } from './output';
import type { RecordedRun } from './recordRun';
import { nearTo } from './repository';

/** The largest launch file that is read, logs among them, and the largest file that one names. Bytes. */
const MAX_LAUNCH_BYTES = 16 * 1024 * 1024;
const MAX_NAMED_BYTES = 1024 * 1024;

/** What is wrong with a file of no known family. */
export const UNKNOWN_FAMILY = 'is no launch file that is known';

/** A launch file that was read, or the reason why it cannot be. */
export type LaunchInput =
  | { readonly file: string; readonly reading: LaunchReading }
  | { readonly file: string; readonly error: string };

/**
 * Reads launch files one after another. A file that cannot be read is said on standard error and sets the exit status.
 * @param files paths; `-` is standard input
 * @param recordings what scripts among them started when they were run
 */
export function* launchInputs(
  files: readonly string[],
  options: ImportOptions = {},
  recordings: ReadonlyMap<string, RecordedRun> = new Map(),
): Iterable<LaunchInput> {
  for (const file of files) {
    const text = launchText(file);
    if (typeof text === 'string') {
      const path = resolve(file === '-' ? 'stdin' : file);
      const recording = recordings.get(file);
      const recorded = recording?.commands;
      const reading = readLaunchFile(toSlashes(path), text, namedFiles(path), { ...options, recorded });
      yield { file, reading: { ...reading, notes: [...reading.notes, ...(recording?.notes ?? [])] } };
    } else {
      complain(text.error);
      exitWith(EXIT.unusable);
      yield { file, error: text.error };
    }
  }
}

/** How a path is shown: relative to the current directory where that is shorter. */
export function shownPath(path: string): string {
  const short = relative(process.cwd(), path);
  return toSlashes(short !== '' && short.length < path.length ? short : path);
}

function launchText(file: string): string | { readonly error: string } {
  try {
    const bytes = readRegularFile(file === '-' ? STANDARD_INPUT : file, MAX_LAUNCH_BYTES);
    return bytes.includes(0) ? { error: `${file}: is not a text file` } : new TextDecoder().decode(bytes);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    return {
      error: `${file}: ${code === 'ENOENT' ? 'no such file' : error instanceof Error ? error.message : 'cannot be read'}`,
    };
  }
}

/** Reads the files that a launch file names: regular, not too large, and in its repository alone. */
function namedFiles(launchFile: string): ReadFile {
  const isNear = nearTo(launchFile);
  return (path) => {
    try {
      if (!isNear(path)) {
        return null;
      }
      const bytes = readRegularFile(path, MAX_NAMED_BYTES);
      return bytes.includes(0) ? null : new TextDecoder().decode(bytes);
    } catch {
      return null;
    }
  };
}

function toSlashes(path: string): string {
  return sep === '/' ? path : path.split(sep).join('/');
}
