import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { rolloutGpus } from './rollout-gpus';

test('rollout-gpus', () => {
  const of = (nodes: number, rl: string, engine = 'engine: sglang, tp: 4') =>
    job(8, 'tp: 4', `cluster: {nodes: ${nodes}, gpus_per_node: 8}`, `phases: {rollout: {${engine}}}`, `rl: {${rl}}`);
  const said = reports(rolloutGpus, {
    'both fit into the cluster': of(2, 'colocated: false, rollout_gpus: 8'),
    'more than the cluster has': of(2, 'rollout_gpus: 16'),
    "the cluster is the trainer's alone": of(1, 'rollout_gpus: 8'),
    'no whole engines': of(2, 'rollout_gpus: 6'),
    'an engine of two stages': of(2, 'rollout_gpus: 4', 'engine: sglang, tp: 4, pp: 2'),
    'no whole engines of a size that is written': of(2, 'rollout_gpus: 4, gpus_per_engine: 3'),
    'NeMo-RL gives whole nodes to generation': job(
      16,
      'tp: 4',
      'launch: {family: nemo-rl}',
      'cluster: {nodes: 2, gpus_per_node: 8}',
      'rl: {colocated: false, rollout_gpus: 4}',
    ),
    'colocated engines have no GPUs of their own': of(2, 'colocated: true, rollout_gpus: 16'),
  });
  expect(said).toMatchInlineSnapshot(`
    "more than the cluster has: error at "16": The trainer takes 8 GPUs and the engines 16, 24 together, but the cluster has 16. Use rollout_gpus 8, or colocate.
      = at "2": nodes is 2 here
      = suggestion: Change rollout_gpus to 8: rl: {rollout_gpus: [-16-]{+8+}}
    no whole engines: error at "6": rollout_gpus 6 is not a multiple of the 4 GPUs of an engine. Use rollout_gpus 4 or 8.
      = at "4": tp is 4 here
      = suggestion: Change rollout_gpus to 4: rl: {rollout_gpus: [-6-]{+4+}}
      = suggestion: Change rollout_gpus to 8: rl: {rollout_gpus: [-6-]{+8+}}
    an engine of two stages: error at "4": rollout_gpus 4 is not a multiple of the 8 GPUs of an engine. Use rollout_gpus 8.
      = at "4": tp is 4 here
      = suggestion: Change rollout_gpus to 8: rl: {rollout_gpus: [-4-]{+8+}}
    no whole engines of a size that is written: error at "4": rollout_gpus 4 is not a multiple of the 3 GPUs of an engine. Use rollout_gpus 3 or 6.
      = at "3": gpus_per_engine is 3 here
      = suggestion: Change rollout_gpus to 3: rl: {rollout_gpus: [-4-]{+3+}, gpus_per_engine: 3}
      = suggestion: Change rollout_gpus to 6: rl: {rollout_gpus: [-4-]{+6+}, gpus_per_engine: 3}
    NeMo-RL gives whole nodes to generation: error at "4": rollout_gpus 4 is no whole nodes of 8 GPUs: with several nodes NeMo-RL gives whole ones to generation. Use rollout_gpus 8.
      = suggestion: Change rollout_gpus to 8: rl: {colocated: false, rollout_gpus: [-4-]{+8+}}"
  `);
});
