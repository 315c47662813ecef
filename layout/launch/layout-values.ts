import { FORMAT } from '../format/keys';
import { DERIVED_FROM, specOf } from './document';
import type { FactValue } from './facts';
import type { Place } from './shell/values';
import { parseYamlTree, type Tree, type TreeList } from './tree';

/** One value of a layout file with its place. */
export interface LayoutValue {
  readonly value: FactValue;
  readonly place: Place;
}

/** The values that a layout file writes, by the path of their key; null where it is no map. */
export function layoutFileValues(file: string, text: string): ReadonlyMap<string, LayoutValue> | null {
  const tree = parseYamlTree(file, text);
  if (!tree) {
    return null;
  }
  const values = new Map<string, LayoutValue>();
  collect(tree, '', values);
  return values;
}

function collect(tree: Tree, path: string, values: Map<string, LayoutValue>): void {
  for (const [name, value] of tree.kind === 'map' ? tree.entries : []) {
    const whole = path === '' ? name : `${path}.${name}`;
    const plain = plainOf(value);
    if (value.kind === 'map') {
      collect(value, whole, values);
    } else if (plain !== null) {
      values.set(whole, { value: plain, place: value.place });
    }
  }
}

function plainOf(tree: Tree): FactValue | null {
  if (tree.kind === 'scalar') {
    return tree.value;
  }
  if (tree.kind === 'map') {
    const entries = [...tree.entries].map(([name, value]) => [name, plainOf(value)] as const);
    return Object.fromEntries(entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
  }
  const items = tree.items.map(plainOf);
  return items.includes(null) ? null : items.flatMap((item) => (item === null ? [] : [item]));
}

/** The lists of a layout file whose items are maps, by the path of their key. */
export function listsOfMaps(file: string, text: string): ReadonlyMap<string, TreeList> {
  const tree = parseYamlTree(file, text);
  const lists = new Map<string, TreeList>();
  if (tree) {
    collectLists(tree, '', lists);
  }
  return lists;
}

function collectLists(tree: Tree, path: string, lists: Map<string, TreeList>): void {
  for (const [name, value] of tree.kind === 'map' ? tree.entries : []) {
    const whole = path === '' ? name : `${path}.${name}`;
    if (value.kind === 'map') {
      collectLists(value, whole, lists);
    } else if (value.kind === 'list' && value.items.some(({ kind }) => kind === 'map')) {
      lists.set(whole, value);
    }
  }
}

/** The world size of a layout: written, or its cluster's. */
export function worldOf(values: ReadonlyMap<string, LayoutValue>): LayoutValue | undefined {
  const written = values.get('world_size');
  const [nodes, each] = [values.get('cluster.nodes'), values.get('cluster.gpus_per_node')];
  if (written || typeof nodes?.value !== 'number' || typeof each?.value !== 'number') {
    return written;
  }
  return { value: nodes.value * each.value, place: nodes.place };
}

/** What a layout means for a key: what it writes, or the format's default; undefined where it leaves the value open. */
export function effectiveValue(values: ReadonlyMap<string, LayoutValue>, key: string): FactValue | undefined {
  const written = values.get(key)?.value;
  if (written !== undefined) {
    return written;
  }
  if (key === 'world_size') {
    return worldOf(values)?.value;
  }
  if (!hasSection(values, key)) {
    return undefined;
  }
  const other = DERIVED_FROM[key];
  if (other !== undefined) {
    return effectiveValue(values, other);
  }
  const spec = specOf(key);
  return spec && 'default' in spec ? spec.default : undefined;
}

/** Whether a layout has the section that a key belongs to; degrees have defaults in a layout that has any. */
function hasSection(values: ReadonlyMap<string, LayoutValue>, key: string): boolean {
  const section = key.slice(0, key.lastIndexOf('.') + 1);
  return section !== '' && section.split('.')[0] !== undefined && (section.split('.')[0] ?? '') in FORMAT.keys
    ? [...values.keys()].some((one) => one.startsWith(section))
    : false;
}
