import { expect, test } from 'vitest';
import { dimensionsOf, ordered } from './table';
import { onNodes } from './testing';

test('a dimension gives the coordinate of a rank', () => {
  const layout = onNodes(2, 'tp: 4, pp: 2');
  const [module] = layout.modules;
  const named = new Map(dimensionsOf(layout).map((dimension) => [dimension.name, dimension]));
  expect(module && ['tp', 'dp', 'pp'].map((name) => named.get(name)?.indexOf(module, 13))).toEqual([1, 1, 1]);
  expect(named.get('tp')).toMatchObject({ size: 4, ofExperts: false });
  expect(named.get('expt_tp')?.ofExperts).toBe(true);
});

test.each([
  [false, [2, 5, 1, 4, 0, 3]],
  [true, [0, 3, 1, 4, 2, 5]],
])('ranks are ordered by a number, those with the same one ascending (descending: %s)', (descending, expected) => {
  const numberOf = (rank: number) => (rank % 3 === 2 ? -1 : 7 - (rank % 3));
  expect([...ordered(Int32Array.of(0, 1, 2, 3, 4, 5), numberOf, descending)]).toEqual(expected);
});
