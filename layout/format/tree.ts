import { type Document, isAlias, isMap, isScalar, isSeq, parseDocument, type YAMLError } from 'yaml';
import type { Span } from '../finding';

/** A scalar as the file has it. */
export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: string | number | bigint | boolean | null;
  /** The text between the value's ends, quotes included. */
  readonly source: string;
  readonly quoted: boolean;
  readonly span: Span;
}

/** A map with its entries in the order of the file; a key may stand in it more than once. */
export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly Entry[];
  /** Whether it is written `{a: 1}` on the spot rather than as indented lines. */
  readonly flow: boolean;
  readonly span: Span;
}

export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly Node[];
  readonly flow: boolean;
  readonly span: Span;
}

export type Node = ScalarNode | MapNode | ListNode;

/** One `key: value` of a map. */
export interface Entry {
  readonly key: string;
  readonly keySpan: Span;
  readonly value: Node;
}

/** What the YAML parser objects to. */
export interface SyntaxProblem {
  readonly message: string;
  readonly span: Span;
}

/** A parsed file: `root` is null where it is empty or so broken that nothing can be read. */
export interface Tree {
  readonly root: Node | null;
  readonly problem: SyntaxProblem | null;
}

/**
 * The longest text, in UTF-16 units, that is parsed. A layout of ten thousand lines has about a third of it; beyond,
 * one keystroke would take longer than a person waits.
 */
export const MAX_TEXT_LENGTH = 512 * 1024;

/** Parses YAML 1.2 into a tree with spans. Never throws: what is wrong is in `problem`. */
export function parseTree(text: string): Tree {
  const control = findControlCharacter(text);
  if (control !== null) {
    return { root: null, problem: control };
  }
  try {
    const document = parseDocument(text, {
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'silent',
      intAsBigInt: false,
      version: '1.2',
    });
    const builder = new TreeBuilder(text);
    const root = builder.build(document);
    return { root, problem: firstProblem(document.errors, text) ?? builder.problem };
  } catch (error) {
    if (error instanceof RangeError) {
      return { root: null, problem: { message: 'The file nests too deeply to be read.', span: firstLine(text) } };
    }
    throw error;
  }
}

/** The span of the first line, for what concerns the file as a whole. */
export function firstLine(text: string): Span {
  const end = text.search(/[\r\n]/);
  return { start: 0, end: end < 0 ? text.length : end };
}

/** NUL and other control characters mean that this is no text: YAML allows only tab, line feed and carriage return. */
function findControlCharacter(text: string): SyntaxProblem | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const at = text.search(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffd]/);
  if (at < 0) {
    return null;
  }
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
  return {
    message: `The character U+${code} has no place in a text file. Is this a binary file, or not UTF-8?`,
    span: { start: at, end: at + 1 },
  };
}

/** The first error is the cause; those after it are mostly its echo. */
function firstProblem(errors: readonly YAMLError[], text: string): SyntaxProblem | null {
  const first = errors.reduce<YAMLError | null>(
    (least, error) => (least === null || error.pos[0] < least.pos[0] ? error : least),
    null,
  );
  if (!first) {
    return null;
  }
  const start = Math.min(first.pos[0], text.length);
  const end = Math.min(Math.max(first.pos[1], start + 1), text.length);
  return { message: first.message, span: { start, end: Math.max(start, end) } };
}

class TreeBuilder {
  readonly #anchors = new Map<string, Node>();
  problem: SyntaxProblem | null = null;

  constructor(readonly text: string) {}

  build(document: Document): Node | null {
    return document.contents === null ? null : this.#node(document.contents, 0);
  }

  #node(node: unknown, at: number): Node {
    if (isAlias(node)) {
      return this.#alias(node.source, this.#span(node.range, at));
    }
    const built = this.#plainNode(node, at);
    if ((isScalar(node) || isMap(node) || isSeq(node)) && node.anchor) {
      this.#anchors.set(node.anchor, built);
    }
    return built;
  }

  /** Aliased nodes are shared, not copied; an alias inside its own anchor finds nothing yet and is refused. */
  #alias(name: string, span: Span): Node {
    const target = this.#anchors.get(name);
    if (!target) {
      this.problem ??= { message: `The alias *${name} stands before the end of the anchor that it names.`, span };
      return { kind: 'scalar', value: null, source: '', quoted: false, span };
    }
    return { ...target, span };
  }

  #plainNode(node: unknown, at: number): Node {
    if (isMap(node)) {
      const entries = node.items.map((pair) => this.#entry(pair.key, pair.value));
      return {
        kind: 'map',
        entries,
        flow: node.flow === true,
        span: this.#collectionSpan(node, entries.at(-1)?.value),
      };
    }
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#node(item, at));
      return { kind: 'list', items, flow: node.flow === true, span: this.#collectionSpan(node, items.at(-1)) };
    }
    const span = this.#span(isScalar(node) ? node.range : null, at);
    if (!isScalar(node)) {
      return { kind: 'scalar', value: null, source: '', quoted: false, span };
    }
    const source = this.text.slice(span.start, span.end);
    const quoted = node.type !== 'PLAIN';
    return { kind: 'scalar', value: scalarValue(node.value), source, quoted, span };
  }

  #entry(key: unknown, value: unknown): Entry {
    const keyNode = this.#node(key, 0);
    const name =
      keyNode.kind === 'scalar' ? (keyNode.quoted ? String(keyNode.value) : keyNode.source) : '(a collection as a key)';
    // a key without a value points at the end of the key, where the value would be typed
    const afterKey = keyNode.span.end + (this.text[keyNode.span.end] === ':' ? 1 : 0);
    return { key: name, keySpan: keyNode.span, value: this.#node(value, afterKey) };
  }

  #span(range: readonly [number, number, number] | null | undefined, at: number): Span {
    if (!range || range[1] === range[0]) {
      return { start: at || (range?.[0] ?? 0), end: at || (range?.[0] ?? 0) };
    }
    return { start: range[0], end: range[1] };
  }

  /** A block collection ends with its last value, not with the comments and blank lines after it. */
  #collectionSpan(node: { range?: readonly [number, number, number] | null; flow?: boolean }, last?: Node): Span {
    const span = this.#span(node.range, 0);
    return node.flow || !last ? span : { start: span.start, end: Math.max(span.start, last.span.end) };
  }
}

function scalarValue(value: unknown): ScalarNode['value'] {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return value;
    default:
      return null;
  }
}
