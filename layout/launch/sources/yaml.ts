import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type ParsedNode,
  Parser,
} from 'yaml';
import { deepNesting, withoutStackTraces } from '../../format/yaml';
import { MAX_DEPTH, type Tree, type TreeMap } from './tree';

/** How much of a file is read: characters, and values once aliases are followed. */
const MAX_CHARACTERS = 512 * 1024;
const MAX_VALUES = 100_000;

/**
 * Parses a YAML file the way PyYAML reads it (YAML 1.1 types, merge keys); null where it is not a map. Of several
 * documents the first map is taken.
 */
export function parseYamlTree(file: string, text: string): TreeMap | null {
  if (text.length > MAX_CHARACTERS || deepNesting(text) !== null) {
    return null;
  }
  try {
    return withoutStackTraces(() => firstMap(file, text));
  } catch {
    // an alias of an alias of an alias, or nesting beyond the parser's stack: not a configuration
    return null;
  }
}

function firstMap(file: string, text: string): TreeMap | null {
  for (const document of documentsOf(text)) {
    const tree = document.errors.length === 0 && document.contents ? new Builder(file).build(document.contents) : null;
    if (tree?.kind === 'map') {
      return tree;
    }
  }
  return null;
}

/** The documents of a text, one after another. Throws at the first syntax error, as an error for each character would take minutes. */
function documentsOf(text: string): Iterable<Document.Parsed> {
  const composer = new Composer({
    version: '1.1',
    merge: true,
    uniqueKeys: false,
    logLevel: 'silent',
    strict: false,
    prettyErrors: false,
  });
  return composer.compose(soundTokens(text), false, text.length);
}

function* soundTokens(text: string): Iterable<CST.Token> {
  for (const token of new Parser().parse(text)) {
    if (token.type === 'error') {
      throw new SyntaxError(token.message);
    }
    yield token;
  }
}

class Builder {
  #values = 0;
  readonly #anchors = new Map<string, Node>();

  constructor(readonly file: string) {}

  build(node: ParsedNode): Tree {
    return this.#tree(node, 0, node);
  }

  #tree(node: Node | null | undefined, depth: number, parent: Node): Tree {
    const place = { file: this.file, offset: (node ?? parent).range?.[0] ?? 0 };
    if (++this.#values > MAX_VALUES || depth > MAX_DEPTH) {
      throw new Error('too many values');
    }
    if (isAlias(node)) {
      return this.#tree(this.#anchors.get(node.source), depth + 1, node);
    }
    if (node && 'anchor' in node && node.anchor) {
      this.#anchors.set(node.anchor, node);
    }
    if (isMap(node)) {
      return { kind: 'map', place, entries: this.#entries(node, depth) };
    }
    if (isSeq(node)) {
      return { kind: 'list', place, items: node.items.map((item) => this.#tree(item as Node, depth + 1, node)) };
    }
    return { kind: 'scalar', place, value: isScalar(node) ? plainValue(node.value) : null };
  }

  #entries(node: Extract<Node, { items: { key: unknown; value: unknown }[] }>, depth: number): Map<string, Tree> {
    const entries = new Map<string, Tree>();
    const merged: Tree[] = [];
    for (const { key, value } of node.items) {
      if (!isScalar(key)) {
        continue;
      }
      const tree = this.#tree(value as Node | null, depth + 1, key);
      const name = key.value;
      // the parser makes a symbol of a merge key; in quotes it is a name like any other
      if (typeof name === 'symbol') {
        merged.push(...(tree.kind === 'list' ? tree.items : [tree]));
      } else {
        entries.set(String(name), tree);
      }
    }
    for (const base of merged) {
      for (const [name, tree] of base.kind === 'map' ? base.entries : []) {
        if (!entries.has(name)) {
          entries.set(name, tree);
        }
      }
    }
    return entries;
  }
}

function plainValue(value: unknown): string | number | boolean | null {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? value
    : value === null || value === undefined
      ? null
      : String(value);
}
