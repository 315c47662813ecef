import { expect, test } from 'vitest';
import { check } from '../../layout';
import { edited } from '../testing';
import { formatting } from './formatting';

function formatted(text: string): string {
  const checked = check(text);
  return edited(checked.lines, formatting(checked));
}

test.each([
  [
    'indents by two',
    'layout: 1\nparallelism:\n    tp:   2\n    pp: 4\n',
    'layout: 1\nparallelism:\n  tp: 2\n  pp: 4\n',
  ],
  ['takes away blanks at line ends', 'layout: 1  \nworld_size: 8\n', 'layout: 1\nworld_size: 8\n'],
  ['leaves one empty line of several', 'layout: 1\n\n\n\nworld_size: 8\n', 'layout: 1\n\nworld_size: 8\n'],
  [
    'keeps comments and the order of keys',
    '# a\nworld_size: 8 # b\nlayout: 1\n',
    '# a\nworld_size: 8 # b\nlayout: 1\n',
  ],
  ['leaves a file that cannot be read', 'layout: [1\n  tp:   2\n', 'layout: [1\n  tp:   2\n'],
])('%s', (_, text, expected) => {
  expect(formatted(text)).toBe(expected);
  expect(formatted(expected)).toBe(expected);
});
