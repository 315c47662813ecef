import type { Span } from '../diagnostic';
import { memoize } from '../memoize';
import { startOfLine } from './edit';
import { FORMAT, FORMAT_VERSION, type RootKeys } from './keys';
import { MAX_DIAGNOSTICS, MAX_STRING } from './limits';
import type { Problem, TooSmall } from './problems';
import { parseDuration, parseSize } from './quantities';
import type {
  EitherSpec,
  Field,
  IntegerSpec,
  KeySpec,
  Keys,
  MapSpec,
  NamedField,
  RecordSpec,
  Section,
  StringSpec,
} from './spec';
import { type Entry, type ListNode, type MapNode, type Node, parseTree, type ScalarNode, type Tree } from './tree';

/** A layout file as read: every key of the format with its value and place, and what is wrong with its shape. */
export interface ReadLayout {
  readonly text: string;
  readonly tree: Tree;
  /** Null where the file holds no map at all. */
  readonly root: Section<RootKeys> | null;
  /** What the rules of the family `shape` report, beside `tree.problem`. */
  readonly problems: readonly Problem[];
  /** Whole numbers that are too small for their key, which the rule `not-positive` reports. */
  readonly tooSmall: readonly TooSmall[];
}

/** Reads a layout file's text against the one description of its keys. Never throws. */
export function readLayout(text: string): ReadLayout {
  const tree = parseTree(text);
  const refused = (problems: readonly Problem[]) => ({ text, tree, root: null, problems, tooSmall: [] });
  const { root } = tree;
  if (tree.problem) {
    return refused([]);
  }
  if (root === null || (root.kind === 'scalar' && root.value === null)) {
    return refused([
      { kind: 'empty', start: Math.max(startOfLine(text, text.length), text.startsWith('\ufeff') ? 1 : 0) },
    ]);
  }
  if (root.kind !== 'map') {
    return refused([{ kind: 'wrong-type', spec: FORMAT, node: root, path: '' }]);
  }
  const reader = new Reader();
  const section = reader.section(FORMAT, root, root.span, '');
  reader.checkVersion(section.layout);
  const { problems, tooSmall, full } = reader;
  // where so much is wrong, no rule says anything of use
  return { text, tree, root: full ? null : section, problems, tooSmall };
}

class Reader {
  readonly problems: Problem[] = [];
  readonly tooSmall: TooSmall[] = [];

  /** Whether there are more problems than are listed: reading on would only cost time. */
  get full(): boolean {
    return this.problems.length > MAX_DIAGNOSTICS;
  }

  /** Reads a map: its known keys become fields, all others are problems. */
  section<K extends Keys>(spec: MapSpec<K>, node: MapNode, keySpan: Span, path: string): Section<K> {
    const keys = keysOf(spec);
    const fields: Record<string, Field<unknown> | undefined> = { ...unread(spec) };
    let known = 0;
    for (const entry of node.entries) {
      const keySpec = keys.get(entry.key);
      if (keySpec && !fields[entry.key]) {
        known++;
        fields[entry.key] = this.#field(keySpec, entry, path === '' ? entry.key : `${path}.${entry.key}`);
      }
    }
    // most maps hold nothing but known keys, each once
    if (known < node.entries.length) {
      this.#unknownKeys(spec, this.#entriesOf(node), path);
    }
    const missing = { written: false, value: undefined, span: keySpan, keySpan };
    for (const [name, keySpec] of keys) {
      if (!fields[name]) {
        fields[name] = missing;
        if (keySpec.required && !this.full) {
          this.problems.push({ kind: 'missing-key', name, spec: keySpec, map: node, keySpan, path });
        }
      }
    }
    // every key of K was given its field by the loop above
    return fields as Section<K>;
  }

  checkVersion({ value, span }: Field<number>): void {
    if (value !== undefined && value !== FORMAT_VERSION) {
      this.problems.push({ kind: 'unsupported-version', version: value, span });
    }
  }

  #field(spec: KeySpec, entry: Entry, path: string): Field<unknown> {
    const value = this.#value(spec, entry.value, entry.keySpan, path);
    return { written: true, value, span: entry.value.span, keySpan: entry.keySpan };
  }

  /** The typed value of a node, or undefined where it is unusable (a problem then says why). */
  #value(spec: KeySpec, node: Node, keySpan: Span, path: string): unknown {
    switch (spec.type) {
      case 'map':
        return node.kind === 'map' ? this.section(spec, node, keySpan, path) : this.#wrongType(spec, node, path);
      case 'record':
        return node.kind === 'map' ? this.#record(spec, node, path) : this.#wrongType(spec, node, path);
      case 'list':
        return node.kind === 'list' ? this.#list(spec.items, node, keySpan, path) : this.#wrongType(spec, node, path);
      case 'any':
        return plainValue(node);
      case 'either': {
        const form = formFor(spec, node);
        return form ? this.#value(form, node, keySpan, path) : this.#wrongType(spec, node, path);
      }
      default:
        return node.kind === 'scalar' ? this.#scalar(spec, node, path) : this.#wrongType(spec, node, path);
    }
  }

  /** The entries of a map by their keys; of entries with the same key the first. */
  #entriesOf(node: MapNode): Map<string, Entry> {
    const entries = new Map<string, Entry>();
    for (const entry of node.entries) {
      const first = entries.get(entry.key);
      if (!first) {
        entries.set(entry.key, entry);
      } else if (!this.full) {
        this.problems.push({ kind: 'duplicate-key', entry, first });
      }
    }
    return entries;
  }

  #record(spec: RecordSpec, node: MapNode, path: string): NamedField<unknown>[] {
    const fields: NamedField<unknown>[] = [];
    for (const [name, entry] of this.#entriesOf(node)) {
      if (this.full) {
        break;
      }
      fields.push({ name, ...this.#field(spec.values, entry, `${path}.${shortened(name, MAX_PATH_WORD)}`) });
    }
    return fields;
  }

  #list(items: KeySpec, node: ListNode, keySpan: Span, path: string): Field<unknown>[] {
    const fields: Field<unknown>[] = [];
    for (const item of node.items) {
      if (this.full) {
        break;
      }
      const value = this.#value(items, item, keySpan, `${path}[${fields.length}]`);
      fields.push({ written: true, value, span: item.span, keySpan });
    }
    return fields;
  }

  #scalar(spec: KeySpec, node: ScalarNode, path: string): unknown {
    switch (spec.type) {
      case 'integer':
        return this.#integer(spec, node, path);
      case 'share':
        return shareOf(node) ?? this.#wrongType(spec, node, path);
      case 'boolean':
        return !node.quoted && typeof node.value === 'boolean' ? node.value : this.#wrongType(spec, node, path);
      case 'string':
        return this.#string(spec, node, path);
      case 'enum':
        return this.#option(spec.options, node, path);
      case 'size':
        return parseSize(String(node.value ?? '')) ?? this.#wrongType(spec, node, path);
      case 'duration':
        return parseDuration(String(node.value ?? '')) ?? this.#wrongType(spec, node, path);
      default:
        return this.#wrongType(spec, node, path);
    }
  }

  #integer(spec: IntegerSpec, node: ScalarNode, path: string): number | undefined {
    if (node.quoted || !/^[-+]?(\d+|0x[\da-f]+|0o[0-7]+)$/i.test(node.source) || node.value === null) {
      return this.#wrongType(spec, node, path);
    }
    const value = Number(node.value);
    if (!Number.isSafeInteger(value)) {
      this.problems.push({ kind: 'number-too-large', node });
      return undefined;
    }
    if (value < spec.min) {
      this.tooSmall.push({ path, value, spec, span: node.span });
      return undefined;
    }
    return value;
  }

  #string(spec: StringSpec, node: ScalarNode, path: string): string | undefined {
    if (typeof node.value !== 'string') {
      return this.#wrongType(spec, node, path);
    }
    if (node.value.length > MAX_STRING) {
      this.problems.push({ kind: 'text-too-long', length: node.value.length, span: node.span, path });
      return undefined;
    }
    return node.value;
  }

  #option(options: readonly string[], node: ScalarNode, path: string): string | undefined {
    if (typeof node.value === 'string' && options.includes(node.value)) {
      return node.value;
    }
    this.problems.push({ kind: 'not-an-option', options, node, path });
    return undefined;
  }

  #wrongType(spec: KeySpec, node: Node, path: string): undefined {
    this.problems.push({ kind: 'wrong-type', spec, node, path });
    return undefined;
  }

  #unknownKeys(spec: MapSpec, siblings: ReadonlyMap<string, Entry>, path: string): void {
    for (const [key, entry] of siblings) {
      if (!Object.hasOwn(spec.keys, key) && !this.full) {
        this.problems.push({ kind: 'unknown-key', entry, spec, siblings, path });
      }
    }
  }
}

function shareOf({ quoted, value }: ScalarNode): number | undefined {
  return !quoted && typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined;
}

/** The form of a key of several that a node can only be meant as; undefined where it is none of them. */
function formFor({ forms }: EitherSpec, node: Node): KeySpec | undefined {
  if (node.kind !== 'scalar') {
    return forms.find(({ type }: KeySpec) => type === node.kind);
  }
  const isNumber = !node.quoted && (typeof node.value === 'number' || typeof node.value === 'bigint');
  return forms.find(({ type }: KeySpec) => (type === 'integer') === isNumber && type !== 'list' && type !== 'map');
}

/** What a node holds, as plain data. */
function plainValue(node: Node): unknown {
  switch (node.kind) {
    case 'scalar':
      return typeof node.value === 'bigint' ? Number(node.value) : node.value;
    case 'list':
      return node.items.map(plainValue);
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainValue(value)]));
  }
}

/** The keys of a map's spec, made once: a file of many modules reads the same spec over and over. */
const keysOf = memoize((spec: MapSpec): ReadonlyMap<string, KeySpec> => new Map(Object.entries(spec.keys)));

/** All keys of a map without their fields. V8 copies it fast and keeps the copy compact; an object that grows it does not. */
const unread = memoize((spec: MapSpec) => Object.fromEntries(Object.keys(spec.keys).map((name) => [name, undefined])));

/** How much of a name is shown as part of a path: it may be as long as the file. */
const MAX_PATH_WORD = 80;

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);
