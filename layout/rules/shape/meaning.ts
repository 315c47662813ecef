import { FORMAT, type RootKeys } from '../../format/keys';
import { nearest } from '../../format/nearest';
import { type Problem, problemsOf } from '../../format/problems';
import type { ReadLayout } from '../../format/read';
import type { Field, MapSpec, NamedField, Section } from '../../format/spec';
import { plainWord, synonymOf } from '../../format/synonyms';
import type { Entry, MapNode, Node } from '../../format/tree';
import { memoize, memoizeRecent } from '../../memoize';

/** A key that its map does not have. */
export type UnknownKey = Extract<Problem, { kind: 'unknown-key' }>;

/** A key that is right, but in the wrong map. */
export interface Elsewhere {
  readonly kind: 'elsewhere';
  /** The path of the map that it belongs into; empty for the whole file. */
  readonly path: string;
  /** The key's name there. */
  readonly name: string;
  /** Null where the file does not have the map. */
  readonly node: MapNode | null;
  /** Whether the map that the key stands in now is a part of it. */
  readonly isAround: boolean;
  /** Whether the map has the key already. */
  readonly isThere: boolean;
}

/**
 * What an unknown key most likely means: the flag of a key of the same map (`twice` where that is written, too), a key of
 * another map, or a misspelt key.
 */
export type Meaning = Elsewhere | { readonly kind: 'flag' | 'twice' | 'misspelt'; readonly name: string };

/** The unknown keys of a file with what they mean; null where nothing is like one. */
export const meaningsOf: (read: ReadLayout) => ReadonlyMap<UnknownKey, Meaning | null> = memoizeRecent(
  ({ tree, problems }) => {
    const root = tree.root?.kind === 'map' ? tree.root : null;
    // looked up once: a map may have as many entries as a file has lines
    const modules = childMap(root, 'modules');
    return new Map(problemsOf(problems, 'unknown-key').map((problem) => [problem, meaningOf(root, modules, problem)]));
  },
);

function meaningOf(root: MapNode | null, modules: MapNode | null, problem: UnknownKey): Meaning | null {
  const { entry, spec, siblings } = problem;
  const name = flagOwner(spec, entry.key);
  if (name !== null) {
    return { kind: siblings.has(name) ? 'twice' : 'flag', name };
  }
  const elsewhere = elsewhereOf(root, modules, problem, entry.key);
  if (elsewhere) {
    return elsewhere;
  }
  const synonym = synonymOf(entry.key);
  if (synonym !== null && Object.hasOwn(spec.keys, synonym) && !siblings.has(synonym)) {
    return { kind: 'misspelt', name: synonym };
  }
  const near = nearest(
    entry.key,
    Object.keys(spec.keys).filter((known) => !siblings.has(known)),
  );
  if (near !== null) {
    return { kind: 'misspelt', name: near };
  }
  return synonym === null ? null : elsewhereOf(root, modules, problem, synonym);
}

/** The path of the key that an unknown key means: `parallelism.tp`. */
function meantPath({ path }: UnknownKey, meaning: Meaning): string[] {
  const home = meaning.kind === 'elsewhere' ? meaning.path : path;
  return [...(home === '' ? [] : home.split('.')), meaning.name];
}

/** Whether an unknown key of the file means a key of the map at a path, so that this is not missing as well. */
export function isMeant(read: ReadLayout, path: string, name: string): boolean {
  const wanted = path === '' ? name : `${path}.${name}`;
  return [...meaningsOf(read)].some(
    ([problem, meaning]) => meaning !== null && meantPath(problem, meaning).join('.') === wanted,
  );
}

/** The fields of a map, whatever its keys. */
interface Fields {
  readonly [name: string]: Field<unknown>;
}

/**
 * The fields of a file in which those are written, with a value that nobody knows, that an unknown key means: rules judge
 * nothing by the default of a key that is merely misspelt.
 */
export function openedFields(read: ReadLayout, root: Section<RootKeys>): Section<RootKeys> {
  let all: Fields = root;
  for (const [problem, meaning] of meaningsOf(read)) {
    if (meaning) {
      const { keySpan, value } = problem.entry;
      const open = { written: true, value: undefined, keySpan, span: value.span };
      all = withField(all, meantPath(problem, meaning), open);
    }
  }
  return all as Section<RootKeys>;
}

/** The fields with another one at a path, or at its first part that is not written. */
function withField(fields: Fields, [name = '', ...rest]: readonly string[], open: Field<unknown>): Fields {
  const field = fields[name];
  if (!field || (field.written && rest.length === 0)) {
    return fields;
  }
  return { ...fields, [name]: field.written ? { ...field, value: opened(field.value, rest, open) } : open };
}

/** The value of a section, or of named sections, with an open field at a path inside it. */
function opened(value: unknown, path: readonly string[], open: Field<unknown>): unknown {
  if (Array.isArray(value)) {
    const [inside, ...rest] = path;
    return value.map((one: NamedField<unknown>) =>
      one.name === inside ? { ...one, value: opened(one.value, rest, open) } : one,
    );
  }
  return typeof value === 'object' && value !== null ? withField(value as Fields, path, open) : value;
}

/** The keys of a map by the flags of Megatron-LM that they become. */
const ownersOf = memoize(
  ({ keys }: MapSpec): ReadonlyMap<string, string> =>
    new Map(Object.entries(keys).flatMap(([name, { flag }]) => (flag === undefined ? [] : [[plainWord(flag), name]]))),
);

/** The key of a map that becomes a flag of Megatron-LM, however its words are joined; null where there is none. */
function flagOwner(spec: MapSpec, word: string): string | null {
  return ownersOf(spec).get(plainWord(word)) ?? null;
}

/** Where a word belongs that is right but in the wrong map; null where no map of the format has it. */
function elsewhereOf(
  root: MapNode | null,
  modules: MapNode | null,
  { spec, path }: UnknownKey,
  word: string,
): Elsewhere | null {
  for (const map of mapsNear(modules, path)) {
    const name = Object.hasOwn(map.spec.keys, word) ? word : flagOwner(map.spec, word);
    if (map.spec !== spec && name !== null) {
      const node = map.path.reduce(childMap, root);
      const isThere = node?.entries.some(({ key }) => key === name) === true;
      return { kind: 'elsewhere', path: map.path.join('.'), name, node, isAround: map.isAround, isThere };
    }
  }
  return null;
}

/** A map that the format has. */
interface KnownMap {
  readonly path: readonly string[];
  readonly spec: MapSpec;
  readonly isAround: boolean;
}

/** The maps that a key at a path may have been meant for, the nearest first. */
function mapsNear(modules: MapNode | null, path: string): KnownMap[] {
  const [first, inside] = path.split('.');
  // the degrees of a job of modules stand in each of them: which one is meant is plain where there is one
  const only = modules?.entries.length === 1 ? modules.entries[0]?.key : undefined;
  const module = first === 'modules' && inside !== undefined ? inside : only;
  const spec = FORMAT.keys.modules.values;
  const moduleMaps = (name: string): KnownMap[] => [
    ...sectionsOf(spec).map((section) => ({ ...section, path: ['modules', name, ...section.path] })),
    { path: ['modules', name], spec, isAround: inside === name },
  ];
  return [
    ...(module === undefined ? [] : moduleMaps(module)),
    { path: [], spec: FORMAT, isAround: true },
    ...sectionsOf(FORMAT).filter((section) => section.path[0] !== 'parallelism' || !modules),
  ];
}

/** The maps that are keys of a map. */
const sectionsOf = memoize((spec: MapSpec): readonly KnownMap[] =>
  Object.entries(spec.keys).flatMap(([name, section]) =>
    section.type === 'map' ? [{ path: [name], spec: section as MapSpec, isAround: false }] : [],
  ),
);

function childMap(node: MapNode | null, name: string): MapNode | null {
  const value = node?.entries.find(({ key }) => key === name)?.value;
  return value?.kind === 'map' ? value : null;
}

/** The entries that a path leads through, from the file's own. */
export function entriesAt(root: Node | null, path: string): Entry[] {
  const found: Entry[] = [];
  for (const name of path === '' ? [] : path.split('.')) {
    const map: Node | null | undefined = found.length === 0 ? root : found.at(-1)?.value;
    const entry = map?.kind === 'map' ? map.entries.find(({ key }) => key === name) : undefined;
    if (!entry) {
      return found;
    }
    found.push(entry);
  }
  return found;
}
