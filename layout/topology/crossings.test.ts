import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../test/harness/property';
import { Grid } from '..';
import { crossings } from './crossings';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** Every group, rank by rank. */
function enumerated(grid: Grid, names: readonly string[], domain: number) {
  const groups = grid.groups(names);
  const crossing = Array.from({ length: groups.count }, (_, index) => ({ index, ranks: groups.ranks(index) })).filter(
    ({ ranks }) => new Set(ranks.map((rank) => Math.floor(rank / domain))).size > 1,
  );
  const [first] = crossing;
  return {
    groups: groups.count,
    crossing: crossing.length,
    exact: true,
    first: first ? { index: first.index, start: Math.min(...first.ranks), end: Math.max(...first.ranks) } : null,
  };
}

test('counting by strides equals looking at every rank', () => {
  const dims = fc.tuple(...NAMES.map(() => fc.integer({ min: 1, max: 5 })));
  fc.assert(
    fc.property(
      dims,
      fc.subarray(NAMES),
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 1, max: 100 }),
      (sizes, names, offset, domain) => {
        const grid = new Grid(
          NAMES.map((name, i) => ({ name, size: sizes[i] ?? 1 })),
          offset,
        );
        expect(crossings(grid, names, domain)).toEqual(enumerated(grid, names, domain));
      },
    ),
    runs(200),
  );
});

test('a world of 2^31 ranks that no domain divides is counted too', () => {
  const grid = new Grid([
    { name: 'tp', size: 8 },
    { name: 'dp', size: 2 ** 28 },
  ]);
  // of the 12 ranks from one border to the next but one, three in two groups of eight: every third border lies between groups
  expect(crossings(grid, ['tp'], 12).crossing).toBe(Math.floor((2 ** 31 - 1) / 12) - Math.floor((2 ** 31 - 1) / 24));
});

test('a count that is given up is marked as a lower bound', () => {
  // 4,095 and 4,096 have no common factor, so that every one of the borders lies otherwise in its block
  const grid = new Grid([
    { name: 'cp', size: 4096 },
    { name: 'dp', size: 4095 * 8 },
  ]);
  const all = crossings(grid, ['cp'], 4097);
  const some = crossings(grid, ['cp'], 4097, 10);
  expect(all.exact).toBe(true);
  expect(some).toMatchObject({ exact: false, first: all.first, groups: all.groups });
  expect(some.crossing).toBeGreaterThan(0);
  expect(some.crossing).toBeLessThan(all.crossing);
});
