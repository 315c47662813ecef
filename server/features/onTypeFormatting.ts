import type { Position, TextEdit } from 'vscode-languageserver';
import type { Checked } from '../../layout';
import { cursorAt } from '../cursor';
import { specAt } from '../locate';

/** Columns by which a map stands under its key. */
const STEP = 2;

/**
 * Indents a line that was just begun: under a key that holds a map or a list two columns deeper, else as the line above.
 * A line that holds something already is the author's.
 */
export function indentNewLine({ lines, text }: Checked, position: Position): TextEdit[] {
  const { start, end } = lines.lineSpan(position.line);
  const blank = text.slice(start, end);
  const above = position.line - 1;
  if (above < 0 || blank.trim() !== '') {
    return [];
  }
  const before = lines.lineSpan(above);
  const line = text.slice(before.start, before.end);
  const indent = line.length - line.trimStart().length;
  const key = /^[\s-]*([\w.$-]+):\s*(?:#.*)?$/.exec(line.slice(0, 1000))?.[1];
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
