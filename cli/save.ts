import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileErrorText } from '../jobs/regularFile';
import { fail } from './output';

/** Writes a file, with its folder where that is not there; a failure goes to standard error and sets the exit status. */
export function saveFile(file: string, content: Buffer | string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  } catch (error) {
    fail(`${file}: ${fileErrorText(error)}`);
  }
}
