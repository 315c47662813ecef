import type { Position, TextEdit } from 'vscode-languageserver';
import {
  applyEdits,
  type Checked,
  childrenOf,
  type Edit,
  entriesIn,
  lineBreak,
  type Node,
  parseTree,
  type Span,
  scalarsOf,
  specAt,
} from '../../layout';
import { cursorAt } from '../cursor';
import { feature } from './feature';

export const formattingFeature = feature(
  {
    documentFormattingProvider: true,
    // lines are indented behind a key
    documentOnTypeFormattingProvider: { firstTriggerCharacter: '\n' },
  },
  ({ connection, checked }) => {
    connection.onDocumentFormatting(({ textDocument }) => formatting(checked(textDocument.uri)));
    connection.onDocumentOnTypeFormatting(({ textDocument, position }) =>
      indentNewLine(checked(textDocument.uri), position),
    );
  },
);

/** Columns by which a map stands under its key. */
const STEP = 2;

/**
 * The edits that lay a file out evenly: two columns a level, one space behind a colon, no blanks at line ends, no two
 * empty lines together. They touch white space alone, so comments and the order of keys stay; a file that cannot be
 * read, or would be read differently afterwards, is left as it is.
 */
export function formatting(checked: Checked): TextEdit[] {
  const { root, problem } = checked.read.tree;
  if (!root || problem) {
    return [];
  }
  const edits = new Formatter(checked, root).edits();
  const text = applyEdits(checked.text, edits);
  return content(parseTree(text).root) === content(root) && letters(text) === letters(checked.text)
    ? edits.map(({ span, newText }) => ({ range: checked.lines.rangeOf(span), newText }))
    : [];
}

class Formatter {
  readonly #edits: Edit[] = [];
  /** The column at which a line is to begin, for the lines on which an entry or an item begins. */
  readonly #targets = new Map<number, number>();
  /** Lines that go on with a text begun above: their blanks are part of it. */
  readonly #texts = new Set<number>();
  /** The lines around the present one that it may belong to, each deeper than the one before it. */
  #around: { readonly indent: number; readonly target: number }[] = [];
  /** The last line with anything on it. */
  readonly #last: number;

  constructor(
    readonly checked: Checked,
    readonly root: Node,
  ) {
    this.#last = this.#line(checked.text.trimEnd().length);
    this.#visit(root, 0);
    for (const { span } of scalarsOf(root)) {
      const [first, last] = [span.start, span.end].map((offset) => this.#line(offset));
      for (let line = (first ?? 0) + 1; line <= (last ?? 0); line++) {
        this.#texts.add(line);
      }
    }
  }

  edits(): Edit[] {
    const { lines } = this.checked;
    const following = this.#following();
    let shift = 0;
    for (let line = 0; line < lines.count; line++) {
      const { start, end } = lines.lineSpan(line);
      const text = lines.text.slice(start, end);
      const indent = text.length - text.trimStart().length;
      if (this.#texts.has(line)) {
        this.#indent(start, indent, text.trim() === '' ? 0 : shift);
      } else if (text.trim() === '') {
        this.#blankLine(line);
      } else {
        const own = this.#targets.get(line);
        const target = own ?? this.#commentTarget(line, indent, shift, following[line] ?? -1);
        if (own !== undefined) {
          shift = own - indent;
          this.#around = [...this.#around.filter((other) => other.indent < indent), { indent, target }];
        }
        this.#indent(start, indent, target - indent);
        this.#trimEnd(start, text);
      }
    }
    this.#endOfFile();
    return this.#edits;
  }

  /** Notes where the lines of a node are to begin. */
  #visit(node: Node, indent: number): void {
    if (node.kind === 'scalar') {
      return;
    }
    if (node.flow || this.checked.text[node.span.start] === '*') {
      this.#flow(node);
      return;
    }
    for (const { keySpan, value } of entriesIn(node)) {
      this.#target(keySpan.start, indent);
      this.#gap({ start: keySpan.end, end: value.span.start }, /^[ \t]*:[ \t]+$/, ': ');
      this.#visit(value, indent + STEP);
    }
    if (node.kind === 'list') {
      for (const item of childrenOf(node)) {
        const dash = this.checked.text.lastIndexOf('-', item.span.start - 1);
        this.#target(dash, indent);
        this.#gap({ start: dash + 1, end: item.span.start }, /^[ \t]+$/, ' ');
        this.#visit(item, indent + STEP);
      }
    }
  }

  /** One space behind the commas and colons of a line; blanks inside the brackets are the author's choice. */
  #flow(node: Node): void {
    const parts = node.kind === 'map' ? entriesIn(node) : [];
    for (const { keySpan, value } of parts) {
      this.#gap({ start: keySpan.end, end: value.span.start }, /^[ \t]*:[ \t]+$/, ': ');
    }
    const spans =
      node.kind === 'map'
        ? parts.map(({ keySpan, value }) => ({ start: keySpan.start, end: value.span.end }))
        : childrenOf(node).map(({ span }) => span);
    for (const [i, span] of spans.entries()) {
      const before = spans[i - 1];
      if (before) {
        this.#gap({ start: before.end, end: span.start }, /^[ \t]*,[ \t]*$/, ', ');
      }
    }
    for (const child of childrenOf(node)) {
      if (child.kind !== 'scalar') {
        this.#flow(child);
      }
    }
  }

  /** The first thing on a line says where the line begins. */
  #target(offset: number, indent: number): void {
    const line = this.#line(offset);
    if (!this.#targets.has(line)) {
      this.#targets.set(line, indent);
    }
  }

  /** For each line the next one behind it on which an entry or an item begins; -1 for none. */
  #following(): Int32Array {
    const { count } = this.checked.lines;
    const following = new Int32Array(count);
    let next = -1;
    for (let line = count - 1; line >= 0; line--) {
      following[line] = next;
      next = this.#targets.has(line) ? line : next;
    }
    return following;
  }

  /** A comment stands where the next line stands if they stood alike, else where an earlier line of its column stands. */
  #commentTarget(line: number, indent: number, shift: number, next: number): number {
    if (this.#lead(line) !== '#') {
      return Math.max(0, indent + shift);
    }
    if (next >= 0 && this.#indentOf(next) === indent) {
      return this.#targets.get(next) ?? 0;
    }
    const above = this.#around.findLast((other) => other.indent <= indent);
    return above ? above.target + Math.min(STEP, indent - above.indent) : 0;
  }

  #indent(start: number, indent: number, by: number): void {
    if (by !== 0) {
      this.#edits.push({ span: { start, end: start + indent }, newText: ' '.repeat(Math.max(0, indent + by)) });
    }
  }

  #trimEnd(start: number, text: string): void {
    const kept = text.trimEnd().length;
    if (kept < text.length) {
      this.#edits.push({ span: { start: start + kept, end: start + text.length }, newText: '' });
    }
  }

  /** The first of several empty lines stays, without blanks; those at the top and at the end go. */
  #blankLine(line: number): void {
    const { lines } = this.checked;
    const { start, end } = lines.lineSpan(line);
    const isFirst = line > 0 && this.#lead(line - 1) !== '';
    const isLast = line === lines.count - 1;
    const isEnd = line > this.#last;
    if (isFirst && !isEnd) {
      this.#trimEnd(start, lines.text.slice(start, end));
    } else if (!isLast) {
      this.#edits.push({ span: { start, end: lines.lineSpan(line + 1).start }, newText: '' });
    } else {
      this.#trimEnd(start, lines.text.slice(start, end));
    }
  }

  #endOfFile(): void {
    const { text } = this.checked;
    if (!/[\r\n][ \t]*$/.test(text)) {
      this.#edits.push({ span: { start: text.length, end: text.length }, newText: lineBreak(text) });
    }
  }

  #gap(span: Span, expected: RegExp, newText: string): void {
    const text = this.checked.text.slice(span.start, span.end);
    if (text !== newText && expected.test(text)) {
      this.#edits.push({ span, newText });
    }
  }

  #line(offset: number): number {
    return this.checked.lines.positionAt(offset).line;
  }

  #indentOf(line: number): number {
    const { start, end } = this.checked.lines.lineSpan(line);
    return this.checked.text.slice(start, end).search(/\S|$/);
  }

  #lead(line: number): string {
    const { start, end } = this.checked.lines.lineSpan(line);
    return this.checked.text.slice(start, end).trimStart().charAt(0);
  }
}

/** What a tree says, without the places where it says it. */
function content(node: Node | null): string {
  switch (node?.kind) {
    case 'map':
      return `{${node.entries.map(({ key, value }) => `${JSON.stringify(key)}:${content(value)}`).join()}}`;
    case 'list':
      return `[${node.items.map(content).join()}]`;
    case 'scalar':
      return `${typeof node.value} ${JSON.stringify(String(node.value))}`;
    default:
      return '';
  }
}

function letters(text: string): string {
  return text.replaceAll(/\s/g, '');
}

/**
 * Indents a line that was just begun: under a key that holds a map or a list two columns deeper, else as the line above.
 * A line that holds something already is the author's.
 */
function indentNewLine({ lines, text }: Checked, position: Position): TextEdit[] {
  const { start, end } = lines.lineSpan(position.line);
  const blank = text.slice(start, end);
  const above = position.line - 1;
  if (above < 0 || blank.trim() !== '') {
    return [];
  }
  const before = lines.lineSpan(above);
  const line = text.slice(before.start, before.end);
  const indent = line.length - line.trimStart().length;
  const key = /^[\s-]*([\w.$][\w.$-]*):\s*(?:#.*)?$/.exec(line.slice(0, 1000))?.[1];
  const wanted = line.trim() === '' ? blank.length : indent + (key && opens(key) ? deeper(line) : 0);
  const range = { start: { line: position.line, character: 0 }, end: { line: position.line, character: blank.length } };
  return wanted === blank.length && !blank.includes('\t') ? [] : [{ range, newText: ' '.repeat(wanted) }];

  function opens(name: string): boolean {
    const path = cursorAt(lines, { line: above, character: Math.min(line.length, indent) })?.path ?? [];
    const type = specAt([...path, name])?.type;
    // the value of a key that the format has not may be anything
    return type === undefined || type === 'map' || type === 'record' || type === 'list';
  }
}

/** A key behind a dash stands deeper than its line begins. */
function deeper(line: string): number {
  return STEP + (/^\s*((?:-\s+)+)/.exec(line)?.[1]?.length ?? 0);
}
