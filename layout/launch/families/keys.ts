import type { FactPath, Facts, Found } from '../foundValues';
import { type Options, typeOf } from '../options';
import { at, optionOf, optionsOf, type Tree } from '../tree';

/** How a value of a configuration file becomes a fact. */
type ValueKind = 'integer' | 'number' | 'text' | 'boolean' | 'type';

/** A path in a configuration file, the key of the layout, and how the value is read. */
export type KeyMap = readonly (readonly [path: string, key: FactPath, kind: ValueKind])[];

/** Sets the facts that a configuration file has by its paths. */
export function readKeys(tree: Tree | undefined, keys: KeyMap, facts: Facts): void {
  for (const [path, key, kind] of keys) {
    const cut = path.lastIndexOf('.');
    const name = path.slice(cut + 1);
    const options = optionsOf(cut < 0 ? tree : at(tree, path.slice(0, cut)));
    if (options.has(name.replaceAll('-', '_'))) {
      setFact(facts, key, options, name.replaceAll('-', '_'), kind);
    }
  }
}

/** Sets one fact from an option, as its kind says. */
export function setFact(facts: Facts, key: FactPath, options: Options, name: string, kind: ValueKind): void {
  if (!options.has(name)) {
    return;
  }
  facts.set(key, READERS[kind](options, name));
}

const READERS: Readonly<Record<ValueKind, (options: Options, name: string) => Found | undefined>> = {
  integer: (options, name) => options.integer(name),
  number: (options, name) => options.number(name),
  text: (options, name) => options.string(name),
  boolean: (options, name) => options.boolean(name),
  type: (options, name) => typeOf(options.string(name)),
};

/** The names of the last parts of paths: what `listUnmappedTree` passes over. */
export function namesIn(keys: KeyMap, ...others: readonly string[]): ReadonlySet<string> {
  return new Set([...keys.map(([path]) => path.slice(path.lastIndexOf('.') + 1)), ...others]);
}

/** Lists the values of a map, and of the maps in it, for which a layout has no key. */
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
      facts.unmapped.push({
        name: path,
        value: option.values.includes(null) ? null : option.values.join(' '),
        place: option.place,
      });
    }
  }
}
