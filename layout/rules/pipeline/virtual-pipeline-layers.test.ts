import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { virtualPipelineLayers } from './virtual-pipeline-layers';

const said = (text: string) => report(virtualPipelineLayers, text);

test('vpp divides the layers of a stage', () => {
  expect(said(job(16, 'pp: 4, vpp: 4', 'model: {num_layers: 32}'))).toBe('');
});

test('vpp does not divide the layers of a stage', () => {
  expect(said(job(16, 'pp: 4, vpp: 3', 'model: {num_layers: 32}'))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-layers] at "3"
    vpp 3 does not divide the 8 layers of a stage. Use vpp 1, 2 or 4.
    = Megatron-LM: num_layers_per_pipeline_rank 8             should be divisible by vp_size 3
    = at "32": num_layers is 32 here
    = suggestion: Change vpp to 2
      - parallelism: {pp: 4, vpp: 3}
      + parallelism: {pp: 4, vpp: 2}
    = suggestion: Change vpp to 4
      - parallelism: {pp: 4, vpp: 3}
      + parallelism: {pp: 4, vpp: 4}
    = suggestion: Change vpp to 1
      - parallelism: {pp: 4, vpp: 3}
      + parallelism: {pp: 4, vpp: 1}"
  `);
});
