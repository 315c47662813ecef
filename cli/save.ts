import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileErrorText } from '../jobs';
import { fail } from './output';

/** Writes a file, with its folder where that is not there; a failure goes to standard error and sets the exit status. */
export function saveFile(file: string, content: Buffer | string): void {
  try {
    makeFolder(dirname(file));
    writeFileSync(file, content);
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
