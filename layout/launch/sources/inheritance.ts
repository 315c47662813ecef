import type { Reason } from '../value';
import { directoryOf } from './paths';
import { at, itemsOf, mergeTrees, type Tree, type TreeMap, withoutEntry } from './tree';

/** A configuration over those that it names, and the first of them that was not found. */
export interface Inherited {
  readonly tree: TreeMap;
  readonly missing: Reason | null;
}

/** How deep files may inherit from one another, and how many parents are read in all: two parents each make thousands. */
const MAX_DEPTH = 16;
const MAX_PARENTS = 200;

/**
 * A configuration over its parents, later ones over earlier ones.
 * @param key the entry that names the parents, such as `defaults`
 * @param what a parent is called in messages
 * @param load finds and reads a parent by its path, from another file
 */
export function inherited(
  { tree, file }: { readonly tree: TreeMap; readonly file: string },
  key: string,
  what: string,
  load: (path: string, from: string) => { readonly tree: TreeMap; readonly file: string } | null,
  depth = 0,
  read = { parents: 0 },
): Inherited {
  let base: Tree | undefined;
  let missing: Reason | null = null;
  for (const item of itemsOf(at(tree, key))) {
    const path = item.kind === 'scalar' ? String(item.value) : '';
    const isRead = depth < MAX_DEPTH && ++read.parents <= MAX_PARENTS;
    const found = isRead ? load(path, `${directoryOf(file)}/x`) : null;
    const parent = found && inherited(found, key, what, load, depth + 1, read);
    base = parent ? mergeTrees(base, parent.tree) : base;
    missing ??= parent ? parent.missing : { missing: `${what} ${path}` };
  }
  const own = withoutEntry(tree, key);
  const merged = mergeTrees(base, own);
  return { tree: merged.kind === 'map' ? merged : own, missing };
}
