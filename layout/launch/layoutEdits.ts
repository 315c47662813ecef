import type { Edit } from '../diagnostic';
import { appendKey, applyEdits, lineBreak, startOfLine } from '../format/edit';
import { type Entry, type MapNode, type Node, parseTree } from '../format/tree';
import { layoutValues, valuesYaml } from './importedLayout';
import { type LaunchReading, readLaunchFile } from './read';
import type { FactValue } from './value';

/** The keys that describe a job's grids: `launch` is written in front of them. */
const GRIDS: ReadonlySet<string> = new Set(['parallelism', 'modules']);

/**
 * The edit that gives a key of a layout a value: the written value is replaced, a missing key appended to its section, a
 * missing section to the file. Null where a section is no map of its own.
 * @param path the key's path, such as `parallelism`, `tp`
 * @param value the value as YAML on one line
 */
export function keyEdit(text: string, path: readonly string[], value: string): Edit | null {
  let map = parseTree(text).root;
  for (const [depth, name] of path.entries()) {
    if (map?.kind !== 'map') {
      return null;
    }
    const entry = entryOf(map, name);
    const rest = path.slice(depth + 1);
    if (!entry) {
      return appendKey(text, map.span, newEntry(text, map, [name, ...rest], value));
    }
    if (rest.length === 0) {
      return { span: entry.value.span, newText: value };
    }
    map = entry.value;
  }
  return null;
}

/** An entry for a map: in the block style of the map around it, a section begins a line for its first key. */
function newEntry(text: string, map: MapNode, [name = '', ...path]: readonly string[], value: string): string {
  const [key] = path;
  if (key === undefined) {
    return `${name}: ${value}`;
  }
  const inner = newEntry(text, { ...map, flow: true }, path, value);
  const indent = map.span.start - startOfLine(text, map.span.start) + INDENT;
  return map.flow ? `${name}: {${inner}}` : `${name}:${lineBreak(text)}${' '.repeat(indent)}${inner}`;
}

/** Columns by which a section stands under its key. */
const INDENT = 2;

/** The entry of a map with a name. */
function entryOf({ entries }: MapNode, name: string): Entry | undefined {
  return entries.find(({ key }) => key === name);
}

/** A value as YAML on one line; null for a text that would need quotes, or be a number or nothing without them. */
export function yamlText(value: FactValue): string | null {
  if (Array.isArray(value)) {
    const items = value.map(yamlText);
    return items.includes(null) ? null : `[${items.join(', ')}]`;
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value).map(([key, one]) => [key, yamlText(one)] as const);
    return entries.some(([, one]) => one === null) ? null : `{${entries.map((entry) => entry.join(': ')).join(', ')}}`;
  }
  const text = String(value);
  const isPlain = /^[\w.][\w.-]*$/.test(text) && (typeof value !== 'string' || readsAs(text, value));
  return isPlain ? text : null;
}

function readsAs(text: string, value: string): boolean {
  const { root } = parseTree(text);
  return root?.kind === 'scalar' && root.value === value;
}

/** A layout with the values that flags set; what they leave to defaults stays as it is. */
export interface Written {
  readonly text: string;
  /** The paths of the keys that were written, in the order of the flags. */
  readonly keys: readonly string[];
}

/**
 * Writes the values that pasted flags, or a pasted command, set into a layout; null where the text sets none.
 * @param text the layout; an empty file becomes one
 * @param flags such as `--tensor-model-parallel-size 4`, on one line or several, with `\` at their ends or without
 */
export function writeFlags(text: string, flags: string): Written | null {
  const isBare = /^\s*--\w/.test(flags) && !flags.includes('#');
  const reading = readLaunchFile('pasted.sh', isBare ? flags.replace(/\\?\r?\n/g, ' ') : flags, () => null);
  if (reading.family === null) {
    return null;
  }
  const isNew = text.trim() === '';
  // a new cluster needs both of its sizes, also where one is the launcher's default
  const values = layoutValues(reading).filter(
    ({ key, source }) => typeof source !== 'string' || (isNew && key.startsWith('cluster.')),
  );
  if (isNew) {
    return values.length > 0 ? { text: valuesYaml(values), keys: values.map(({ key }) => key) } : null;
  }
  const keys: string[] = [];
  let written = text;
  for (const { key, value } of values) {
    const newText = value === null ? null : yamlText(value);
    const edit = newText === null ? null : keyEdit(written, key.split('.'), newText);
    if (edit) {
      written = applyEdits(written, [edit]);
      keys.push(key);
    }
  }
  return keys.length > 0 ? { text: written, keys } : null;
}

/**
 * The edit that names launch files in a layout, beside those that it names already; null where all of them are named, or
 * where `launch` is written in a way that cannot be added to.
 * @param names the files, relative to the layout
 */
export function launchFilesEdit(text: string, names: readonly string[], { family }: LaunchReading): Edit | null {
  const { root } = parseTree(text);
  if (root?.kind !== 'map') {
    return null;
  }
  const launch = entryOf(root, 'launch')?.value;
  const files = launch?.kind === 'map' ? entryOf(launch, 'files')?.value : undefined;
  const known = files?.kind === 'list' ? files.items.map(scalarText) : [];
  const added = names.filter((name) => !known.includes(name));
  if (added.length === 0) {
    return null;
  }
  const list = [...known, ...added].map((name) => JSON.stringify(name)).map(withoutQuotes);
  if (launch) {
    return keyEdit(text, ['launch', 'files'], `[${list.join(', ')}]`);
  }
  const grids = root.flow ? undefined : root.entries.find(({ key }) => GRIDS.has(key));
  const line = `launch: {family: ${family}, files: [${list.join(', ')}]}`;
  if (!grids) {
    return appendKey(text, root.span, line);
  }
  const start = startOfLine(text, grids.keySpan.start);
  return { span: { start, end: start }, newText: `${line}${lineBreak(text)}` };
}

function scalarText(node: Node): string {
  return node.kind === 'scalar' ? String(node.value) : '';
}

/** A JSON string without its quotes where YAML reads it as the same text in a list. */
function withoutQuotes(json: string): string {
  const text = json.slice(1, -1);
  return /^[A-Za-z_./][\w./-]*$/.test(text) ? text : json;
}
