import { expect, test } from 'vitest';
import { memoize, memoizeRecent } from './memoize';

test.each([memoize, memoizeRecent])('works once for an object that is asked for again', (remember) => {
  let count = 0;
  const numberOf = remember((_: object) => ++count);
  const [a, b] = [{}, {}];
  expect([numberOf(a), numberOf(b), numberOf(a), numberOf(b)]).toEqual([1, 2, 1, 2]);
});

test('only the last objects are remembered', () => {
  let count = 0;
  const numberOf = memoizeRecent((_: object) => ++count);
  const [a, b, c] = [{}, {}, {}];
  expect([a, b, c, a].map(numberOf)).toEqual([1, 2, 3, 4]);
});
