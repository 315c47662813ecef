import { MAX_DEPTH } from './limits';
import type { Entry, ListNode, MapNode, Node, Parsed, ScalarNode } from './node';

/**
 * Reads the YAML that layouts are written in, many times faster than a full parser: block maps and lists, `{}` and `[]`
 * on one line, plain and quoted scalars on one line, comments, LF and CRLF. The tree equals that of `parseYaml`.
 * Returns null for everything else: anchors, aliases, tags, texts and flow collections over several lines, tabs,
 * numbers that are not decimal, directives, document markers, `?`, and errors.
 */
export function parsePlain(text: string): Parsed | null {
  return new Scanner(text).document();
}

/** The offset at which `parsePlain` gives up, or the end of the text. */
export function plainLength(text: string): number {
  const scanner = new Scanner(text);
  return scanner.document() ? text.length : scanner.at;
}

const BYTE_ORDER_MARK = '\ufeff';

/** What no plain scalar begins with: indicators of YAML, white space, and marks that the full parser treats specially. */
const NO_PLAIN_START = new Set(' \t\r\n,[]{}#&*!|>\'"%@`?:\ufeff');

/** The longest key of a block map that is read here; YAML itself allows 1024 characters. */
const MAX_KEY = 1000;

/** The end of the text, as the column of the next content. */
const NOTHING = -1;

/**
 * One pass over a text. Methods read what begins at `at` and move `at` behind it; they return null (or false) where it
 * is not plain, which ends the pass.
 */
class Scanner {
  at = 0;
  #lineStart = 0;
  /** The column of the next content, once a line has been ended; `NOTHING` behind the last. */
  #column = NOTHING;

  constructor(readonly text: string) {}

  document(): Parsed | null {
    const marked = this.#char() === BYTE_ORDER_MARK;
    this.at = marked ? 1 : 0;
    const top = this.at;
    this.#nextContent();
    if (this.#column === NOTHING) {
      return { root: null, problem: null };
    }
    // the full parser does not count columns on a line that begins with a byte order mark
    if (marked && this.#lineStart === top && (this.#column > 0 || this.#atDash())) {
      return null;
    }
    const root = this.#block(1);
    return root && this.#column === NOTHING ? { root, problem: null } : null;
  }

  /** The map or list whose first key or dash stands at `at`. */
  #block(depth: number): Node | null {
    if (depth > MAX_DEPTH) {
      return null;
    }
    return this.#atDash() ? this.#list(depth) : this.#map(depth);
  }

  #map(depth: number): MapNode | null {
    const start = this.at;
    const entries = this.#entries(depth);
    // it ends with its last value, not with the comments and blank lines behind it
    return entries && { kind: 'map', entries, flow: false, span: { start, end: entries.at(-1)?.value.span.end ?? 0 } };
  }

  #entries(depth: number): Entry[] | null {
    const column = this.#column;
    const entries: Entry[] = [];
    do {
      const entry = this.#entry(column, depth);
      if (!entry) {
        return null;
      }
      entries.push(entry);
    } while (this.#column === column);
    // a deeper line would continue a scalar, or is indented wrongly
    return this.#column < column ? entries : null;
  }

  #entry(column: number, depth: number): Entry | null {
    const start = this.at;
    const key = this.#key(false);
    if (key === null) {
      return null;
    }
    const keySpan = { start, end: this.at };
    this.#skipSpaces();
    const colon = this.at;
    if (this.#char() !== ':' || !this.#isBlankAt(colon + 1) || colon - start > MAX_KEY) {
      return null;
    }
    this.at = colon + 1;
    const value = this.#entryValue(column, depth, this.#behindKey(keySpan.end));
    return value && { key, keySpan, value };
  }

  /** The value of a key in `column`: on the same line, or as a block on the following ones, or none. */
  #entryValue(column: number, depth: number, emptyAt: number): Node | null {
    this.#skipSpaces();
    if (this.#atContent()) {
      const value = this.#inline(depth);
      return value && this.#endLine() ? value : null;
    }
    if (!this.#endLine()) {
      return null;
    }
    // a list may stand at the column of the key that holds it
    const isBlock = this.#column > column || (this.#column === column && this.#atDash());
    return isBlock ? this.#block(depth + 1) : emptyNode(emptyAt);
  }

  #list(depth: number): ListNode | null {
    const start = this.at;
    const column = this.#column;
    const items: Node[] = [];
    let end = start;
    do {
      const item = this.#item(column, depth);
      if (!item) {
        return null;
      }
      items.push(item);
      end = item.span.end;
    } while (this.#column === column && this.#atDash());
    return this.#column <= column ? { kind: 'list', items, flow: false, span: { start, end } } : null;
  }

  #item(column: number, depth: number): Node | null {
    this.at++;
    this.#skipSpaces();
    const start = this.at;
    if (!this.#atContent()) {
      if (!this.#endLine()) {
        return null;
      }
      return this.#column > column ? this.#block(depth + 1) : emptyNode(start);
    }
    this.#column = start - this.#lineStart;
    if (this.#atDash()) {
      return this.#block(depth + 1);
    }
    const value = this.#inline(depth);
    this.#skipSpaces();
    if (this.#char() === ':') {
      // what looked like a scalar is the first key of a map
      this.at = start;
      return this.#block(depth + 1);
    }
    return value && this.#endLine() && this.#column <= column ? value : null;
  }

  /** A scalar or a flow collection. */
  #inline(depth: number): Node | null {
    return this.#atFlow() ? this.#flow(depth + 1) : this.#scalar(false);
  }

  #flow(depth: number): Node | null {
    if (depth > MAX_DEPTH) {
      return null;
    }
    return this.#char() === '[' ? this.#flowList(depth) : this.#flowMap(depth);
  }

  #flowList(depth: number): ListNode | null {
    const start = this.at++;
    const items: Node[] = [];
    this.#skipSpaces();
    while (this.#char() !== ']') {
      const item = this.#flowValue(depth);
      if (!item || !this.#separator(']')) {
        return null;
      }
      items.push(item);
    }
    this.at++;
    return { kind: 'list', items, flow: true, span: { start, end: this.at } };
  }

  #flowMap(depth: number): MapNode | null {
    const start = this.at++;
    const entries: Entry[] = [];
    this.#skipSpaces();
    while (this.#char() !== '}') {
      const entry = this.#flowEntry(depth);
      if (!entry || !this.#separator('}')) {
        return null;
      }
      entries.push(entry);
    }
    this.at++;
    return { kind: 'map', entries, flow: true, span: { start, end: this.at } };
  }

  #flowEntry(depth: number): Entry | null {
    const start = this.at;
    const key = this.#key(true);
    if (key === null) {
      return null;
    }
    const keySpan = { start, end: this.at };
    const emptyAt = this.#behindKey(keySpan.end);
    this.#skipSpaces();
    if (this.#char() !== ':') {
      return { key, keySpan, value: emptyNode(emptyAt) };
    }
    this.at++;
    this.#skipSpaces();
    const char = this.#char();
    const value = char === ',' || char === '}' ? emptyNode(emptyAt) : this.#flowValue(depth);
    return value && { key, keySpan, value };
  }

  #flowValue(depth: number): Node | null {
    return this.#atFlow() ? this.#flow(depth + 1) : this.#scalar(true);
  }

  /** Passes the comma behind an item; true too where the collection closes instead. */
  #separator(close: string): boolean {
    this.#skipSpaces();
    if (this.#char() !== ',') {
      return this.#char() === close;
    }
    this.at++;
    this.#skipSpaces();
    return true;
  }

  /** A key as it counts: without its quotes, but otherwise as written (`08` is not `8`). */
  #key(flow: boolean): string | null {
    const start = this.at;
    if (this.#atQuote()) {
      return this.#quoted();
    }
    return this.#plain(flow) ? this.text.slice(start, this.at) : null;
  }

  #scalar(flow: boolean): ScalarNode | null {
    const start = this.at;
    const quoted = this.#atQuote();
    const text = this.#key(flow);
    if (text === null) {
      return null;
    }
    const span = { start, end: this.at };
    const value = quoted ? text : plainValue(text);
    const source = this.text.slice(start, this.at);
    return value === undefined ? null : { kind: 'scalar', value, source, quoted, span };
  }

  /** Moves behind a plain scalar; false where there is none. */
  #plain(flow: boolean): boolean {
    if (!this.#atPlain(flow)) {
      return false;
    }
    let end = this.at;
    for (let at = this.at; !this.#endsPlain(at, flow); at++) {
      const char = this.text[at];
      if (char === '\t') {
        return false;
      }
      if (char !== ' ') {
        end = at + 1;
      }
    }
    this.at = end;
    return true;
  }

  #atPlain(flow: boolean): boolean {
    const { text, at } = this;
    const char = text[at];
    if (char === undefined || NO_PLAIN_START.has(char)) {
      return false;
    }
    if (char === '-' && (this.#isBlankAt(at + 1) || (flow && isFlowIndicator(text[at + 1])))) {
      return false;
    }
    return at !== this.#lineStart || !(text.startsWith('---', at) || text.startsWith('...', at));
  }

  #endsPlain(at: number, flow: boolean): boolean {
    const { text } = this;
    const char = text[at];
    switch (char) {
      case ':':
        return this.#isBlankAt(at + 1) || (flow && isFlowIndicator(text[at + 1]));
      case '#':
        return text[at - 1] === ' ';
      case '\n':
      case '\r':
        return true;
      default:
        return (flow && isFlowIndicator(char)) || at >= text.length;
    }
  }

  /** The value of a quoted scalar, or null where it does not end on its line or escapes more than JSON does. */
  #quoted(): string | null {
    const { text, at: start } = this;
    const quote = text[start];
    let escapes = false;
    for (let at = start + 1; at < text.length; at++) {
      const char = text[at];
      if (char === '\n' || char === '\r') {
        return null;
      }
      if (char === quote && (quote === '"' || text[at + 1] !== quote)) {
        this.at = at + 1;
        return unquoted(text.slice(start, this.at), escapes);
      }
      if (char === quote || (char === '\\' && quote === '"')) {
        escapes = true;
        at++;
      }
    }
    return null;
  }

  /** Ends a line behind a value, where only spaces and a comment may be left of it, and moves to the next content. */
  #endLine(): boolean {
    this.#skipSpaces();
    this.#skipComment();
    if (!this.#newline() && this.at < this.text.length) {
      return false;
    }
    this.#nextContent();
    return true;
  }

  /** From the start of a line to the next content: past blank lines and comments. */
  #nextContent(): void {
    do {
      this.#lineStart = this.at;
      this.#skipSpaces();
      this.#skipComment();
    } while (this.#newline());
    this.#column = this.at < this.text.length ? this.at - this.#lineStart : NOTHING;
  }

  #skipSpaces(): void {
    while (this.#char() === ' ') {
      this.at++;
    }
  }

  /** A comment begins a line or stands behind a space. */
  #skipComment(): void {
    if (this.#char() === '#' && (this.at === this.#lineStart || this.text[this.at - 1] === ' ')) {
      const end = this.text.indexOf('\n', this.at);
      this.at = end < 0 ? this.text.length : end;
    }
  }

  #newline(): boolean {
    const char = this.#char();
    const length = char === '\n' ? 1 : char === '\r' && this.text[this.at + 1] === '\n' ? 2 : 0;
    this.at += length;
    return length > 0;
  }

  /** Where the value of a key without a value would be typed. */
  #behindKey(end: number): number {
    return this.text[end] === ':' ? end + 1 : end;
  }

  #char(): string | undefined {
    return this.text[this.at];
  }

  #isBlankAt(at: number): boolean {
    const char = this.text[at];
    return char === ' ' || char === '\n' || char === '\r' || char === '\t' || at >= this.text.length;
  }

  /** Whether something other than a comment stands between here and the end of the line. */
  #atContent(): boolean {
    const char = this.#char();
    return char !== '\n' && char !== '\r' && char !== '#' && this.at < this.text.length;
  }

  #atDash(): boolean {
    return this.#char() === '-' && this.#isBlankAt(this.at + 1);
  }

  #atFlow(): boolean {
    const char = this.#char();
    return char === '[' || char === '{';
  }

  #atQuote(): boolean {
    const char = this.#char();
    return char === '"' || char === "'";
  }
}

function isFlowIndicator(char: string | undefined): boolean {
  return char === ',' || char === '[' || char === ']' || char === '{' || char === '}';
}

function emptyNode(at: number): ScalarNode {
  return { kind: 'scalar', value: null, source: '', quoted: false, span: { start: at, end: at } };
}

/** The text between quotes; null where it has escapes that JSON lacks. */
function unquoted(source: string, escapes: boolean): string | null {
  if (!escapes) {
    return source.slice(1, -1);
  }
  if (source.startsWith("'")) {
    return source.slice(1, -1).replaceAll("''", "'");
  }
  try {
    return String(JSON.parse(source));
  } catch {
    return null;
  }
}

const WORDS: ReadonlyMap<string, boolean | null> = new Map<string, boolean | null>([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
  ...['null', 'Null', 'NULL', '~'].map((word) => [word, null] as const),
]);

/** The value of a plain scalar in YAML's core schema; undefined for what may be octal, hexadecimal, infinite or no number. */
function plainValue(source: string): ScalarNode['value'] | undefined {
  if (/^[-+.\d]/.test(source)) {
    return numberValue(source);
  }
  const word = source.length <= 5 ? WORDS.get(source) : undefined;
  return word === undefined ? source : word;
}

function numberValue(source: string): number | string | undefined {
  if (/^[-+]?[0-9]+$/.test(source)) {
    return Number.parseInt(source, 10);
  }
  if (/^0[ox]|^[-+]?\.(?:inf|nan)/i.test(source)) {
    return undefined;
  }
  return /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(source)
    ? Number.parseFloat(source)
    : source;
}
