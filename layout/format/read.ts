import { distance } from 'fastest-levenshtein';
import type { Diagnostic, Fix, Span } from '../diagnostic';
import { memoize } from '../memoize';
import { replaceFix, safeFix, suggestion } from '../rules/fixes';
import { appendKey, removeField, startOfLine } from './edit';
import { FORMAT, FORMAT_VERSION, type RootKeys } from './keys';
import { MAX_DIAGNOSTICS, MAX_STRING } from './limits';
import { grouped, parseDuration, parseSize } from './quantities';
import type { Field, IntegerSpec, KeySpec, Keys, MapSpec, NamedField, RecordSpec, Section, StringSpec } from './spec';
import {
  type Entry,
  firstLine,
  type ListNode,
  type MapNode,
  type Node,
  parseTree,
  type ScalarNode,
  type Tree,
} from './tree';

/** A layout file as read: every key of the format with its value and place, and what is wrong with its shape. */
export interface ReadLayout {
  readonly tree: Tree;
  /** Null where the file holds no map at all. */
  readonly root: Section<RootKeys> | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Whole numbers that are too small for their key; the rule `not-positive` says so. */
  readonly tooSmall: readonly TooSmall[];
}

/** A whole number below the least that its key can have. */
export interface TooSmall {
  /** Where it stands: `modules.language.rank_offset`. */
  readonly path: string;
  readonly value: number;
  readonly spec: IntegerSpec;
  readonly span: Span;
}

/** Reads a layout file's text against the one description of its keys. Never throws. */
export function readLayout(text: string): ReadLayout {
  const tree = parseTree(text);
  const reader = new Reader(text);
  if (tree.problem) {
    const { kind, message, span } = tree.problem;
    reader.report(kind === 'syntax' ? 'yaml-syntax' : 'file-too-large', sentence(message), span);
    return { tree, root: null, diagnostics: reader.diagnostics, tooSmall: [] };
  }
  const { root } = tree;
  if (root === null || (root.kind === 'scalar' && root.value === null)) {
    const start = Math.max(startOfLine(text, text.length), text.startsWith('\ufeff') ? 1 : 0);
    reader.report('missing-key', 'The file is empty. A layout begins with `layout: 1`.', firstLine(text), [
      suggestion('Insert a small layout', [{ span: { start, end: start }, newText: STARTER }]),
    ]);
    return { tree, root: null, diagnostics: reader.diagnostics, tooSmall: [] };
  }
  if (root.kind !== 'map') {
    reader.report('wrong-type', `A layout is a map of keys such as \`layout: 1\`, not ${nodeName(root)}.`, root.span);
    return { tree, root: null, diagnostics: reader.diagnostics, tooSmall: [] };
  }
  const section = reader.section(FORMAT, root, root.span, '');
  reader.checkVersion(section.layout);
  // where so much is wrong, no rule says anything of use
  return { tree, root: reader.full ? null : section, diagnostics: reader.diagnostics, tooSmall: reader.tooSmall };
}

const STARTER = `layout: 1
world_size: 8
parallelism:
  tp: 2
`;

class Reader {
  readonly diagnostics: Diagnostic[] = [];
  readonly tooSmall: TooSmall[] = [];

  constructor(readonly text: string) {}

  /** Whether there are more diagnostics than are listed: reading on would only cost time. */
  get full(): boolean {
    return this.diagnostics.length > MAX_DIAGNOSTICS;
  }

  report(code: string, message: string, span: Span, fixes: readonly Fix[] = []): void {
    this.diagnostics.push({ code, severity: 'error', message, span, related: [], predicts: null, fixes });
  }

  /** Reads a map: its known keys become fields, all others are reported. */
  section<K extends Keys>(spec: MapSpec<K>, node: MapNode, keySpan: Span, path: string): Section<K> {
    const entries = this.#entriesOf(node);
    this.#unknownKeys(spec, entries, path);
    const fields: Record<string, Field<unknown>> = {};
    const missing = { written: false, value: undefined, span: keySpan, keySpan };
    for (const [name, keySpec] of keyList(spec)) {
      const entry = entries.get(name);
      if (entry) {
        fields[name] = this.#field(keySpec, entry, path === '' ? name : `${path}.${name}`);
      } else {
        fields[name] = missing;
        if (keySpec.required && !this.full) {
          this.#missingKey(name, keySpec, node, keySpan, path);
        }
      }
    }
    // every key of K was given its field by the loop above
    return fields as Section<K>;
  }

  checkVersion(version: Field<number>): void {
    if (version.value !== undefined && version.value !== FORMAT_VERSION) {
      this.report(
        'unsupported-version',
        `Version ${version.value} of the layout format is not known here. Write \`layout: ${FORMAT_VERSION}\`.`,
        version.span,
        [replaceFix(version.span, String(FORMAT_VERSION))],
      );
    }
  }

  #field(spec: KeySpec, entry: Entry, path: string): Field<unknown> {
    const value = this.#value(spec, entry.value, entry.keySpan, path);
    return { written: true, value, span: entry.value.span, keySpan: entry.keySpan };
  }

  /** The typed value of a node, or undefined where it is unusable (a diagnostic then says why). */
  #value(spec: KeySpec, node: Node, keySpan: Span, path: string): unknown {
    switch (spec.type) {
      case 'map':
        return node.kind === 'map' ? this.section(spec, node, keySpan, path) : this.#wrongType(spec, node, path);
      case 'record':
        return node.kind === 'map' ? this.#record(spec, node, path) : this.#wrongType(spec, node, path);
      case 'list':
        return node.kind === 'list' ? this.#list(spec.items, node, keySpan, path) : this.#wrongType(spec, node, path);
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
        this.#duplicateKey(entry, first);
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
      fields.push({ name: entry.key, ...this.#field(spec.values, entry, `${path}.${shortened(name, MAX_WORD)}`) });
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
      this.report('number-too-large', `${node.source} is larger than any number of ranks, layers or bytes.`, node.span);
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
      const [length, most] = [node.value.length, MAX_STRING].map(grouped);
      this.report(
        'file-too-large',
        `\`${path}\` has ${length} characters; up to ${most} are read. Shorten it.`,
        node.span,
      );
      return undefined;
    }
    return node.value;
  }

  #option(choices: readonly string[], node: ScalarNode, path: string): string | undefined {
    const written = String(node.value ?? '');
    if (typeof node.value === 'string' && choices.includes(written)) {
      return written;
    }
    const all = choices.map((choice) => `\`${choice}\``).join(', ');
    const near = nearest(written, choices);
    const hint = near ? ` Did you mean \`${near}\`?` : '';
    const fixes = (near ? [near] : choices).slice(0, 4).map((choice) => replaceFix(node.span, choice));
    this.report('not-an-option', `\`${path}\` is \`${written}\`, but must be one of ${all}.${hint}`, node.span, fixes);
    return undefined;
  }

  #wrongType(spec: KeySpec, node: Node, path: string): undefined {
    const message = `\`${path}\` must be ${typeName(spec)}, not ${nodeName(node)}.`;
    this.report('wrong-type', message, node.span, castFixes(spec, node));
    return undefined;
  }

  #duplicateKey(entry: Entry, first: Entry): void {
    this.diagnostics.push({
      code: 'duplicate-key',
      severity: 'error',
      message: `\`${entry.key}\` is written twice in this map; only one of them would count. Keep one.`,
      span: entry.keySpan,
      related: [{ message: 'the first one', span: first.keySpan }],
      predicts: null,
      fixes: [
        suggestion(`Remove the second \`${entry.key}\``, [
          removeField(this.text, { keySpan: entry.keySpan, span: entry.value.span }),
        ]),
      ],
    });
  }

  #unknownKeys(spec: MapSpec, entries: ReadonlyMap<string, Entry>, path: string): void {
    for (const [key, entry] of entries) {
      if (!Object.hasOwn(spec.keys, key) && !this.full) {
        this.#unknownKey(entry, spec, entries, path);
      }
    }
  }

  #unknownKey(entry: Entry, spec: MapSpec, present: ReadonlyMap<string, Entry>, path: string): void {
    const known = Object.keys(spec.keys);
    const near = nearest(
      entry.key,
      known.filter((key) => !present.has(key)),
    );
    const place = path === '' ? 'a layout file' : `\`${path}\``;
    const hint = near ? `Did you mean \`${near}\`?` : `Its keys are ${known.map((key) => `\`${key}\``).join(', ')}.`;
    this.report('unknown-key', `${capital(place)} has no key \`${entry.key}\`. ${hint}`, entry.keySpan, [
      ...(near ? [safeFix(`Rename to \`${near}\``, [{ span: entry.keySpan, newText: near }])] : []),
      suggestion(`Remove \`${entry.key}\``, [
        removeField(this.text, { keySpan: entry.keySpan, span: entry.value.span }),
      ]),
    ]);
  }

  #missingKey(name: string, spec: KeySpec, node: MapNode, keySpan: Span, path: string): void {
    const value = placeholder(name, spec);
    const edit = appendKey(this.text, node.span, `${name}: ${value}`);
    const place = path === '' ? 'The file' : `\`${path}\``;
    const span = path === '' ? firstLine(this.text) : keySpan;
    this.report('missing-key', `${place} needs the key \`${name}\`. ${spec.doc}`, span, [
      ...(edit ? [suggestion(`Insert \`${name}: ${value}\``, [edit])] : []),
    ]);
  }
}

/** The keys of a map's spec as a list, made once: a file of many modules reads the same spec over and over. */
const keyList = memoize((spec: MapSpec): readonly [string, KeySpec][] => Object.entries(spec.keys));

/** How much of a word is compared with others, or shown as part of a path: a name may be as long as the file. */
const MAX_WORD = 80;

/** The candidate that a misspelt word most likely means, or null where none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, '');
  const wanted = plain(word.slice(0, MAX_WORD));
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const likely = plain(candidate.slice(0, MAX_WORD));
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, likely.length) / 3));
    // the distance is at least the difference of the lengths
    const far = Math.abs(wanted.length - likely.length) > allowed ? Number.POSITIVE_INFINITY : distance(wanted, likely);
    if (far < least && far <= allowed) {
      least = far;
      best = candidate;
    }
  }
  return best;
}

function castFixes(spec: KeySpec, node: Node): Fix[] {
  if (node.kind !== 'scalar' || node.value === null) {
    return [];
  }
  const text = String(node.value);
  switch (spec.type) {
    case 'integer':
      return /^\s*[-+]?\d+(\.0*)?\s*$/.test(text) && Number(text) >= spec.min
        ? [castFix(node, String(Number(text)))]
        : [];
    case 'boolean': {
      const word = text.toLowerCase();
      const value = ['yes', 'on', 'true', '1'].includes(word) || (!['no', 'off', 'false', '0'].includes(word) && null);
      return value === null ? [] : [castFix(node, String(value))];
    }
    case 'string':
      return [castFix(node, JSON.stringify(node.source))];
    default:
      return [];
  }
}

/** The same value in the form that its key takes. */
function castFix({ span }: Node, newText: string): Fix {
  return safeFix(`Change to ${newText}`, [{ span, newText }]);
}

function placeholder(name: string, spec: KeySpec): string {
  if (name === 'layout') {
    return String(FORMAT_VERSION);
  }
  if (spec.type === 'integer') {
    return String(spec.default ?? spec.min);
  }
  return spec.type === 'list' ? '[]' : '';
}

function typeName(spec: KeySpec): string {
  switch (spec.type) {
    case 'integer':
      return 'a whole number';
    case 'boolean':
      return 'true or false';
    case 'string':
      return 'a text';
    case 'enum':
      return `one of ${spec.options.join(', ')}`;
    case 'size':
      return 'a size with a unit, such as 64MiB';
    case 'duration':
      return 'a duration with a unit, such as 60s';
    case 'list':
      return 'a list';
    case 'map':
    case 'record':
      return 'a map of keys';
  }
}

function nodeName(node: Node): string {
  if (node.kind !== 'scalar') {
    return node.kind === 'map' ? 'a map' : 'a list';
  }
  if (node.value === null) {
    return 'empty';
  }
  const shown = shortened(node.source, 40);
  return node.quoted ? `the text ${shown}` : `\`${shown}\``;
}

const shortened = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const sentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);
