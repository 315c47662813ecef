import type { Edit, Span } from '../diagnostic';
import type { Field } from './spec';

/** The line break that the text uses. */
export function lineBreak(text: string): string {
  return /\r\n|\r|\n/.exec(text)?.[0] ?? '\n';
}

/**
 * The edit that gives a key of a map a value: the written value is replaced, a missing key appended.
 * Null where the map cannot take a key (it is an alias of another map).
 * @param map the span of the map's value
 */
export function setKey(
  text: string,
  map: Span,
  name: string,
  field: Field<unknown> | undefined,
  value: number | string,
): Edit | null {
  return field?.written && !field.given
    ? { span: field.span, newText: String(value) }
    : appendKey(text, map, `${name}: ${value}`);
}

/**
 * The edit that adds `line` (such as `tp: 2`) as the last key of a map, or null where the map is an alias of another.
 * @param map the span of the map's value: in block style it begins with the first key
 */
export function appendKey(text: string, map: Span, line: string): Edit | null {
  const opening = text[map.start];
  if (opening === '*' || opening === undefined) {
    return null;
  }
  if (opening === '{') {
    const inside = text.slice(map.start + 1, map.end - 1).trimEnd();
    const at = map.start + 1 + inside.length;
    return { span: { start: at, end: at }, newText: inside === '' || inside.endsWith(',') ? line : `, ${line}` };
  }
  const lineEnd = endOfLine(text, map.end);
  const indent = ' '.repeat(map.start - startOfLine(text, map.start));
  return { span: { start: lineEnd, end: lineEnd }, newText: `${lineBreak(text)}${indent}${line}` };
}

/** The edit that removes a written key: its whole lines in a block map, its comma too in a flow map. */
export function removeField(text: string, { keySpan, span }: Pick<Field<unknown>, 'keySpan' | 'span'>): Edit {
  return { span: entrySpan(text, keySpan.start, Math.max(span.end, keySpan.end)), newText: '' };
}

/** The edits that remove the written ones of some keys. Neighbours in a flow map go by one edit: two would both take their comma. */
export function removeFields(
  text: string,
  fields: readonly Pick<Field<unknown>, 'keySpan' | 'span' | 'written'>[],
): Edit[] {
  const runs: { keySpan: Span; span: Span }[] = [];
  const written = fields.filter((field) => field.written);
  for (const { keySpan, span } of written.sort((a, b) => a.keySpan.start - b.keySpan.start)) {
    const last = runs.at(-1);
    if (last && /^\s*,\s*$/.test(text.slice(last.span.end, keySpan.start))) {
      runs[runs.length - 1] = { keySpan: last.keySpan, span };
    } else {
      runs.push({ keySpan, span });
    }
  }
  return runs.map((run) => removeField(text, run));
}

function entrySpan(text: string, start: number, end: number): Span {
  const lineStart = startOfIndent(text, start);
  // in a flow map the bracket or another key may stand behind it on its line
  const rest = /^[ \t]*(?::[ \t]*)?(?:,[ \t]*)?(?:#[^\r\n]*)?(?:\r\n?|\n|$)/.exec(text.slice(end));
  if (lineStart !== null && rest) {
    return { start: lineStart, end: end + rest[0].length };
  }
  const comma = /^\s*(?::\s*)?,\s*/.exec(text.slice(end));
  if (comma) {
    return { start, end: end + comma[0].length };
  }
  const before = text.slice(0, start).trimEnd();
  // a comment in front of it would take in what follows
  return { start: before.endsWith(',') ? before.length - 1 : (lineStart ?? before.length), end };
}

/** Where the line begins on which nothing but spaces stands in front of an offset; null where something does. */
function startOfIndent(text: string, offset: number): number | null {
  let start = offset;
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\ufeff')) {
    start--;
  }
  return start === 0 || isLineBreak(text, start - 1) ? start : null;
}

/** Where the line that holds an offset begins. */
export function startOfLine(text: string, offset: number): number {
  let start = offset;
  while (start > 0 && !isLineBreak(text, start - 1)) {
    start--;
  }
  return start;
}

/** Where the line that holds an offset ends, in front of its line break. */
export function endOfLine(text: string, offset: number): number {
  let end = offset;
  while (end < text.length && !isLineBreak(text, end)) {
    end++;
  }
  return end;
}

function isLineBreak(text: string, at: number): boolean {
  return text[at] === '\n' || text[at] === '\r';
}

/** Several keys appended at one place would overlap: they become one edit. */
export function joinInsertions(edits: readonly Edit[]): Edit[] {
  const byPlace = new Map<string, Edit>();
  for (const { span, newText } of edits) {
    const place = `${span.start}-${span.end}`;
    byPlace.set(place, { span, newText: (byPlace.get(place)?.newText ?? '') + newText });
  }
  return [...byPlace.values()];
}

/** The text after the edits of a fix, which must not overlap; of two at one place the first comes first. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const ordered = [...edits].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end);
  const parts: string[] = [];
  let at = 0;
  for (const { span, newText } of ordered) {
    parts.push(text.slice(at, span.start), newText);
    at = span.end;
  }
  return parts.join('') + text.slice(at);
}
