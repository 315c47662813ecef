import type { LineIndex, Position } from '../layout';

/** Where the cursor stands, read from the text alone, so that it works while the file is not yet valid YAML. */
export interface Cursor {
  /** Keys of the maps around the cursor, from the root. */
  readonly path: readonly string[];
  /** The key whose value is being typed; null where a key is. */
  readonly valueKey: string | null;
  /** Keys already in the same map. */
  readonly siblings: ReadonlySet<string>;
  /** The column of the word being typed. */
  readonly wordStart: number;
  readonly flow: boolean;
  /** Columns by which keys of this map are indented. */
  readonly indent: number;
}

interface Line {
  readonly indent: number;
  readonly key: string | null;
  /** Whether the key's value follows on the next lines. */
  readonly opens: boolean;
}

/** The cursor's place by indentation (block style) or by the brackets before it (flow style); null inside a comment. */
export function cursorAt(lines: LineIndex, position: Position): Cursor | null {
  const { start } = lines.lineSpan(position.line);
  const before = lines.text.slice(start, start + position.character);
  if (/(^|\s)#/.test(before)) {
    return null;
  }
  const brackets = openBrackets(before);
  return brackets.length > 0 ? flowCursor(lines, position, before, brackets) : blockCursor(lines, position, before);
}

function blockCursor(lines: LineIndex, { line }: Position, before: string): Cursor {
  const [, lead = '', key = '', colon = ''] = /^([\s-]*)([^:]*)(:\s+)?/.exec(before) ?? [];
  const isValue = colon !== '';
  const indent = lead.length;
  const path = parents(lines, line, indent);
  return {
    path,
    valueKey: isValue ? key.trim() : null,
    siblings: siblingsOf(lines, line, indent),
    wordStart: isValue ? lead.length + key.length + colon.length : lead.length,
    flow: false,
    indent,
  };
}

function flowCursor(lines: LineIndex, { line }: Position, before: string, brackets: readonly number[]): Cursor {
  const first = brackets[0] ?? 0;
  const head = readLine(before.slice(0, first));
  const path = parents(lines, line, head.indent);
  for (const at of brackets) {
    const key = /([\w-]+)\s*:\s*$/.exec(before.slice(0, at))?.[1];
    if (key !== undefined) {
      path.push(key);
    }
  }
  const opening = brackets.at(-1) ?? 0;
  const inside = before.slice(opening + 1);
  const segment = inside.slice(lastComma(inside) + 1);
  const [, lead = '', key = '', colon = ''] = /^(\s*)([^:]*)(:\s+)?/.exec(segment) ?? [];
  const isList = before[opening] === '[';
  const valueKey = isList ? (path.pop() ?? null) : colon === '' ? null : key.trim();
  const { end } = lines.lineSpan(line);
  const rest = lines.text.slice(lines.lineSpan(line).start + opening + 1, end);
  const wordOffset = isList || colon === '' ? lead.length : lead.length + key.length + colon.length;
  return {
    path,
    valueKey,
    siblings: new Set([...rest.matchAll(/([\w-]+)\s*:/g)].map(([, name]) => name ?? '')),
    wordStart: before.length - segment.length + wordOffset,
    flow: true,
    indent: head.indent,
  };
}

/** The columns of the brackets before the cursor that are not yet closed. */
function openBrackets(before: string): number[] {
  const open: number[] = [];
  let quote = '';
  for (let i = 0; i < before.length; i++) {
    const unit = before.charAt(i);
    if (quote !== '') {
      quote = unit === quote ? '' : quote;
    } else if (unit === '"' || unit === "'") {
      quote = unit;
    } else if (unit === '{' || unit === '[') {
      open.push(i);
    } else if (unit === '}' || unit === ']') {
      open.pop();
    }
  }
  return open;
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

function readLine(text: string): Line {
  const [, lead = '', key, rest = ''] = /^([\s-]*)([\w.$-]+|"[^"]*"|'[^']*')\s*:(.*)$/.exec(text) ?? [];
  const indent = /^[\s-]*/.exec(text)?.[0].length ?? 0;
  return key === undefined
    ? { indent, key: null, opens: false }
    : { indent: lead.length, key: key.replaceAll(/^["']|["']$/g, ''), opens: /^\s*([&!]\S+\s*)*(#.*)?$/.test(rest) };
}

function lineAt(lines: LineIndex, line: number): Line | null {
  const { start, end } = lines.lineSpan(line);
  const text = lines.text.slice(start, end);
  return /^\s*(#|$)/.test(text) ? null : readLine(text);
}

/** The keys above that enclose a line of the given indentation. */
function parents(lines: LineIndex, line: number, indent: number): string[] {
  const path: string[] = [];
  let limit = indent;
  for (let at = line - 1; at >= 0 && limit > 0; at--) {
    const above = lineAt(lines, at);
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
function siblingsOf(lines: LineIndex, line: number, indent: number): Set<string> {
  const keys = new Set<string>();
  for (const step of [-1, 1]) {
    for (let at = line + step; at >= 0 && at < lines.count; at += step) {
      const other = lineAt(lines, at);
      if (other && other.indent < indent) {
        break;
      }
      if (other?.key && other.indent === indent) {
        keys.add(other.key);
      }
    }
  }
  return keys;
}
