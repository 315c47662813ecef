import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { cpCrossesNode } from './cp-crosses-node';

const said = (text: string) => report(cpCrossesNode, text);

test('one node', () => {
  expect(said(job(32, 'tp: 2, cp: 4', 'cluster: {nodes: 4, gpus_per_node: 8}'))).toBe('');
});

test('two nodes', () => {
  expect(said(job(32, 'tp: 2, cp: 8', 'cluster: {nodes: 4, gpus_per_node: 8}'))).toMatchInlineSnapshot(`
    "information[cp-crosses-node] at "8"
    All 4 CP groups span more than one node of 8 GPUs: the first, group 0, reaches from rank 0 to 14. Keys and values cross the network.
    = at "8": a node has 8 GPUs"
  `);
});

test('where nodes and degrees have no common factor, the count is a lower bound', () => {
  const text = 'layout: 1\ncluster: {nodes: 8192, gpus_per_node: 8193}\nparallelism: {cp: 8192}\n';
  expect(said(text)).toMatchInlineSnapshot(`
    "information[cp-crosses-node] at "8192"
    At least 4,096 of 8,193 CP groups span more than one node of 8,193 GPUs: the first, group 1, reaches from rank 8192 to 16383. Keys and values cross the network.
    = at "8193": a node has 8,193 GPUs"
  `);
});
