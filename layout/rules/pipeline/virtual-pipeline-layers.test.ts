import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { virtualPipelineLayers } from './virtual-pipeline-layers';

test('virtual-pipeline-layers', () => {
  const said = reports(virtualPipelineLayers, {
    'vpp divides the layers of a stage': job(16, 'pp: 4, vpp: 4', 'model: {num_layers: 32}'),
    'vpp does not divide the layers of a stage': job(16, 'pp: 4, vpp: 3', 'model: {num_layers: 32}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "vpp does not divide the layers of a stage: error at "3": vpp 3 does not divide the 8 layers of a stage. Use vpp 1, 2 or 4.
      = Megatron-LM: num_layers_per_pipeline_rank 8             should be divisible by vp_size 3
      = at "32": num_layers is 32 here
      = suggestion: Change vpp to 2: parallelism: {pp: 4, vpp: [-3-]{+2+}}
      = suggestion: Change vpp to 4: parallelism: {pp: 4, vpp: [-3-]{+4+}}
      = suggestion: Change vpp to 1: parallelism: {pp: 4, vpp: [-3-]{+1+}}"
  `);
});
