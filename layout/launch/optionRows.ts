import { type Options, typeOf } from './options';
import { at, optionOf, optionsOf, type Tree } from './sources/tree';
import type { Defaults, FactPath, Facts, FactValue, Found, Reason } from './value';

/** How a value of a configuration becomes one of a layout, and the other way. */
type RowKind = 'integer' | 'number' | 'text' | 'boolean' | 'type';

/**
 * One option of a framework, read in both directions: the key of the layout, the option or the path in the framework's
 * configuration, how its value is read, and what the framework takes where it is absent. Null instead of a default: the revision
 * that is described has no such option any more; it is read, and never written. Of several rows with one key the last that is
 * given holds, and the last that is not former is written.
 */
export type OptionRow = readonly [key: FactPath, path: string, kind: RowKind, otherwise?: FactValue | null];

const READERS: Readonly<Record<RowKind, (options: Options, name: string) => Found | undefined>> = {
  integer: (options, name) => options.integer(name),
  number: (options, name) => options.number(name),
  text: (options, name) => options.string(name),
  boolean: (options, name) => options.boolean(name),
  type: (options, name) => typeOf(options.string(name)),
};

/**
 * Sets the facts that a configuration gives.
 * @param blocked what may set the options that are absent: degrees with a default are then unknown; null where nothing may
 */
export function readRows(
  tree: Tree | undefined,
  rows: readonly OptionRow[],
  facts: Facts,
  blocked: Reason | null = null,
): void {
  for (const [key, path, kind, otherwise] of rows) {
    const cut = path.lastIndexOf('.');
    const name = path.slice(cut + 1).replaceAll('-', '_');
    const options = optionsOf(cut < 0 ? tree : at(tree, path.slice(0, cut)));
    if (options.has(name)) {
      facts.set(key, READERS[kind](options, name));
    } else if (blocked !== null && typeof otherwise === 'number' && /^(parallelism|fsdp)\./.test(key)) {
      facts.set(key, facts.get(key) ?? { unknown: blocked });
    }
  }
}

/** Sets the facts that flags or the keys of one map give. */
export function readOptions(options: Options, rows: readonly OptionRow[], facts: Facts): void {
  for (const [key, name, kind] of rows) {
    facts.set(key, READERS[kind](options.given, name));
  }
}

/** What a framework takes for the rows that have a default. */
export function defaultsIn(rows: readonly OptionRow[]): Defaults['values'] {
  return Object.fromEntries(
    rows.flatMap(([key, , , otherwise]) => (otherwise === undefined || otherwise === null ? [] : [[key, otherwise]])),
  );
}

/**
 * The defaults of a framework that is described.
 * @param source where the framework says so
 * @param world how many nodes, and processes a node, its launcher starts
 */
export function defaultsOf(
  { title, revision }: { readonly title: string; readonly revision: string },
  source: string,
  values: Defaults['values'],
  world?: Defaults['world'],
): Defaults {
  return { framework: title, version: `main ${revision}`, source, values, ...(world && { world }) };
}

/** The rows that are written, in their order. */
export function writtenRows(rows: readonly OptionRow[]): readonly OptionRow[] {
  const written = new Map(rows.flatMap((row) => (row[3] === null ? [] : [[row[0], row] as const])));
  return rows.filter((row) => written.get(row[0]) === row);
}

/** The paths that have a place in a layout. */
export function pathsIn(rows: readonly OptionRow[], ...others: readonly string[]): ReadonlySet<string> {
  return new Set([...rows.map(([, path]) => path), ...others]);
}

/** Lists the options of a command line for which a layout has no key. */
export function listUnmapped(options: Options, mapped: ReadonlySet<string>, facts: Facts): void {
  for (const [name, option] of options.entries) {
    if (!mapped.has(name)) {
      facts.leave(name, option);
    }
  }
}

/**
 * Lists the values of a map, and of the maps in it, for which a layout has no key.
 * @param mapped whole paths, and names that have a place wherever they stand
 */
export function listUnmappedTree(
  tree: Tree | undefined,
  prefix: string,
  mapped: ReadonlySet<string>,
  facts: Facts,
): void {
  for (const [name, value] of tree?.kind === 'map' ? tree.entries : []) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const option = optionOf(value);
    if (value.kind === 'map') {
      listUnmappedTree(value, path, mapped, facts);
    } else if (option && !mapped.has(path) && !mapped.has(name)) {
      facts.leave(path, option);
    }
  }
}
