import { expect, test } from 'vitest';
import type { SelectionRange } from 'vscode-languageserver';
import { marked, textAt } from '../testing';
import { selectionRanges } from './selectionRanges';

/** The texts that a selection grows to, the innermost first. */
function growing(text: string): string[] {
  const { checked, position } = marked(text);
  const found: string[] = [];
  for (let range: SelectionRange | undefined = selectionRanges(checked, [position])[0]; range; range = range.parent) {
    found.push(textAt(checked.lines, range.range));
  }
  return found;
}

test('a selection grows from a value to its entry, its map, and the whole file', () => {
  expect(growing('layout: 1\nparallelism: {tp: |2, pp: 4}\n')).toEqual([
    '2',
    'tp: 2',
    '{tp: 2, pp: 4}',
    'parallelism: {tp: 2, pp: 4}',
    'layout: 1\nparallelism: {tp: 2, pp: 4}',
    'layout: 1\nparallelism: {tp: 2, pp: 4}\n',
  ]);
});
