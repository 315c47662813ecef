import { type Option, Options } from '../options';
import type { Reason } from '../value';
import type { Place } from './shell/words';

/** A configuration file as nested maps, every value with its place. */
export type Tree = TreeMap | TreeList | TreeScalar;

export interface TreeMap {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, Tree>;
  readonly place: Place;
}

interface TreeList {
  readonly kind: 'list';
  readonly items: readonly Tree[];
  readonly place: Place;
}

export interface TreeScalar {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  readonly place: Place;
  /** Why the value is not known; absent where it is. */
  readonly unknown?: Reason;
}

/** How many maps stand in one another in a file that is read. */
export const MAX_DEPTH = 48;

/** A map without entries. */
export function emptyMap(place: Place): TreeMap {
  return { kind: 'map', entries: new Map(), place };
}

/** A map without one of its entries. */
export function withoutEntry(tree: TreeMap, name: string): TreeMap {
  return { ...tree, entries: new Map([...tree.entries].filter(([one]) => one !== name)) };
}

/** The items of a list, or a single value as the only one. */
export function itemsOf(tree: Tree | undefined): readonly Tree[] {
  return tree?.kind === 'list' ? tree.items : tree ? [tree] : [];
}

/** The part of a tree at a path such as `policy.megatron_cfg`; undefined where there is none. */
export function at(tree: Tree | undefined, path: string): Tree | undefined {
  let current = tree;
  for (const part of path === '' ? [] : path.split('.')) {
    current = current?.kind === 'map' ? current.entries.get(part) : undefined;
  }
  return current;
}

/** The maps that a series of `setAt` has copied, with their entries. */
export type Copies = Map<Tree, Map<string, Tree>>;

/**
 * A tree with one value set; maps on the way are made where they are missing. Of a path longer than any configuration's only
 * the beginning is followed: what lies deeper replaces the value above it.
 * @param copies shared by a series of calls, of which only the last result is used: each map is then copied once
 */
export function setAt(tree: Tree | undefined, path: readonly string[], value: Tree, copies: Copies = new Map()): Tree {
  return path.length > MAX_DEPTH
    ? setInside(tree, path.slice(0, MAX_DEPTH), emptyMap(value.place), copies)
    : setInside(tree, path, value, copies);
}

function setInside(tree: Tree | undefined, path: readonly string[], value: Tree, copies: Copies): Tree {
  const [head, ...rest] = path;
  if (head === undefined) {
    return value;
  }
  const known = tree && copies.get(tree);
  const entries = known ?? new Map(tree?.kind === 'map' ? tree.entries : []);
  entries.set(head, setInside(entries.get(head), rest, value, copies));
  if (known) {
    return tree;
  }
  const copy: Tree = { kind: 'map', entries, place: tree?.place ?? value.place };
  copies.set(copy, entries);
  return copy;
}

/** Two trees as one: maps are merged key by key, everything else is replaced. `_override_: true` replaces a map as a whole. */
export function mergeTrees(base: Tree | undefined, over: Tree): Tree {
  if (base?.kind !== 'map' || over.kind !== 'map') {
    return over;
  }
  const override = over.entries.get('_override_');
  if (override?.kind === 'scalar' && override.value === true) {
    return withoutEntry(over, '_override_');
  }
  const entries = new Map(base.entries);
  for (const [name, value] of over.entries) {
    entries.set(name, mergeTrees(entries.get(name), value));
  }
  return { ...over, entries };
}

/** The scalars of a map as options; `null` values are absent. */
export function optionsOf(tree: Tree | undefined, blocked: Reason | null = null): Options {
  const entries = new Map<string, Option>();
  for (const [name, value] of tree?.kind === 'map' ? tree.entries : []) {
    const option = optionOf(value);
    if (option) {
      entries.set(name.replace(/^--/, '').replaceAll('-', '_'), option);
    }
  }
  return new Options(entries, blocked);
}

/** One value as an option; null for maps and for `null`. */
export function optionOf(tree: Tree | undefined): Option | null {
  if (tree?.kind === 'scalar') {
    const text = textOfScalar(tree);
    return text === null && tree.unknown === undefined
      ? null
      : { values: [text], places: [tree.place], place: tree.place, unknown: tree.unknown ?? null };
  }
  if (tree?.kind === 'list' && tree.items.every(({ kind }) => kind === 'scalar')) {
    const values = tree.items.map((item) => (item.kind === 'scalar' ? textOfScalar(item) : null));
    const unknown = tree.items.flatMap((item) => (item.kind === 'scalar' ? (item.unknown ?? []) : []))[0] ?? null;
    return { values, places: tree.items.map(({ place }) => place), place: tree.place, unknown };
  }
  return null;
}

/** The text of a scalar as a command line would have it; null for `null` and for what is not known. */
export function textOfScalar({ value, unknown }: TreeScalar): string | null {
  return value === null || unknown !== undefined || value === 'None' || value === 'null' ? null : String(value);
}

/** The text of the scalar at a path, or null. */
export function textAtPath(tree: Tree | undefined, path: string): string | null {
  const value = at(tree, path);
  return value?.kind === 'scalar' ? textOfScalar(value) : null;
}
