import type { Diagnostic, Edit, Span } from './diagnostic';
import { commentsOf } from './format/comments';
import { lineBreak } from './format/edit';
import type { LineIndex } from './format/lines';
import type { Node } from './format/node';
import { memoizeRecent } from './memoize';

/** A comment that silences rules on a line: `# layout-ignore: code, code reason`. */
export interface Ignore {
  readonly codes: readonly string[];
  /** The comment. */
  readonly span: Span;
  /** Where its last code ends. */
  readonly codesEnd: number;
  /** The line whose diagnostics it silences, from 0: its own, or the next one that is no comment. */
  readonly line: number;
}

/** The codes in a comment that silences rules; a reason may follow them. */
const MARK = /^#\s*layout-ignore:\s*([a-z]+(?:-[a-z]+)*(?:\s*,\s*[a-z]+(?:-[a-z]+)*)*)/;

/** Rules that say that a file cannot be read; a comment in such a file cannot be trusted either. */
export const ALWAYS_SAID: ReadonlySet<string> = new Set(['yaml-syntax', 'file-too-large', 'unsupported-version']);

/** The comments of a text, and those of them that silence rules. */
interface Comments {
  readonly all: readonly Span[];
  readonly ignores: readonly Ignore[];
}

/** What was read of the last texts, by their line indexes: every diagnostic asks for it. */
const recent = memoizeRecent((_: LineIndex): { comments?: Comments } => ({}));

/** The comments of a file that silence rules. */
export function ignoresOf(text: string, lines: LineIndex, root: Node | null): readonly Ignore[] {
  return text.includes('layout-ignore:') ? commentsIn(text, lines, root).ignores : [];
}

function commentsIn(text: string, lines: LineIndex, root: Node | null): Comments {
  const known = recent(lines);
  if (!known.comments) {
    const all = commentsOf(text, lines, root);
    known.comments = { all, ignores: readIgnores(text, lines, all) };
  }
  return known.comments;
}

/** Where each line of comments alone stands: the next line that is no such line. */
function targetsOf(alone: readonly number[]): ReadonlyMap<number, number> {
  const targets = new Map<number, number>();
  for (const line of alone.toReversed()) {
    targets.set(line, targets.get(line + 1) ?? line + 1);
  }
  return targets;
}

function readIgnores(text: string, lines: LineIndex, comments: readonly Span[]): readonly Ignore[] {
  const alone = comments.filter(({ start }) => isAlone(text, lines, start));
  const targets = targetsOf(alone.map(({ start }) => lineOf(lines, start)));
  return comments.flatMap((span) => {
    const [whole, list] = MARK.exec(text.slice(span.start, span.end)) ?? [];
    if (whole === undefined || list === undefined) {
      return [];
    }
    const codes = list.split(',').map((code) => code.trim());
    const codesEnd = span.start + whole.length;
    const line = lineOf(lines, span.start);
    return [{ codes, span, codesEnd, line: targets.get(line) ?? line }];
  });
}

/** The diagnostics that no comment silences, and the codes of comments that silence nothing. */
export interface Sifted {
  readonly said: readonly Diagnostic[];
  readonly unused: readonly { readonly ignore: Ignore; readonly code: string }[];
}

/** Takes out the diagnostics that comments silence. */
export function sift(diagnostics: readonly Diagnostic[], ignores: readonly Ignore[], lines: LineIndex): Sifted {
  if (ignores.length === 0) {
    return { said: diagnostics, unused: [] };
  }
  const key = (line: number, code: string) => `${line} ${code}`;
  const silenced = new Set(ignores.flatMap(({ line, codes }) => codes.map((code) => key(line, code))));
  const used = new Set<string>();
  const said = diagnostics.filter(({ code, span }) => {
    const place = key(lineOf(lines, span.start), code);
    if (ALWAYS_SAID.has(code) || !silenced.has(place)) {
      return true;
    }
    used.add(place);
    return false;
  });
  const unused = ignores.flatMap((ignore) =>
    ignore.codes.filter((code) => !used.has(key(ignore.line, code))).map((code) => ({ ignore, code })),
  );
  return { said, unused };
}

/**
 * The edit that silences a diagnostic: its code in the comment that its line has already, a comment at the end of the line, or
 * one above it where the line ends in another comment.
 */
export function ignoreEdit(text: string, lines: LineIndex, root: Node | null, { code, span }: Diagnostic): Edit {
  const line = lineOf(lines, span.start);
  const insert = (at: number, newText: string): Edit => ({ span: { start: at, end: at }, newText });
  const known = ignoresOf(text, lines, root).find((ignore) => ignore.line === line);
  if (known) {
    return insert(known.codesEnd, `, ${code}`);
  }
  const { start, end } = lines.lineSpan(line);
  if (commentsIn(text, lines, root).all.some((comment) => start <= comment.start && comment.start < end)) {
    const indent = /^[ ]*/.exec(text.slice(start, end))?.[0] ?? '';
    return insert(start, `${indent}# layout-ignore: ${code}${lineBreak(text)}`);
  }
  return insert(start + text.slice(start, end).trimEnd().length, ` # layout-ignore: ${code}`);
}

function lineOf(lines: LineIndex, offset: number): number {
  return lines.positionAt(offset).line;
}

function isAlone(text: string, lines: LineIndex, start: number): boolean {
  return text.slice(lines.lineSpan(lineOf(lines, start)).start, start).trim() === '';
}
