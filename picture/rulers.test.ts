import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { fittingSize, Geometry } from './geometry';
import { logicalPlacement } from './logical';
import { physicalPlacement } from './physical';
import type { Placement } from './placement';
import { rulersOf } from './rulers';
import { onNodes, resolved } from './testing';

const SPACE = { width: 900, height: 600 };
const CHOICE = { grid: 'dense', across: '', down: '', module: '' } as const;

function drawn(placement: Placement, zoom = 1): Geometry {
  const { width, height } = fittingSize(placement, SPACE);
  return new Geometry(placement, width * zoom, height * zoom);
}

const rulers = (layout: ResolvedLayout, placement = physicalPlacement(layout, SPACE), zoom = 1) =>
  rulersOf(drawn(placement, zoom), layout.worldSize, layout.gpusPerNode);

const numberOf = (words: string): number => (/\d/.test(words) ? Number(words.replaceAll(/[+,]/g, '')) : 0);

const WORLDS: readonly [string, ResolvedLayout][] = [
  ['512', onNodes(64, 'tp: 8, pp: 4')],
  ['a prime number of nodes', onNodes(67, 'tp: 8')],
  ['16,384', onNodes(2048, 'tp: 8, cp: 2, pp: 16')],
  ['1,048,576', onNodes(131_072, 'tp: 8, cp: 4, pp: 32')],
];

describe.each(WORLDS)('%s ranks', (_, layout) => {
  const placements: readonly [string, Placement, number][] = [
    ['machines', physicalPlacement(layout, SPACE), 1],
    ['machines, magnified', physicalPlacement(layout, SPACE), 9],
    ['structure', logicalPlacement(layout, CHOICE, SPACE), 1],
  ];

  test.each(placements)(
    '%s: the number of a row and that of a column make the rank, or its node',
    (_, placement, zoom) => {
      const geometry = drawn(placement, zoom);
      const { rows, columns } = rulersOf(geometry, layout.worldSize, layout.gpusPerNode) ?? { rows: [], columns: [] };
      const unit = columns[0]?.words === 'node' ? layout.gpusPerNode : 1;
      // where a block begins, its first cell lies a little further in
      const rankNear = (x: number, y: number) =>
        placement.rankAt(geometry.columnNear(x + 30), geometry.rowNear(y + 30));
      expect(rows.length).toBeGreaterThan(1);
      for (const row of rows) {
        for (const column of columns) {
          const rank = (numberOf(row.words) + numberOf(column.words)) * unit;
          const at = rank < layout.worldSize ? geometry.rectOfRank(rank) : null;
          if (at) {
            expect(at.x - column.at).toBeGreaterThanOrEqual(0);
            expect(at.y - row.at).toBeGreaterThanOrEqual(0);
            expect(at.x - column.at).toBeLessThan(64);
            expect(at.y - row.at).toBeLessThan(64);
          } else {
            expect(rankNear(column.at, row.at)).toBe(-1);
          }
        }
      }
    },
  );

  test.each(placements)('%s: no number lies over another', (_, placement, zoom) => {
    const found = rulersOf(drawn(placement, zoom), layout.worldSize, layout.gpusPerNode);
    for (const ticks of [found?.rows ?? [], found?.columns ?? []]) {
      for (const [i, { at }] of ticks.entries()) {
        expect(at - (ticks[i - 1]?.at ?? -64)).toBeGreaterThanOrEqual(64);
      }
    }
  });
});

test('nodes are counted where every number begins one, else ranks', () => {
  const layout = onNodes(2048, 'tp: 8, cp: 2, pp: 16');
  expect(rulers(layout)?.columns[0]?.words).toBe('node');
  expect(rulers(layout, undefined, 60)?.columns[0]?.words).toBe('rank');
});

test('small worlds and modules side by side have none', () => {
  expect(rulers(onNodes(32, 'tp: 8'))).toBeNull();
  const parts = resolved(
    'cluster: {nodes: 128, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 512, tp: 8}\n  language: {rank_offset: 512, num_ranks: 512, tp: 8}\n',
  );
  expect(rulers(parts)).toBeNull();
});
