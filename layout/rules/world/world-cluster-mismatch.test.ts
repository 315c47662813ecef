import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { worldClusterMismatch } from './world-cluster-mismatch';

test('world-cluster-mismatch', () => {
  const said = reports(worldClusterMismatch, {
    'the same number': job(16, 'tp: 2', 'cluster: {nodes: 2, gpus_per_node: 8}'),
    'spares that are not launched may stand idle': job(
      15,
      'tp: 8',
      'cluster: {nodes: 2, gpus_per_node: 8}',
      'ntp: {placement: packed, tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]}',
    ),
    'phases that share the world': job(8, 'tp: 2', 'phases: {train: {num_ranks: 4}, rollout: {rank_offset: 4}}'),
    'phases without the training': job(8, 'tp: 2', 'phases: {rollout: {num_ranks: 4, engine: vllm}}'),
    'phases on some ranks, said once': job(
      16,
      'tp: 2',
      'phases: {train: {num_ranks: 8}, reference: {num_ranks: 4}, rollout: {rank_offset: 8, num_ranks: 4, engine: vllm}}',
      'cluster: {nodes: 3, gpus_per_node: 8}',
    ),
    'one node': job(12, 'tp: 2', 'cluster: {nodes: 1, gpus_per_node: 8}'),
    'several nodes': job(24, 'tp: 2', 'cluster: {nodes: 2, gpus_per_node: 8}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "phases on some ranks, said once: information at "phases": The phases use 12 of 24 GPUs; the others stand idle.
    one node: error at "12": world_size is 12, but a node has 8 GPUs. Use world_size 8.
      = at "1": nodes is 1 here
      = at "8": gpus_per_node is 8 here
      = suggestion: Change world_size to 8: world_size: [-12-]{+8+}
      = suggestion: Change gpus_per_node to 12: cluster: {nodes: 1, gpus_per_node: [-8-]{+12+}}
    several nodes: error at "24": world_size is 24, but 2 nodes x 8 GPUs = 16. Use world_size 16, or 3 nodes.
      = at "2": nodes is 2 here
      = at "8": gpus_per_node is 8 here
      = suggestion: Change world_size to 16: world_size: [-24-]{+16+}
      = suggestion: Change nodes to 3: cluster: {nodes: [-2-]{+3+}, gpus_per_node: 8}
      = suggestion: Change gpus_per_node to 12: cluster: {nodes: 2, gpus_per_node: [-8-]{+12+}}"
  `);
});
