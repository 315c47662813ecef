import { expect, test } from 'vitest';
import { applyEdits, removeFields } from './edit';
import { parseTree } from './tree';

/** A map of `a` to `d` without `b` and `c`. */
function without(text: string): string {
  const { root } = parseTree(text);
  const entries = root?.kind === 'map' ? root.entries : [];
  const fields = entries
    .filter(({ key }) => key === 'b' || key === 'c')
    .map(({ keySpan, value }) => ({ keySpan, span: value.span, written: true }));
  return applyEdits(text, removeFields(text, fields));
}

test.each([
  ['a: 1\nb: 2 # two\nc:\nd: 4\n', 'a: 1\nd: 4\n'],
  ['{a: 1, b: 2, c: 3, d: 4}', '{a: 1, d: 4}'],
  ['{a: 1, b: 2, d: 4, c: 3}', '{a: 1, d: 4}'],
  ['{a: 1,\n  b: 2,\n  c: 3}\n', '{a: 1}\n'],
  ['{a: 1,\n  b: 2, # two\n  c: 3}\n', '{a: 1,\n}\n'],
  ['{a: 1, # one\n  c: 3}\n', '{a: 1, # one\n}\n'],
  ['{a: 1,\n  b: 2, d: 4,\n  c: 3 # three\n}\n', '{a: 1,\n  d: 4,\n}\n'],
])('%j', (text, rest) => {
  expect(without(text)).toBe(rest);
  expect(parseTree(rest).problem ?? null).toBeNull();
});
