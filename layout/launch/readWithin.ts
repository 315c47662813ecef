import { type ImportOptions, type LaunchReading, readLaunchFileAsync } from './read';

/** How much is read of a launch file and of the files that it names. Bytes. */
export interface LaunchLimits {
  readonly file: number;
  /** Each file that it names. */
  readonly named: number;
  /** All of them together; left out: as many as are named. */
  readonly together?: number;
}

/** What a person's command reads: also logs and recipes of a whole framework. */
export const LAUNCH_LIMITS: LaunchLimits = { file: 16 * 1024 * 1024, named: 1024 * 1024 };

/** What a server reads of files that it holds for as long as layouts name them. */
export const HELD_LIMITS: LaunchLimits = { file: 4 * 1024 * 1024, named: 1024 * 1024, together: 4 * 1024 * 1024 };

/** Why a layout is not compared with a file that could be read. */
export const STARTS_NO_JOB = 'it starts no training job that can be read';

/** The text of a file by its path; null where it is missing, larger than so many bytes, no text, or out of reach. */
export type ReadText = (path: string, most: number) => Promise<string | null>;

/**
 * Reads a launch file and the files that it names, wherever they are: one after the other, so that all of them stay within the
 * limits together. Null where the launch file itself cannot be read.
 */
export async function readLaunch(
  path: string,
  read: ReadText,
  { file, named, together = Number.POSITIVE_INFINITY }: LaunchLimits,
  options: ImportOptions = {},
): Promise<LaunchReading | null> {
  const text = await read(path, file);
  if (text === null) {
    return null;
  }
  let left = together - text.length;
  let before: Promise<unknown> = Promise.resolve();
  return readLaunchFileAsync(
    path,
    text,
    (other) => {
      const next = before.then(async () => {
        const found = await read(other, Math.min(left, named));
        left -= found?.length ?? 0;
        return found;
      });
      before = next;
      return next;
    },
    options,
  );
}
