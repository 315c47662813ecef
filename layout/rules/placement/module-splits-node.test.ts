import { expect, test } from 'vitest';
import { reports } from '../testing';
import { moduleSplitsNode } from './module-splits-node';

const layout = (nodes: number, ...modules: readonly string[]) =>
  [
    'layout: 1',
    `cluster: {nodes: ${nodes}, gpus_per_node: 8}`,
    'modules:',
    ...modules.map((one) => `  ${one}`),
    '',
  ].join('\n');

test('module-splits-node', () => {
  const said = reports(moduleSplitsNode, {
    'modules in nodes of their own': layout(2, 'images: {num_ranks: 8}', 'language: {rank_offset: 8, num_ranks: 8}'),
    'in one node modules share it anyway': layout(
      1,
      'images: {num_ranks: 4}',
      'language: {rank_offset: 4, num_ranks: 4}',
    ),
    'a module begins inside a node': layout(
      2,
      'images: {num_ranks: 4, tp: 4}',
      'language: {rank_offset: 4, num_ranks: 12, tp: 6}',
    ),
    'several modules begin inside a node': layout(
      2,
      'images: {num_ranks: 4}',
      'audio: {rank_offset: 4, num_ranks: 2}',
      'language: {rank_offset: 6, num_ranks: 10}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "a module begins inside a node: information at "4": 'language' begins at rank 4, inside node 0.
      = at "8": a node has 8 GPUs
    several modules begin inside a node: information at "4": 'audio' begins at rank 4, inside node 0. 1 other module also begins inside a node.
      = at "8": a node has 8 GPUs"
  `);
});
