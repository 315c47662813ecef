import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { epCrossesNode } from './ep-crosses-node';

test('ep-crosses-node', () => {
  const said = reports(epCrossesNode, {
    'the nodes of one NVLink domain': job(
      16,
      'ep: 16',
      'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 16}',
    ),
    'two nodes': job(16, 'ep: 16', 'cluster: {nodes: 2, gpus_per_node: 8}'),
    'a rack that could hold the group': job(144, 'ep: 48', 'cluster: {nodes: 36, gpus_per_node: 4, gpu: GB200}'),
    'racks of which a job takes equal parts': job(256, 'ep: 64', 'cluster: {nodes: 64, gpus_per_node: 4, gpu: GB300}'),
    'two NVLink domains': job(16, 'ep: 16', 'cluster: {nodes: 4, gpus_per_node: 4, gpus_per_nvlink_domain: 8}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "two nodes: information at "16": The EP group spans more than one node of 8 GPUs: it reaches from rank 0 to 15. The all-to-all crosses the network.
      = at "8": a node has 8 GPUs
    a rack that could hold the group: warning at "48": 1 of 3 EP groups spans more than one NVLink domain of 72 GPUs: group 1 reaches from rank 48 to 95. The all-to-all crosses the network. Use a degree that divides 72, so that every group stays in one domain.
      = at "GB200": an NVLink domain has 72 GPUs
    two NVLink domains: information at "16": The EP group spans more than one NVLink domain of 8 GPUs: it reaches from rank 0 to 15. The all-to-all crosses the network.
      = at "8": an NVLink domain has 8 GPUs"
  `);
});
