import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { cpCrossesNode } from './cp-crosses-node';

test('cp-crosses-node', () => {
  const said = reports(cpCrossesNode, {
    'one node': job(32, 'tp: 2, cp: 4', 'cluster: {nodes: 4, gpus_per_node: 8}'),
    'two nodes': job(32, 'tp: 2, cp: 8', 'cluster: {nodes: 4, gpus_per_node: 8}'),
    'where nodes and degrees have no common factor, the count is a lower bound':
      'layout: 1\ncluster: {nodes: 8192, gpus_per_node: 8193}\nparallelism: {cp: 8192}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "two nodes: information at "8": All 4 CP groups span more than one node of 8 GPUs: the first, group 0, reaches from rank 0 to 14. Keys and values cross the network.
      = at "8": a node has 8 GPUs
    where nodes and degrees have no common factor, the count is a lower bound: information at "8192": At least 4,096 of 8,193 CP groups span more than one node of 8,193 GPUs: the first, group 1, reaches from rank 8192 to 16383. Keys and values cross the network.
      = at "8193": a node has 8,193 GPUs"
  `);
});
