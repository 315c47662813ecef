import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileErrorText } from '../jobs';
import { fail } from './output';

/**
 * Writes a file, with its folder where that is not there; a failure goes to standard error and sets the exit status.
 * @param chunks written as they are made: a table of a large world is never held whole
 */
export function saveFile(file: string, chunks: Iterable<Uint8Array | string>): void {
  try {
    makeFolder(dirname(file));
    const opened = openSync(file, 'w');
    try {
      for (const chunk of chunks) {
        writeFileSync(opened, chunk);
      }
    } finally {
      closeSync(opened);
    }
  } catch (error) {
    fail(`${file}: ${fileErrorText(error)}`);
  }
}

/** Makes a folder and those that it lies in. Node.js' own way to do so never ends where the system makes none, as in `/proc`. */
function makeFolder(folder: string): void {
  if (!existsSync(folder)) {
    makeFolder(dirname(folder));
    mkdirSync(folder);
  }
}
