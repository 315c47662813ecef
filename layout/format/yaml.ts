import { type Document, isAlias, isCollection, isMap, isScalar, parseDocument, type YAMLError } from 'yaml';
import type { Span } from '../diagnostic';
import { MAX_DEPTH, MAX_NODES } from './limits';
import type { Entry, Node, Parsed, ScalarNode, TreeProblem } from './node';
import { grouped } from './quantities';

/** Builds the tree of a text by the `yaml` package, which reads all of YAML 1.2 and says what is wrong. Never throws. */
export function parseYaml(text: string): Parsed {
  const deep = deepNesting(text);
  if (deep !== null) {
    return { root: null, problem: tooDeep({ start: deep, end: deep + 1 }) };
  }
  try {
    const document = withoutStackTraces(() =>
      // the log level `error` makes a second document an error; nothing is logged
      parseDocument(text, { uniqueKeys: false, prettyErrors: false, logLevel: 'error', version: '1.2' }),
    );
    return new TreeBuilder(text).tree(document);
  } catch (error) {
    if (error instanceof Refusal) {
      return { root: null, problem: error.problem };
    }
    // the parser itself ran out of stack
    if (error instanceof RangeError) {
      return { root: null, problem: tooDeep({ start: 0, end: text.length }) };
    }
    throw error;
  }
}

/** More levels than the parser's stack is trusted with: where it runs out, some versions of V8 end the process. */
const MAX_OPEN = 256;

/** Where more brackets are open, or more dashes lead a line, than a parser's stack is trusted with; null where none are. */
export function deepNesting(text: string): number | null {
  let open = 0;
  let leading = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '[':
      case '{':
        open++;
        break;
      case ']':
      case '}':
        open = Math.max(0, open - 1);
        break;
      case '-':
      case '?':
        leading = /\s/.test(text[i + 1] ?? '') ? leading + 1 : 0;
        break;
      case ' ':
      case '\t':
        break;
      default:
        leading = 0;
    }
    if (open > MAX_OPEN || leading > MAX_OPEN) {
      return i;
    }
  }
  return null;
}

/**
 * A broken text may hold an error a character. Nobody looks at the stack traces of these, and taking them is most of the
 * time that they cost.
 */
export function withoutStackTraces<T>(work: () => T): T {
  const limit: unknown = Reflect.get(Error, 'stackTraceLimit');
  Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return work();
  } finally {
    Reflect.set(Error, 'stackTraceLimit', limit);
  }
}

/** Ends the building of a tree that would be too large. */
class Refusal extends Error {
  constructor(readonly problem: TreeProblem) {
    super(problem.message);
  }
}

function tooDeep(span: Span): TreeProblem {
  const message = `The file nests more than ${MAX_DEPTH} levels deep; a layout needs five. Remove the nesting.`;
  return { kind: 'too-large', message, span };
}

function tooManyNodes(span: Span): TreeProblem {
  const limit = grouped(MAX_NODES);
  const message = `The file holds more than ${limit} values once its aliases are followed. Write fewer aliases.`;
  return { kind: 'too-large', message, span };
}

/** The first error is the cause; those after it are mostly its echo. */
function firstProblem(errors: readonly YAMLError[], text: string): TreeProblem | null {
  const exhausted = errors.find(({ code }) => code === 'RESOURCE_EXHAUSTION');
  const first = errors.reduce<YAMLError | null>(
    (least, error) => (least === null || error.pos[0] < least.pos[0] ? error : least),
    null,
  );
  if (exhausted) {
    return tooDeep(errorSpan(exhausted, text));
  }
  return first && { kind: 'syntax', message: messageOf(first), span: errorSpan(first, text) };
}

function errorSpan({ pos }: YAMLError, text: string): Span {
  const start = Math.min(pos[0], text.length);
  return { start, end: Math.max(start, Math.min(Math.max(pos[1], start + 1), text.length)) };
}

function messageOf({ code, message }: YAMLError): string {
  if (code === 'MULTIPLE_DOCS') {
    return "A second document begins here; a layout file holds one. Remove '---'.";
  }
  const [pattern, ours] = OUR_WORDS.find(([theirs]) => theirs.test(message)) ?? [];
  return pattern === undefined || ours === undefined ? message : message.replace(pattern, ours);
}

/** What the parser says, and what to do about it. */
const OUR_WORDS: readonly (readonly [theirs: RegExp, ours: string])[] = [
  [/^Missing closing ["']quote.*/, 'A quoted text is not closed.'],
  [/^Flow .* end with a }$/, "A '{' is not closed."],
  [/^Flow .* end with a ]$/, "A '[' is not closed."],
  [
    /^Implicit (?:map keys need to be followed by map values|keys need to be on a single line)$/,
    "A key needs a colon, a space and a value, as in 'tp: 2'.",
  ],
  [
    /^Nested mappings are not allowed in compact mappings$/,
    'A key stands in the value of another. Write it on a line of its own, indented like its neighbours.',
  ],
  [/^Unexpected flow-(?:map|seq)-start at node end$/, 'A bracket stands inside a value. Put the value in quotes.'],
  [/^All mapping items must start at the same column$/, 'The keys of a map must be indented alike.'],
  [/^Plain value cannot start with reserved character (.)$/, "A value cannot begin with '$1'. Put it in quotes."],
];

/** A node behind an anchor, and what an alias of it adds to the tree. */
interface Anchored {
  readonly node: Node;
  readonly nodes: number;
  /** How many maps and lists stand in one another in it. */
  readonly height: number;
}

class TreeBuilder {
  readonly #anchors = new Map<string, Anchored>();
  #problem: TreeProblem | null = null;
  /** Nodes built so far, aliases followed. */
  #nodes = 0;
  /** How deep the node being built reaches so far. */
  #deepest = 0;

  constructor(readonly text: string) {}

  tree({ contents, errors }: Document): Parsed {
    const root = contents === null ? null : this.#node(contents, 0, 0);
    return { root, problem: firstProblem(errors, this.text) ?? this.#problem };
  }

  /**
   * @param at where an empty node stands, or 0 where the parser knows
   * @param depth how many maps and lists are around the node
   */
  #node(node: unknown, at: number, depth: number): Node {
    if (isAlias(node)) {
      return this.#alias(node.source, this.#span(node.range, at), depth);
    }
    const before = this.#nodes;
    const around = this.#deepest;
    this.#deepest = depth;
    this.#count(1, depth + (isCollection(node) ? 1 : 0), this.#rangeOf(node, at));
    const built = this.#plainNode(node, at, depth);
    if ((isScalar(node) || isCollection(node)) && node.anchor) {
      this.#anchors.set(node.anchor, {
        node: built,
        nodes: this.#nodes - before,
        height: this.#deepest - depth,
      });
    }
    this.#deepest = Math.max(around, this.#deepest);
    return built;
  }

  /** Adds to the tree's size, and refuses a tree that grows too large: nobody who walks it need fear its size. */
  #count(nodes: number, depth: number, span: Span): void {
    this.#nodes += nodes;
    this.#deepest = Math.max(this.#deepest, depth);
    if (this.#nodes > MAX_NODES) {
      throw new Refusal(tooManyNodes(span));
    }
    if (this.#deepest > MAX_DEPTH) {
      throw new Refusal(tooDeep(span));
    }
  }

  /** Aliased nodes are shared, not copied; an alias inside its own anchor finds nothing yet and is refused. */
  #alias(name: string, span: Span, depth: number): Node {
    const target = this.#anchors.get(name);
    if (!target) {
      const message = `The alias *${name} stands before the end of the anchor that it names.`;
      this.#problem ??= { kind: 'syntax', message, span };
      return { kind: 'scalar', value: null, source: '', quoted: false, span };
    }
    this.#count(target.nodes, depth + target.height, span);
    return { ...target.node, span };
  }

  #plainNode(node: unknown, at: number, depth: number): Node {
    const span = this.#rangeOf(node, at);
    if (isMap(node)) {
      const entries = node.items.map((pair) => this.#entry(pair.key, pair.value, depth + 1));
      const flow = node.flow === true;
      return { kind: 'map', entries, flow, span: collectionSpan(span, flow, entries.at(-1)?.value) };
    }
    if (isCollection(node)) {
      const items = node.items.map((item) => this.#node(item, 0, depth + 1));
      const flow = node.flow === true;
      return { kind: 'list', items, flow, span: collectionSpan(span, flow, items.at(-1)) };
    }
    if (!isScalar(node)) {
      return { kind: 'scalar', value: null, source: '', quoted: false, span };
    }
    const source = this.text.slice(span.start, span.end);
    return { kind: 'scalar', value: scalarValue(node.value), source, quoted: node.type !== 'PLAIN', span };
  }

  #entry(key: unknown, value: unknown, depth: number): Entry {
    const keyNode = this.#node(key, 0, depth);
    const name =
      keyNode.kind === 'scalar' ? (keyNode.quoted ? String(keyNode.value) : keyNode.source) : '(a collection as a key)';
    // a key without a value points at the end of the key, where the value would be typed
    const afterKey = keyNode.span.end + (this.text[keyNode.span.end] === ':' ? 1 : 0);
    return { key: name, keySpan: keyNode.span, value: this.#node(value, afterKey, depth) };
  }

  #rangeOf(node: unknown, at: number): Span {
    return this.#span(isScalar(node) || isCollection(node) ? node.range : null, at);
  }

  #span(range: readonly [number, number, number] | null | undefined, at: number): Span {
    if (!range || range[1] === range[0]) {
      return { start: at || (range?.[0] ?? 0), end: at || (range?.[0] ?? 0) };
    }
    return { start: range[0], end: range[1] };
  }
}

/** A block collection ends with its last value, not with the comments and blank lines after it. */
function collectionSpan(span: Span, flow: boolean, last: Node | undefined): Span {
  return flow || !last ? span : { start: span.start, end: Math.max(span.start, last.span.end) };
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
