import { type ImportOptions, type LaunchReading, readLaunchFile } from './read';

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

/** How often a launch file is read again with the files that it asks for, and how many of them are fetched at most. */
const MAX_ROUNDS = 12;
const MAX_FETCHED = 400;

/** The text of a file by its path; null where it is missing, larger than so many bytes, no text, or out of reach. */
export type ReadText = (path: string, most: number) => Promise<string | null>;

/**
 * Reads a launch file, again and again until every file that it asks for has been fetched: one after the other, so that all of them
 * stay within the limits together. Null where the launch file itself cannot be read.
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
  const fetched = new Map<string, string | null>();
  for (let round = 0; ; round++) {
    const wanted = new Set<string>();
    const readFetched = (other: string): string | null => {
      if (!fetched.has(other)) {
        wanted.add(other);
      }
      return fetched.get(other) ?? null;
    };
    const reading = readLaunchFile(path, text, readFetched, options);
    if (wanted.size === 0 || round === MAX_ROUNDS || fetched.size + wanted.size > MAX_FETCHED) {
      return reading;
    }
    for (const other of wanted) {
      const found = await read(other, Math.min(left, named));
      left -= found?.length ?? 0;
      fetched.set(other, found);
    }
  }
}
