import type { LineIndex, Position } from '../layout';

/** Where the cursor stands, read from the text alone, so that it works while the file is not yet valid YAML. */
export interface Cursor {
  /** Keys of the maps around the cursor, from the root. */
  readonly path: readonly string[];
  /** The key whose value is being typed; null where a key is, or an item of a block list. */
  readonly valueKey: string | null;
  /** Keys already in the same map, or the items already in the same flow list. */
  readonly siblings: ReadonlySet<string>;
  /** The column of the word being typed. */
  readonly wordStart: number;
  /** The column behind the word being typed: what follows the cursor may belong to it. */
  readonly wordEnd: number;
  readonly flow: boolean;
  /** Whether the colon stands right in front of the cursor, so that a value needs a space. */
  readonly glued: boolean;
  /** Whether a colon follows the word: the value is there already. */
  readonly hasColon: boolean;
}

/** The longest line, and the longest collection in brackets, in which anything is offered. */
const MAX_LENGTH = 4000;

/** Over how many lines brackets are followed back. */
const MAX_FLOW_LINES = 50;

/** The cursor's place by indentation (block style) or by the brackets before it (flow style); null inside a comment. */
export function cursorAt(lines: LineIndex, position: Position): Cursor | null {
  // a client may be a version ahead: a place beyond the text is its end
  const { line, character } = lines.positionAt(lines.offsetAt(position));
  const { start, end } = lines.lineSpan(line);
  const at = Math.min(end, start + character);
  const before = lines.text.slice(start, at);
  if (end - start > MAX_LENGTH || /(^|\s)#/.test(before)) {
    return null;
  }
  const firstLine = flowStart(lines, line, before);
  const text = lines.text.slice(lines.lineSpan(firstLine).start, at);
  const brackets = scanBrackets(text).open;
  const { word, colon, ...place } =
    brackets.length > 0 ? flowPlace(lines, firstLine, text, brackets) : blockPlace(lines, line, before);
  // what follows the cursor belongs to a key up to its end, and to a value up to what closes it
  const after =
    (place.valueKey !== null ? /^[^\s,[\]{}#]*/ : /^[\w-]*/).exec(lines.text.slice(at, end))?.[0].length ?? 0;
  return {
    ...place,
    wordStart: Math.max(0, character - word.length),
    wordEnd: character + after,
    glued: colon === ':' && word === '',
    hasColon: /^\s*:/.test(lines.text.slice(at + after, end)),
  };
}

interface Place extends Pick<Cursor, 'path' | 'valueKey' | 'siblings' | 'flow'> {
  /** The colon behind the key, and what is typed of the word at the cursor. */
  readonly colon: string;
  readonly word: string;
}

/** A key, its colon, and what is typed of its value; without a colon, the key itself is typed. */
function typed(segment: string, lead: RegExp) {
  const before = lead.exec(segment)?.[0] ?? '';
  const [, key = '', colon = '', value = ''] = /^([^:]*)(:\s*)?(.*)$/s.exec(segment.slice(before.length)) ?? [];
  return { lead: before, key: key.trim(), colon, word: colon === '' ? key : value };
}

function blockPlace(lines: LineIndex, line: number, before: string): Place {
  const { lead, key, colon, word } = typed(before, LEAD);
  return {
    path: parents(lines, line, lead.length),
    valueKey: colon === '' ? null : key,
    siblings: siblingsOf(lines, line, lead),
    flow: false,
    colon,
    word,
  };
}

/**
 * @param text from the line on which the outermost collection begins to the cursor
 * @param brackets the places in `text` of the brackets that are open at the cursor
 */
function flowPlace(lines: LineIndex, firstLine: number, text: string, brackets: readonly number[]): Place {
  const head = readLine(text.slice(0, brackets[0]));
  const path = parents(lines, firstLine, head.indent);
  for (const at of brackets) {
    const key = keyBefore(text, at);
    if (key !== null) {
      path.push(key);
    }
  }
  const opening = brackets.at(-1) ?? 0;
  const inside = text.slice(opening + 1);
  const segmentStart = lastComma(inside) + 1;
  const isList = text[opening] === '[';
  const { lead, key, colon, word } = typed(inside.slice(segmentStart), /^\s*/);
  const valueKey = isList ? (path.pop() ?? null) : colon === '' ? null : key;
  const start = lines.lineSpan(firstLine).start + opening + 1;
  const whole = lines.text.slice(start, start + MAX_LENGTH);
  return {
    path,
    valueKey,
    siblings: new Set(flowNames(whole, segmentStart)),
    flow: true,
    colon: isList ? '' : colon,
    word: isList ? inside.slice(segmentStart + lead.length) : word,
  };
}

/** The first line of the collection in brackets that reaches over the line of the cursor; that line itself for none. */
function flowStart(lines: LineIndex, line: number, before: string): number {
  let first = line;
  const own = scanBrackets(before);
  let missing = own.open.length > 0 ? 0 : own.closed;
  let least =
    before.trim() === '' ? Number.POSITIVE_INFINITY : indentOf(lines, lines.lineSpan(line).start, lines.text.length);
  let length = before.length;
  for (let at = line - 1; at >= 0 && at >= line - MAX_FLOW_LINES && least > 0; at--) {
    const { start, end } = lines.lineSpan(at);
    length += end - start;
    if (length > MAX_LENGTH) {
      break;
    }
    const text = lines.text.slice(start, end);
    const { open, closed } = scanBrackets(text);
    const indent = indentOf(lines, start, end);
    // a collection in brackets stands deeper than the key that holds it
    if (open.length > missing && indent < least) {
      first = at;
    }
    missing = Math.max(0, missing - open.length) + closed;
    least = text.trim() === '' ? least : Math.min(least, indent);
  }
  return first;
}

/** The places of the brackets that are open at the end of a text, and how many it closes that it does not open. */
function scanBrackets(text: string): { open: number[]; closed: number } {
  const open: number[] = [];
  let closed = 0;
  let quote = '';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charAt(i);
    const behind = text.charAt(i - 1);
    if (quote !== '') {
      quote = unit === quote ? '' : quote;
    } else if ((unit === '"' || unit === "'") && /^[\s,:[\]{}]?$/.test(behind)) {
      quote = unit;
    } else if (unit === '#' && /^\s?$/.test(behind)) {
      const eol = text.slice(i).search(/[\r\n]/);
      i = eol < 0 ? text.length : i + eol;
    } else if (unit === '{' || unit === '[') {
      open.push(i);
    } else if (unit === '}' || unit === ']') {
      closed += open.pop() === undefined ? 1 : 0;
    }
  }
  return { open, closed };
}

/** The key whose value begins at an offset, read backwards; null where none stands in front of it. */
function keyBefore(text: string, at: number): string | null {
  const head = text.slice(0, at).trimEnd();
  if (!head.endsWith(':')) {
    return null;
  }
  const before = head.slice(0, -1).trimEnd();
  let start = before.length;
  while (start > 0 && /^[\w.$"'-]$/.test(before.charAt(start - 1))) {
    start--;
  }
  return start === before.length ? null : unquoted(before.slice(start));
}

function lastComma(inside: string): number {
  let depth = 0;
  for (let i = inside.length - 1; i >= 0; i--) {
    const unit = inside.charAt(i);
    depth += unit === '}' || unit === ']' ? 1 : unit === '{' || unit === '[' ? -1 : 0;
    if (unit === ',' && depth === 0) {
      return i;
    }
  }
  return -1;
}

/** The keys of a map in brackets, or the items of a list, up to the bracket that closes it; not the part at `skip`. */
function* flowNames(inside: string, skip: number): Iterable<string> {
  let depth = 0;
  let start = 0;
  for (let i = 0; i <= inside.length && depth >= 0; i++) {
    const unit = inside.charAt(i);
    depth += unit === '{' || unit === '[' ? 1 : unit === '}' || unit === ']' ? -1 : 0;
    if (depth < 0 || i === inside.length || (unit === ',' && depth === 0)) {
      const name = inside.slice(start, i).split(':', 1)[0]?.trim() ?? '';
      if (start !== skip && name !== '') {
        yield unquoted(name);
      }
      start = i + 1;
    }
  }
}

function unquoted(name: string): string {
  return name.replaceAll(/^["']|["']$/g, '');
}

/** The indentation of a line with the dashes of the list items that begin on it. */
const LEAD = /^(?:\s|-(?=\s|$))*/;

interface Line {
  readonly indent: number;
  readonly key: string | null;
  /** Whether an item of a list begins on the line. */
  readonly dash: boolean;
  /** Whether the key's value follows on the next lines. */
  readonly opens: boolean;
}

function readLine(text: string): Line {
  const lead = LEAD.exec(text)?.[0] ?? '';
  const [, key, rest = ''] = /^([\w.$-]+|"[^"]*"|'[^']*')\s*:(.*)$/.exec(text.slice(lead.length)) ?? [];
  return {
    indent: lead.length,
    key: key === undefined ? null : unquoted(key),
    dash: lead.includes('-'),
    opens: key !== undefined && /^\s*(?:[&!]\S*(?:\s+|$))*(?:#.*)?$/.test(rest),
  };
}

/** The line as it counts; null for a blank line, a comment, or one too long to matter. */
function lineAt(lines: LineIndex, line: number): Line | null {
  const { start, end } = lines.lineSpan(line);
  const text = end - start > MAX_LENGTH ? '' : lines.text.slice(start, end);
  return /^\s*(#|$)/.test(text) ? null : readLine(text);
}

/** Blanks at the start of a line: a lower bound of its indentation that costs no copy of the text. */
function indentOf({ text }: LineIndex, start: number, end: number): number {
  let at = start;
  while (at < end && (text.charCodeAt(at) === 0x20 || text.charCodeAt(at) === 0x09)) {
    at++;
  }
  return at - start;
}

/** The keys above that enclose a line of the given indentation. */
function parents(lines: LineIndex, line: number, indent: number): string[] {
  const path: string[] = [];
  let limit = indent;
  for (let at = line - 1; at >= 0 && limit > 0; at--) {
    const { start, end } = lines.lineSpan(at);
    const above = indentOf(lines, start, end) < limit ? lineAt(lines, at) : null;
    if (above && above.indent < limit && above.key !== null) {
      if (above.opens) {
        path.unshift(above.key);
      }
      limit = above.indent;
    }
  }
  return path;
}

/** The keys of the same map: lines of the same indentation, up to the lines that leave the map. */
function siblingsOf(lines: LineIndex, line: number, lead: string): Set<string> {
  const keys = new Set<string>();
  const indent = lead.length;
  for (let at = line - 1, inItem = lead.includes('-'); at >= 0 && !inItem; at--) {
    const other = nearLine(lines, at, indent);
    if (other && other.indent < indent) {
      break;
    }
    if (other?.indent === indent && other.key !== null) {
      keys.add(other.key);
    }
    inItem = other?.indent === indent && other.dash;
  }
  for (let at = line + 1; at < lines.count; at++) {
    const other = nearLine(lines, at, indent);
    if (other && (other.indent < indent || (other.indent === indent && other.dash))) {
      break;
    }
    if (other?.indent === indent && other.key !== null) {
      keys.add(other.key);
    }
  }
  return keys;
}

/** A line that stands no deeper than `indent`. */
function nearLine(lines: LineIndex, line: number, indent: number): Line | null {
  const { start, end } = lines.lineSpan(line);
  return indentOf(lines, start, end) <= indent ? lineAt(lines, line) : null;
}
