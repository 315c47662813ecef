import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentError } from './environmentError';

const NAME = /^parallelism-layout-(?:smoke|script)-(\d{1,10})-\w{6,8}$/;

/** The age from which a folder is removed: ranks that lost their launcher may still be running. Milliseconds. */
const LEAST_AGE = 60 * 60 * 1000;

/**
 * Makes the private folder of a smoke job or of an observed script, and removes those of runs that nothing could clean up after.
 * @throws EnvironmentError where the temporary folder cannot be written
 */
export async function makeRunFolder(kind: 'smoke' | 'script'): Promise<string> {
  try {
    const folder = await mkdtemp(join(tmpdir(), `parallelism-layout-${kind}-${process.pid}-`));
    await sweep(tmpdir());
    return folder;
  } catch (error) {
    throw new EnvironmentError(
      `No folder can be made in ${tmpdir()} (${error instanceof Error ? error.message : error}). Set TMPDIR to a folder that you can write to.`,
    );
  }
}

/** Removes the folders of this user whose program has ended, if it can. */
async function sweep(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const path = join(parent, name);
    const program = NAME.exec(name)?.[1];
    if (program !== undefined && !isRunning(Number(program)) && (await isAbandoned(path))) {
      await rm(path, { recursive: true, force: true }).catch(() => {});
    }
  }
}

function isRunning(program: number): boolean {
  try {
    process.kill(program, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Whether a path is a private folder of this user, not a link, and unchanged for an hour. */
async function isAbandoned(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return (
    found?.isDirectory() === true &&
    found.uid === process.getuid?.() &&
    (found.mode & 0o077) === 0 &&
    Date.now() - found.mtimeMs > LEAST_AGE
  );
}
