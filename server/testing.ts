import type { Position, Range } from 'vscode-languageserver';
import { type Checked, check, type LineIndex } from '../layout';

/** A layout in which `|` marks a place. */
export interface Marked {
  readonly checked: Checked;
  readonly offset: number;
  readonly position: Position;
}

/** The address of the layouts of tests. */
export const URI = 'file:///jobs/a.layout.yaml';

/** Checks a text without its mark. */
export function marked(text: string): Marked {
  const offset = text.indexOf('|');
  const checked = check(offset < 0 ? text : text.slice(0, offset) + text.slice(offset + 1));
  return { checked, offset, position: checked.lines.positionAt(Math.max(0, offset)) };
}

/** The text of a range. */
export function textAt(lines: LineIndex, { start, end }: Range): string {
  return lines.text.slice(lines.offsetAt(start), lines.offsetAt(end));
}

/** A text with the edits of a range each, the last first. */
export function edited(
  lines: LineIndex,
  edits: readonly { readonly range: Range; readonly newText: string }[],
): string {
  return edits
    .toSorted((a, b) => lines.offsetAt(b.range.start) - lines.offsetAt(a.range.start))
    .reduce((text, { range, newText }) => {
      return text.slice(0, lines.offsetAt(range.start)) + newText + text.slice(lines.offsetAt(range.end));
    }, lines.text);
}
