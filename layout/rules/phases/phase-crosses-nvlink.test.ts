import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { phaseCrossesNvlink } from './phase-crosses-nvlink';

const phases = (inside: string, cluster = 'nodes: 2, gpus_per_node: 8') =>
  job(16, 'tp: 2', `phases: {${inside}}`, `cluster: {${cluster}}`);

test('phase-crosses-nvlink', () => {
  const said = reports(phaseCrossesNvlink, {
    'groups in a node': phases('rollout: {tp: 8}'),
    'an NVLink domain of several nodes': phases(
      'rollout: {tp: 16}',
      'nodes: 2, gpus_per_node: 8, gpus_per_nvlink_domain: 16',
    ),
    'GPUs whose NVLink domain is a rack': phases('rollout: {tp: 16}', 'nodes: 4, gpus_per_node: 4, gpu: GB200'),
    'no cluster': job(16, 'tp: 2', 'phases: {rollout: {tp: 16}}'),
    'no tensor parallelism': phases('rollout: {rank_offset: 3}'),
    'a group larger than a node': phases('rollout: {tp: 16}'),
    'groups that an offset pushes over the edge of a node': phases('rollout: {rank_offset: 6, num_ranks: 8, tp: 4}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a group larger than a node: warning at "16": The group of ranks 0 to 15 of phase 'rollout' spans NVLink domains of 8 GPUs. Use a tp that divides 8, or a rank_offset that is a multiple of it.
    groups that an offset pushes over the edge of a node: warning at "4": The group of ranks 6 to 9 of phase 'rollout' spans NVLink domains of 8 GPUs. Use a tp that divides 8, or a rank_offset that is a multiple of it."
  `);
});
