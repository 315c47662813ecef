import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';

/** How many directories above a file count as near to it where it stands in no repository. */
const MAX_ANCESTORS = 3;

/**
 * Whether paths lead to the repository of a file, symbolic links followed: a file decides about no reading beyond it. No path
 * is near to a file in the root directory.
 */
export function nearTo(file: string): (path: string) => boolean {
  const root = rootOf(dirname(resolve(file)));
  const inside = dirname(root) === root ? null : realpathSync(root) + sep;
  return (path) => inside !== null && existsSync(path) && realpathSync(path).startsWith(inside);
}

/** The repository that a directory is in; without one, the directory a few levels above it. */
function rootOf(directory: string): string {
  let current = directory;
  for (let above = dirname(current); above !== current; above = dirname(current)) {
    if (existsSync(resolve(current, '.git'))) {
      return current;
    }
    current = above;
  }
  let root = directory;
  for (let level = 0; level < MAX_ANCESTORS && dirname(dirname(root)) !== dirname(root); level++) {
    root = dirname(root);
  }
  return root;
}
