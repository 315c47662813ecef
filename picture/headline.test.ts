import { describe, expect, test } from 'vitest';
import { changesInWords } from './changes';
import { usualColour } from './colourings';
import { drawingOf, USUAL_CHOICE } from './drawing';
import { structureHeadline, whereHeadline } from './headline';
import { mergedGroups } from './rankDetails';
import { groupsSentence } from './reach';
import { onNodes, PACKED, resolved } from './testing';

const MIMO = resolved(
  'world_size: 16\ncluster: {nodes: 2, gpus_per_node: 8}\nmodules:\n  images: {num_ranks: 8, tp: 2}\n  language: {rank_offset: 8, num_ranks: 8, tp: 2, pp: 2}\n',
);

describe('the answer of a view', () => {
  test.each([
    [
      onNodes(2048, 'tp: 8, cp: 2, pp: 16'),
      '16 pipeline stages of 128 nodes each; tensor parallelism stays inside every node.',
    ],
    [onNodes(4, 'tp: 8'), '4 replicas of 1 node each; tensor parallelism stays inside every node.'],
    [onNodes(4, 'tp: 16'), '2 replicas of 2 nodes each; every tp group crosses nodes.'],
    [onNodes(1, 'tp: 2, pp: 2'), '2 pipeline stages of 4 ranks each on one node; every tp group shares the node.'],
    [
      onNodes(1, 'tp: 2, pp: 2, order: tp-pp-cp-ep-dp'),
      '2 pipeline stages of 4 ranks each on one node; every tp group shares the node.',
    ],
    [
      onNodes(2, 'tp: 2, pp: 2, order: tp-pp-cp-ep-dp'),
      '2 pipeline stages of 8 ranks each, spread over the nodes; tensor parallelism stays inside every node.',
    ],
    [onNodes(2, 'tp: 2'), '8 replicas of 2 ranks each, 4 in a node; tensor parallelism stays inside every node.'],
    [MIMO, 'images runs on node 0, language runs on node 1.'],
    [PACKED, '2 replicas of up to 8 ranks each; 1 of 2 tp groups crosses nodes.'],
  ])('where: %#', (layout, title) => {
    expect(whereHeadline(layout).title).toBe(title);
  });

  test('what it is about follows: machines and degrees', () => {
    expect(whereHeadline(onNodes(8, 'tp: 4, pp: 4')).sub).toBe('64 ranks on 8 nodes of 8 GPUs · tp 4 × dp 4 × pp 4');
  });

  test.each([
    [PACKED, 'Replica 0 runs 6 of 8 TP slots; the others run all 8.'],
    [
      resolved(
        'world_size: 4\nparallelism: {tp: 4}\nntp: {tp_spares: 1, num_reduced_tp_dp_ranks: 1, failed_ranks: [3], non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}\n',
      ),
      'Replica 0 runs 3 of 4 TP slots.',
    ],
  ])('failures: %#', (layout, title) => {
    expect(drawingOf(layout, 'ntp', USUAL_CHOICE).headline.title).toBe(title);
  });

  test('structure', () => {
    const layout = onNodes(2048, 'tp: 8, cp: 2, pp: 16');
    expect(structureHeadline(layout, undefined, 'dense').title).toBe(
      '16 pipeline stages × 64 replicas × 2 context-parallel ranks × 8 tensor-parallel ranks',
    );
  });

  test.each([
    ['tp', 'tp: 16 groups of 4 ranks; every group stays inside one node.'],
    ['dp', 'dp: 16 groups of 4 ranks; every group crosses 2 nodes.'],
    ['pp', 'pp: 16 groups of 4 ranks; every group crosses 4 nodes.'],
  ])('groups of %s', (name, sentence) => {
    expect(groupsSentence(onNodes(8, 'tp: 4, pp: 4'), name)).toBe(sentence);
  });

  test('groups of which only some cross nodes', () => {
    const layout = onNodes(3, 'tp: 6');
    expect(groupsSentence(layout, 'tp')).toBe('tp: 4 groups of 6 ranks; 2 cross 2 nodes.');
  });
});

describe('the usual colour', () => {
  test.each([
    ['pp where it tells nodes apart', onNodes(8, 'tp: 4, pp: 4'), 'pp'],
    ['dp without stages', onNodes(4, 'tp: 8'), 'dp'],
    ['the module where there are several', MIMO, 'module'],
    ['never tp, which looks the same in every node', onNodes(4, 'tp: 8, cp: 4'), 'cp'],
  ])('%s', (_, layout, colour) => {
    expect(usualColour(layout)).toBe(colour);
  });
});

describe('the groups of a rank', () => {
  test('groups with the same ranks are one, under all of their names, and say whether they leave the node', () => {
    const groups = mergedGroups(onNodes(8, 'tp: 4, pp: 4'), 5);
    expect(groups.slice(0, 3).map(({ names, ranks, nodes }) => [names, ranks, nodes])).toEqual([
      [['tp', 'tp_cp', 'ep_tp', 'tp_ep_mp'], [4, 5, 6, 7], 1],
      [['pp'], [5, 21, 37, 53], 4],
      [['dp', 'dp_cp', 'ep_dp'], [1, 5, 9, 13], 2],
    ]);
    expect(new Set(groups.map(({ ranks }) => ranks?.join())).size).toBe(groups.length);
  });
});

describe('how two layouts differ, in words', () => {
  test('degrees first, then what becomes of the groups', () => {
    expect(changesInWords(onNodes(8, 'tp: 4, pp: 4'), onNodes(8, 'tp: 2, pp: 4'))).toEqual([
      'tp 4 → 2, dp 4 → 8',
      'tp groups 16 × 4 → 32 × 2, dp groups 16 × 4 → 8 × 8',
    ]);
  });

  test('the world, and modules that come or go', () => {
    expect(changesInWords(onNodes(1, 'tp: 8'), onNodes(2, 'tp: 8'))).toEqual([
      '8 ranks → 16',
      'dp 1 → 2',
      'tp groups 1 × 8 → 2 × 8',
    ]);
  });
});
