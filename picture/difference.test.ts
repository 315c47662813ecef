import { describe, expect, test } from 'vitest';
import { denseGrid, expertGrid, processGroups, type ResolvedLayout } from '../layout';
import { differenceOf } from './difference';
import { gridOf, modulesOf, onNodes } from './testing';

/** What a rank is, in words: slow, and plainly right. */
const coordinates = (layout: ResolvedLayout, rank: number) =>
  layout.modules
    .filter((module) => denseGrid(module).has(rank))
    .map((module) => {
      const along = [denseGrid(module), expertGrid(module)].flatMap((grid) =>
        grid.axes.map((axis) => [axis.name, grid.indexAlong(axis, rank)]),
      );
      return [module.name, Object.entries(Object.fromEntries(along)).sort()];
    });

const peers = (layout: ResolvedLayout, rank: number) =>
  processGroups(layout)
    .filter(({ size }) => size > 1)
    .map((family) => [family.module, family.name, family.indicesOf(rank).map((index) => family.ranks(index))])
    .filter(([, , groups]) => Array.isArray(groups) && groups.some((group) => Array.isArray(group) && group.length > 1))
    .sort();

const BASE = gridOf(32, 'tp: 4, pp: 2');
const MIMO = modulesOf(12, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 8, tp: 2');

describe('the difference between two layouts', () => {
  test.each([
    ['nothing', BASE, BASE],
    ['machines', BASE, onNodes(4, 'tp: 4, pp: 2')],
    ['more stages', BASE, gridOf(32, 'tp: 4, pp: 4')],
    ['context parallelism', BASE, gridOf(32, 'tp: 4, pp: 2, cp: 2')],
    ['experts', BASE, gridOf(32, 'tp: 4, pp: 2, ep: 2')],
    ['two optimizer instances', BASE, gridOf(32, 'tp: 4, pp: 2, num_distributed_optimizer_instances: 2')],
    [
      'hierarchical groups',
      gridOf(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]'),
      gridOf(16, 'cp: 8, hierarchical_context_parallel_sizes: [4, 2]'),
    ],
    ['one module of two', MIMO, modulesOf(12, 'num_ranks: 4, tp: 4', 'rank_offset: 4, num_ranks: 8, tp: 2')],
    [
      'a module that takes ranks from another',
      modulesOf(16, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 12, tp: 2'),
      modulesOf(16, 'num_ranks: 8, tp: 2', 'rank_offset: 8, num_ranks: 8, tp: 2'),
    ],
    ['modules that change places', MIMO, modulesOf(12, 'rank_offset: 8, num_ranks: 4, tp: 2', 'num_ranks: 8, tp: 2')],
    [
      'another order of dimensions',
      gridOf(32, 'tp: 2, cp: 2, pp: 2'),
      gridOf(32, 'tp: 2, cp: 2, pp: 2, order: tp-pp-cp-ep-dp'),
    ],
  ])('%s: the ranks that differ are those whose coordinates or peers do', (_, a, b) => {
    const difference = differenceOf(a, b);
    for (let rank = 0; rank < b.worldSize; rank++) {
      const moved = JSON.stringify(coordinates(a, rank)) !== JSON.stringify(coordinates(b, rank));
      const others = JSON.stringify(peers(a, rank)) !== JSON.stringify(peers(b, rank));
      expect(difference.changeOf(rank), `rank ${rank}`).toBe(moved ? 'coordinates' : others ? 'peers' : 'same');
    }
  });

  test('ranks of a larger world are in one layout only', () => {
    const difference = differenceOf(BASE, gridOf(40, 'tp: 4, pp: 2'));
    expect(difference.count('absent')).toBe(8);
    expect(difference.changeOf(39)).toBe('absent');
  });
});
