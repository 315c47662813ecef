import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { epCrossesNode } from './ep-crosses-node';

const said = (text: string) => report(epCrossesNode, text);

test('the nodes of one NVLink domain', () => {
  expect(said(job(16, 'ep: 16', 'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 16}'))).toBe('');
});

test('two nodes', () => {
  expect(said(job(16, 'ep: 16', 'cluster: {nodes: 2, gpus_per_node: 8}'))).toMatchInlineSnapshot(`
    "information[ep-crosses-node] at "16"
    The EP group spans more than one node of 8 GPUs: it reaches from rank 0 to 15. The all-to-all crosses the network.
    = at "8": a node has 8 GPUs"
  `);
});

test('two NVLink domains', () => {
  const text = job(16, 'ep: 16', 'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 8}');
  expect(said(text)).toMatchInlineSnapshot(`
    "information[ep-crosses-node] at "16"
    The EP group spans more than one NVLink domain of 8 GPUs: it reaches from rank 0 to 15. The all-to-all crosses the network.
    = at "8": an NVLink domain has 8 GPUs"
  `);
});
