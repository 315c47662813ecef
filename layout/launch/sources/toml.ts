import { parse } from 'smol-toml';
import type { Place } from './shell/words';
import type { Tree, TreeMap } from './tree';

/** The longest TOML file that is read, in UTF-16 units. */
const MAX_CHARACTERS = 1024 * 1024;

/** How many tables and lists stand in one another. */
const MAX_DEPTH = 64;

/** Parses a TOML file with the places of its keys; null where it is none. */
export function parseTomlTree(file: string, text: string): TreeMap | null {
  if (text.length > MAX_CHARACTERS) {
    return null;
  }
  try {
    const offsets = keyOffsets(text);
    const tree = treeOf(parse(text), '', { file, offset: 0 }, offsets, 0);
    return tree.kind === 'map' ? tree : null;
  } catch {
    return null;
  }
}

function treeOf(value: unknown, path: string, place: Place, offsets: ReadonlyMap<string, number>, depth: number): Tree {
  if (depth > MAX_DEPTH) {
    throw new RangeError('The tables stand too deep in one another.');
  }
  const here = { ...place, offset: offsets.get(path) ?? place.offset };
  if (Array.isArray(value)) {
    return { kind: 'list', place: here, items: value.map((item) => treeOf(item, '', here, offsets, depth + 1)) };
  }
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    const entries = Object.entries(value).map(
      ([name, item]) => [name, treeOf(item, path === '' ? name : `${path}.${name}`, here, offsets, depth + 1)] as const,
    );
    return { kind: 'map', place: here, entries: new Map(entries) };
  }
  const plain = typeof value === 'number' || typeof value === 'boolean' ? value : String(value);
  return { kind: 'scalar', place: here, value: plain };
}

/** Where the values of keys stand, by their paths; the parser itself does not say. */
function keyOffsets(text: string): ReadonlyMap<string, number> {
  const offsets = new Map<string, number>();
  let section = '';
  let offset = 0;
  for (const line of text.split('\n')) {
    const header = /^\s*\[+\s*([\w.\-"]+)\s*\]+/.exec(line);
    const key = /^\s*([\w.-]+)\s*=\s*/.exec(line);
    if (header?.[1]) {
      section = header[1].replaceAll('"', '');
    } else if (key?.[1]) {
      offsets.set(section === '' ? key[1] : `${section}.${key[1]}`, offset + key[0].length);
    }
    offset += line.length + 1;
  }
  return offsets;
}
