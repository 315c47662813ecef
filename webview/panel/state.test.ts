import { expect, test } from 'vitest';
import { restoredState } from './state';

test('an invalid saved state gives the defaults', () => {
  const nonsense = { view: 7, rank: -3, failed: 'x', viewport: { zoom: 'a' }, compare: 'all', baseFile: 1 };
  expect(restoredState(nonsense, 'file:///a')).toEqual(restoredState(null, 'file:///a'));
});
