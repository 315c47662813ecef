import { existsSync, lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { repositoryOf } from '../jobs';

/**
 * Whether a path lies in the repository of a file, after symbolic links: a file must not make the program read anything else.
 * Outside any repository the file's own folder counts, and no path is near to a file in the root directory.
 */
export function nearTo(file: string): (path: string) => boolean {
  const folder = dirname(resolve(file));
  const root = repositoryOf(folder) ?? folder;
  const inside = dirname(root) === root ? null : realpathSync(root) + sep;
  return (path) => inside !== null && existsSync(path) && realpathSync(path).startsWith(inside);
}

/**
 * Whether a file is this user's, the administrator's, or of whoever owns another file beside which it counts: what anybody else
 * puts into a folder above, such as `/tmp`, decides nothing, and neither does a link of theirs.
 */
export function isOwn(path: string, beside: string): boolean {
  const owners = [process.getuid?.(), 0, statSync(beside, { throwIfNoEntry: false })?.uid];
  // the link first: following one of somebody else may already fail
  const isOf = (stat: typeof statSync) => owners.includes(stat(path).uid);
  return process.getuid === undefined || (isOf(lstatSync) && isOf(statSync));
}
