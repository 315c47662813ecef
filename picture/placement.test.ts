import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { logicalPlacement } from './logical';
import { physicalPlacement } from './physical';
import type { Placement } from './placement';
import { gridOf, modulesOf, onNodes, PACKED, resolved } from './testing';

const SPACE = { width: 900, height: 600 };
const CHOICE = { grid: 'dense', across: '', down: '', module: '' } as const;

/** Every rank has a cell of its own, found again by its place, and all of them are written at once as one by one. */
function expectOneCellEach(placement: Placement, worldSize: number): void {
  const codes = Uint8Array.from({ length: worldSize }, (_, rank) => 1 + (rank % 251));
  const cells = new Uint8Array(placement.width * placement.height);
  for (const _ of placement.spread(codes, cells, 0)) {
    // to the end
  }
  expect(cells.filter((code) => code > 0)).toHaveLength(worldSize);
  for (let rank = 0; rank < worldSize; rank++) {
    const at = placement.cellOf(rank);
    expect(at && cells[at.y * placement.width + at.x]).toBe(codes[rank]);
    expect(at && at.x < placement.width && at.y < placement.height).toBe(true);
    expect(at && placement.rankAt(at.x, at.y)).toBe(rank);
  }
}

const LAYOUTS: readonly [name: string, layout: ResolvedLayout][] = [
  ['one node', gridOf(8, 'tp: 2, pp: 2')],
  ['eight nodes', onNodes(8, 'tp: 4, pp: 4, ep: 4, expt_tp: 1')],
  ['a prime number of nodes', onNodes(11, 'tp: 8')],
  [
    'large NVLink domains',
    resolved(
      'cluster: {nodes: 72, gpus_per_node: 4, gpus_per_nvlink_domain: 72}\nparallelism: {tp: 4, cp: 2, pp: 6}\n',
    ),
  ],
  [
    'small NVLink domains',
    resolved('cluster: {nodes: 4, gpus_per_node: 8, gpus_per_nvlink_domain: 4}\nparallelism: {tp: 4}\n'),
  ],
  ['one dimension', gridOf(48, 'tp: 1')],
  ['no parallelism', gridOf(1, 'tp: 1')],
  ['modules apart', modulesOf(12, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 8, tp: 2, pp: 2')],
  ['modules together', modulesOf(8, 'num_ranks: 8, tp: 2', 'num_ranks: 8, tp: 4, pp: 2')],
  ['another order', gridOf(64, 'tp: 2, cp: 2, pp: 4, order: tp-pp-cp-ep-dp')],
  ['packed nonuniform TP', PACKED],
  [
    'packed nonuniform TP with context parallelism',
    resolved(
      'world_size: 58\nparallelism: {tp: 8, cp: 2}\nntp: {tp_spares: 3, placement: packed, failed_ranks: [1], non_active_ranks_per_dp: [{dp: 0, local_ranks: [1, 6, 7]}]}\n',
    ),
  ],
];

describe('where ranks are drawn', () => {
  test.each(LAYOUTS)('physical view of %s: every rank has its own cell', (_, layout) => {
    expectOneCellEach(physicalPlacement(layout, SPACE), layout.worldSize);
  });

  test.each(LAYOUTS)('logical view of %s: every rank has its own cell', (_, layout) => {
    for (const grid of ['dense', 'expert'] as const) {
      expectOneCellEach(logicalPlacement(layout, { ...CHOICE, grid }, SPACE), layout.worldSize);
    }
  });

  test('whatever is chosen for the axes, every rank keeps a cell', () => {
    const layout = gridOf(128, 'tp: 4, cp: 2, pp: 4');
    for (const across of ['tp', 'cp', 'pp', 'dp']) {
      for (const down of ['tp', 'cp', 'pp', 'dp']) {
        expectOneCellEach(logicalPlacement(layout, { ...CHOICE, across, down }, SPACE), 128);
      }
    }
  });

  test('the chosen dimensions run across and down', () => {
    const layout = gridOf(32, 'tp: 4, pp: 4');
    const placement = logicalPlacement(layout, { ...CHOICE, across: 'pp', down: 'tp' }, SPACE);
    const at = (rank: number) => placement.cellOf(rank) ?? { x: -1, y: -1 };
    expect(at(1)).toEqual({ x: at(0).x, y: at(0).y + 1 });
    expect(at(8)).toEqual({ x: at(0).x + 1, y: at(0).y });
  });

  test('packed placement leaves the places of spares empty', () => {
    const placement = logicalPlacement(PACKED, { ...CHOICE, across: 'tp', down: 'dp' }, SPACE);
    const rows = [0, 1].map((y) => Array.from({ length: 8 }, (_, x) => placement.rankAt(x, y)));
    expect(rows).toEqual([
      [0, 1, 2, -1, 3, 4, -1, 5],
      [6, 7, 8, 9, 10, 11, 12, 13],
    ]);
  });
});
