import { describe, expect, test } from 'vitest';
import type { ResolvedLayout } from '../layout';
import { findRanks } from './find';
import { modulesOf, onNodes, PACKED } from './testing';

const MOE = onNodes(8, 'tp: 4, pp: 4, ep: 4, expt_tp: 1');
const MIMO = modulesOf(8, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 4, tp: 2, pp: 2');

const found = (layout: ResolvedLayout, text: string, conditions = {}) => {
  const matches = findRanks(layout, text, conditions);
  return 'problem' in matches ? null : Array.from({ length: matches.count }, (_, i) => matches.rankAt(i));
};

describe('finding ranks', () => {
  test.each([
    ['37', [37]],
    [' 3:5 ', [29]],
    ['tp=1 pp=2 dp=3', [45]],
    ['pp=3 dp=0', [48, 49, 50, 51]],
    ['PP 1, tp 0', [16, 20, 24, 28]],
    ['ep=2 expt_dp=1 pp=0', [6]],
    ['rank 5', [5]],
    ['ranks 5-7', [5, 6, 7]],
    ['5, 7-8', [5, 7, 8]],
    ['node 3', [24, 25, 26, 27, 28, 29, 30, 31]],
    ['nodes 6-9', [48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]],
    ['node 3 gpu 5', [29]],
    ['tp=0-3 pp=0 dp=1', [4, 5, 6, 7]],
    ['tp=0,2 pp=0 dp=0', [0, 2]],
    ['stage 2 replica 1', [36, 37, 38, 39]],
  ])('%s', (text, ranks) => {
    expect(found(MOE, text)).toEqual(ranks);
  });

  test('coordinates are sought in every module, or in the one that is named', () => {
    expect(found(MIMO, 'tp=1')).toEqual([1, 3, 5, 7]);
    expect(found(MIMO, 'language tp=1')).toEqual([5, 7]);
    expect(found(MIMO, 'pp=1')).toEqual([6, 7]);
    expect(found(MIMO, 'images')).toEqual([0, 1, 2, 3]);
  });

  test('packed placement numbers the ranks that are launched', () => {
    expect(found(PACKED, 'tp=2')).toEqual([2, 8]);
    expect(found(PACKED, 'tp=3')).toEqual([9]);
  });

  test('a word stands for ranks in a condition', () => {
    expect(found(MOE, 'failed', { failed: [7, 9] })).toEqual([7, 9]);
    expect(found(MOE, 'failed', { failed: [] })).toBeNull();
  });

  test.each([
    ['64', 'The last rank is 63'],
    ['rank 7-5', '5 is below 7'],
    ['nodes 3-2', '2 is below 3'],
    ['64,65', 'The last rank is 63'],
    ['8:0', 'The last node is 7'],
    ['node 9', 'The last node is 7'],
    ['0:8', 'Node 0 has 8 GPUs'],
    ['pp=4', 'pp goes from 0 to 3'],
    ['zz=1', 'No dimension is called zz'],
    ['tp=0 dp=9', 'dp goes from 0 to 3'],
    ['', 'Write rank 5, node 3, 0:5, dp=1 pp=0, tp=0-3 or failed'],
    ['what', '“what” is not understood. Write rank 5, node 3, 0:5, dp=1 pp=0, tp=0-3 or failed'],
    ['tp=1.5', '“tp=1.5” is not understood. Write rank 5, node 3, 0:5, dp=1 pp=0, tp=0-3 or failed'],
  ])('nothing for %j, and why', (text, problem) => {
    expect(findRanks(MOE, text, {})).toEqual({ problem });
  });
});
