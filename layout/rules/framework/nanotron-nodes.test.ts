import { expect, test } from 'vitest';
import { reports } from '../testing';
import { nanotronNodes } from './nanotron-nodes';

const onNodes = (nodes: number, perNode: number, dp: number) =>
  `layout: 1\ncluster: {nodes: ${nodes}, gpus_per_node: ${perNode}}\nlaunch: {family: nanotron}\nparallelism: {dp: ${dp}}\n`;

test('nanotron-nodes', () => {
  const said = reports(nanotronNodes, {
    'one node': onNodes(1, 8, 8),
    'two whole nodes': onNodes(2, 8, 16),
    'nodes of 4': onNodes(3, 4, 12),
    'a small world on two nodes': onNodes(2, 4, 8),
    'nodes of one GPU, of which nanotron knows nothing': onNodes(12, 1, 12),
    'a world that ends inside a node': onNodes(2, 8, 12).replace('cluster', 'world_size: 12\ncluster'),
    'no cluster': 'layout: 1\nworld_size: 12\nlaunch: {family: nanotron}\nparallelism: {dp: 12}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a small world on two nodes: error at "2": nanotron takes 8 ranks for one node, but the cluster has 2 nodes of 4. Use 1 node of 8 GPUs, or more than 8 ranks.
      = nanotron: Local rank mismatch
    nodes of one GPU, of which nanotron knows nothing: error at "12": nanotron cuts 12 ranks into nodes of 8 (LOCAL_WORLD_SIZE), which leaves a part. Use world_size 8 or 16.
      = nanotron: cannot reshape array of size 12 into shape (8)
    a world that ends inside a node: error at "12": nanotron cuts 12 ranks into nodes of 8 (LOCAL_WORLD_SIZE), which leaves a part. Use world_size 8 or 16.
      = nanotron: cannot reshape array of size 12 into shape (8)"
  `);
});
