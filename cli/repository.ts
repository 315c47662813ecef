import { existsSync, realpathSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';

/** How many folders above a file outside any repository still count as near to it. */
const MAX_ANCESTORS = 3;

/**
 * Whether a path lies in the repository of a file, after symbolic links: a file must not make the program read anything else. No
 * path is near to a file in the root directory.
 */
export function nearTo(file: string): (path: string) => boolean {
  const root = rootOf(dirname(resolve(file)));
  const inside = dirname(root) === root ? null : realpathSync(root) + sep;
  return (path) => inside !== null && existsSync(path) && realpathSync(path).startsWith(inside);
}

/** The repository of a directory; outside any, the directory a few levels above. */
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
