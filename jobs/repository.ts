import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Whether a folder is the root of a repository. */
export function isRepository(folder: string): boolean {
  return existsSync(join(folder, '.git'));
}

/** The repository that holds a folder; null outside any. */
export function repositoryOf(folder: string): string | null {
  for (let current = folder; dirname(current) !== current; current = dirname(current)) {
    if (isRepository(current)) {
      return current;
    }
  }
  return null;
}
