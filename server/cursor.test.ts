import { expect, test } from 'vitest';
import { LineIndex } from '../layout';
import { cursorAt } from './cursor';

test('a place beyond the text is its end, at no cost of the lines between', () => {
  const lines = new LineIndex('layout: 1\nparallelism:\n  tp: ');
  const end = cursorAt(lines, { line: 2, character: 6 });
  expect(end).toMatchObject({ path: ['parallelism'], valueKey: 'tp' });
  expect(cursorAt(lines, { line: 2 ** 31 - 1, character: 0 })).toEqual(end);
  expect(cursorAt(lines, { line: 2, character: 2 ** 31 - 1 })).toEqual(end);
});
