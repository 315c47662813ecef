import { describe, expect, test } from 'vitest';
import { denseGrid, expertGrid, processGroups, type ResolvedLayout } from '../layout';
import { differenceOf } from './difference';
import { resolved } from './testing';

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

const BASE = 'world_size: 32\nparallelism: {tp: 4, pp: 2}\n';

describe('the difference between two layouts', () => {
  test.each([
    ['nothing', BASE, BASE],
    ['another name and cluster', BASE, `name: x\ncluster: {nodes: 4, gpus_per_node: 8}\n${BASE}`],
    ['more stages', BASE, 'world_size: 32\nparallelism: {tp: 4, pp: 4}\n'],
    ['context parallelism', BASE, 'world_size: 32\nparallelism: {tp: 4, pp: 2, cp: 2}\n'],
    ['experts', BASE, 'world_size: 32\nparallelism: {tp: 4, pp: 2, ep: 2}\n'],
    [
      'two optimizer instances',
      BASE,
      'world_size: 32\nparallelism: {tp: 4, pp: 2, num_distributed_optimizer_instances: 2}\n',
    ],
    [
      'hierarchical groups',
      'world_size: 16\nparallelism: {cp: 8, hierarchical_context_parallel_sizes: [2, 4]}\n',
      'world_size: 16\nparallelism: {cp: 8, hierarchical_context_parallel_sizes: [4, 2]}\n',
    ],
    [
      'one module of two',
      'world_size: 12\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 8, tp: 2}\n',
      'world_size: 12\nmodules:\n  images: {num_ranks: 4, tp: 4}\n  language: {rank_offset: 4, num_ranks: 8, tp: 2}\n',
    ],
    [
      'a module that takes ranks from another',
      'world_size: 16\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 12, tp: 2}\n',
      'world_size: 16\nmodules:\n  images: {num_ranks: 8, tp: 2}\n  language: {rank_offset: 8, num_ranks: 8, tp: 2}\n',
    ],
    [
      'modules that change places',
      'world_size: 12\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 8, tp: 2}\n',
      'world_size: 12\nmodules:\n  language: {num_ranks: 8, tp: 2}\n  images: {rank_offset: 8, num_ranks: 4, tp: 2}\n',
    ],
    [
      'another order of dimensions',
      'world_size: 32\nparallelism: {tp: 2, cp: 2, pp: 2}\n',
      'world_size: 32\nparallelism: {tp: 2, cp: 2, pp: 2, order: tp-pp-cp-ep-dp}\n',
    ],
  ])('%s: the ranks that differ are those whose coordinates or peers do', (_, before, after) => {
    const [a, b] = [resolved(before), resolved(after)];
    const difference = differenceOf(a, b);
    for (let rank = 0; rank < b.worldSize; rank++) {
      const moved = JSON.stringify(coordinates(a, rank)) !== JSON.stringify(coordinates(b, rank));
      const others = JSON.stringify(peers(a, rank)) !== JSON.stringify(peers(b, rank));
      expect(difference.changeOf(rank), `rank ${rank}`).toBe(moved ? 'coordinates' : others ? 'peers' : 'same');
    }
  });

  test('ranks of a larger world are in one layout only', () => {
    const difference = differenceOf(resolved(BASE), resolved('world_size: 40\nparallelism: {tp: 4, pp: 2}\n'));
    expect(difference.count('absent')).toBe(8);
    expect(difference.changeOf(39)).toBe('absent');
  });

  test('a module that changes leaves the ranks of the other alone', () => {
    const text = (tp: number) =>
      resolved(
        `world_size: 12\nmodules:\n  images: {num_ranks: 4, tp: ${tp}}\n  language: {rank_offset: 4, num_ranks: 8, tp: 2}\n`,
      );
    expect(differenceOf(text(2), text(4)).ranks.every((rank) => rank < 4)).toBe(true);
  });
});
