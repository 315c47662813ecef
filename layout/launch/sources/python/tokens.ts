/** A token of a Python file. */
export interface Token {
  readonly kind: 'name' | 'number' | 'text' | 'operator';
  /** The token as it is written; of a string, what it says. */
  readonly text: string;
  readonly offset: number;
}

/** A logical line: a statement, or the head of a block. */
export interface Line {
  /** Characters before the first token. */
  readonly indent: number;
  readonly tokens: readonly Token[];
}

/** How many tokens of a file are read. */
const MAX_TOKENS = 200_000;

const PIECE =
  /[ \t\f]+|\\\r?\n|#[^\n]*|\r?\n|(?<prefix>[A-Za-z]{0,2})(?<quote>"""|'''|"|')|(?<number>\d[\w.]*)|(?<name>[\p{L}_][\p{L}\p{N}_]*)|(?<operator>\*\*=?|\/\/=?|->|:=|[-+*/%@&|^=!<>]=|<<|>>|[^\s])/uy;

/** By how many brackets what follows a token is deeper than what is before it. */
export function nesting({ kind, text }: Token): -1 | 0 | 1 {
  return kind !== 'operator' ? 0 : '([{'.includes(text) ? 1 : ')]}'.includes(text) ? -1 : 0;
}

/** The logical lines of a Python file; what is cut off or malformed ends the reading there. */
export function pythonLines(text: string): readonly Line[] {
  const lines: Line[] = [];
  let tokens: Token[] = [];
  let start = 0;
  let indent = 0;
  let depth = 0;
  let count = 0;
  PIECE.lastIndex = 0;
  const end = (offset: number): void => {
    if (tokens.length > 0) {
      lines.push({ indent, tokens });
      tokens = [];
    }
    start = offset;
  };
  while (PIECE.lastIndex < text.length && count < MAX_TOKENS) {
    const offset = PIECE.lastIndex;
    const match = PIECE.exec(text);
    if (!match) {
      break;
    }
    const token = tokenOf(match, text, offset);
    if (token === null) {
      if (/^\r?\n$/.test(match[0]) && depth === 0) {
        end(PIECE.lastIndex);
      }
      continue;
    }
    if (token === 'cut') {
      break;
    }
    count++;
    indent = tokens.length === 0 ? offset - start : indent;
    depth = Math.max(0, depth + nesting(token));
    tokens.push(token);
  }
  end(text.length);
  return lines;
}

/** The token that was matched; null for blanks and comments, `cut` for a string without its end. */
function tokenOf(match: RegExpExecArray, text: string, offset: number): Token | null | 'cut' {
  const { quote, prefix = '', number, name, operator } = match.groups ?? {};
  if (quote !== undefined) {
    const string = stringAt(text, PIECE.lastIndex, quote);
    if (!string) {
      return 'cut';
    }
    PIECE.lastIndex = string.end;
    // what a formatted string says is known only when it is run
    return /f/i.test(prefix)
      ? { kind: 'operator', text: '?', offset }
      : { kind: 'text', text: string.value, offset: offset + prefix.length };
  }
  if (number !== undefined) {
    return { kind: 'number', text: number, offset };
  }
  if (name !== undefined) {
    return { kind: 'name', text: name, offset };
  }
  return operator === undefined ? null : { kind: 'operator', text: operator, offset };
}

function stringAt(text: string, from: number, quote: string): { value: string; end: number } | null {
  let index = from;
  while (index < text.length) {
    if (text.charAt(index) === '\\') {
      index += 2;
    } else if (text.startsWith(quote, index)) {
      return { value: text.slice(from, index).replace(/\\(["'\\])/g, '$1'), end: index + quote.length };
    } else if (quote.length === 1 && text.charAt(index) === '\n') {
      return null;
    } else {
      index++;
    }
  }
  return null;
}
