import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { pipelineLayers } from './pipeline-layers';

const said = (text: string) => report(pipelineLayers, text);
const FIRST = 'num_layers_in_first_pipeline_stage';
const LAST = 'num_layers_in_last_pipeline_stage';

test.each([
  ['equal stages', job(16, 'pp: 4', 'model: {num_layers: 32}')],
  ['a smaller first stage', job(16, 'pp: 4', `model: {num_layers: 32, ${FIRST}: 5}`)],
  ['smaller ends', job(16, 'pp: 4', `model: {num_layers: 32, ${FIRST}: 6, ${LAST}: 6}`)],
  ['ends that are the whole pipeline', job(16, 'pp: 2', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 5}`)],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('pp does not divide the layers', () => {
  expect(said(job(16, 'pp: 4', 'model: {num_layers: 30}'))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "4"
    pp 4 does not divide 30 layers. Use pp 2, 3 or 5, or 28 or 32 layers.
    = Megatron-LM: num_layers=30 should be divisible by config.pipeline_model_parallel_size=4
    = at "30": num_layers is 30 here
    = suggestion: Change pp to 2
      - parallelism: {pp: 4}
      + parallelism: {pp: 2}
    = suggestion: Change num_layers to 28
      - model: {num_layers: 30}
      + model: {num_layers: 28}
    = suggestion: Change num_layers to 32
      - model: {num_layers: 30}
      + model: {num_layers: 32}"
  `);
});

test('the training script has words of its own', () => {
  expect(said(scriptJob(12, 'pp: 3'))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "3"
    pp 3 does not divide 8 layers. Use pp 1, 2 or 4, or 6 or 9 layers.
    = Megatron-LM: Number of layers should be divisible by the pipeline-model-parallel size
    = at "8": num_layers is 8 here
    = suggestion: Change pp to 2
      - parallelism: {pp: 3}
      + parallelism: {pp: 2}
    = suggestion: Change pp to 4
      - parallelism: {pp: 3}
      + parallelism: {pp: 4}
    = suggestion: Change pp to 1
      - parallelism: {pp: 3}
      + parallelism: {pp: 1}
    = suggestion: Change num_layers to 9
      - model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8}
      + model: {num_layers: 9, hidden_size: 64, num_attention_heads: 8}
    = suggestion: Change num_layers to 6
      - model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8}
      + model: {num_layers: 6, hidden_size: 64, num_attention_heads: 8}"
  `);
});

test('the first stage leaves a rest', () => {
  expect(said(job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 1}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "1"
    The first stage leaves 7 layers, which 3 other stages cannot share equally. Use num_layers 7 or 10.
    = Megatron-LM: number of layers at middle stage: 7 must be divisible bythe middle pipeline model parallel size 3
    = at "8": num_layers is 8 here
    = suggestion: Change num_layers to 7
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 1}
      + model: {num_layers: 7, num_layers_in_first_pipeline_stage: 1}
    = suggestion: Change num_layers to 10
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 1}
      + model: {num_layers: 10, num_layers_in_first_pipeline_stage: 1}
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 1}
      + model: {num_layers: 8}"
  `);
});

test('the ends leave layers and no stage', () => {
  expect(said(job(16, 'pp: 2', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 3}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "3"
    The first and last stages take 6 of 8 layers, but pp 2 makes no other stage. Use sizes that add up to 8, or leave them out.
    = Megatron-LM: Mismatch: 2 middle layers remaining but 0 middle PP stages available.
    = at "8": num_layers is 8 here
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 3, num_layers_in_last_pipeline_stage: 3}
      + model: {num_layers: 8, }"
  `);
});

test('the ends leave stages and no layer', () => {
  expect(said(job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 5}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "3"
    The first and last stages take all 8 layers, but pp 4 makes 2 more stages. Use smaller sizes, or leave them out.
    = Megatron-LM: Mismatch: 0 middle layers remaining but 2 middle PP stages available.
    = at "8": num_layers is 8 here
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 3, num_layers_in_last_pipeline_stage: 5}
      + model: {num_layers: 8, }"
  `);
});

test('the last stage takes all layers of the only stage and more', () => {
  expect(said(job(16, 'pp: 1', `model: {num_layers: 8, ${FIRST}: 4, ${LAST}: 4}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "4"
    The first and last stages take all 8 layers, but pp 1 makes one stage only. Use smaller sizes, or leave them out.
    = Megatron-LM: Mismatch: 0 middle layers remaining but -1 middle PP stages available.
    = at "8": num_layers is 8 here
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 4, num_layers_in_last_pipeline_stage: 4}
      + model: {num_layers: 8, }"
  `);
});

test('both ends on one stage: layers are lost', () => {
  expect(said(job(16, 'pp: 1', `model: {num_layers: 8, ${FIRST}: 4, ${LAST}: 3}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "4"
    With pp 1 Megatron-LM builds only the 3 layers of the last stage, of 8, and reports nothing. Leave the sizes out.
    = at "8": num_layers is 8 here
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 4, num_layers_in_last_pipeline_stage: 3}
      + model: {num_layers: 8, }"
  `);
});

test('an end takes more layers than there are', () => {
  expect(said(job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 11}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "11"
    The first stage takes 11 layers, more than num_layers 8. Megatron-LM reports nothing. Leave the sizes out.
    = at "8": num_layers is 8 here
    = suggestion: Make all stages equal
      - model: {num_layers: 8, num_layers_in_first_pipeline_stage: 11}
      + model: {num_layers: 8}"
  `);
});

test('vpp does not divide the first stage', () => {
  expect(said(job(16, 'pp: 4, vpp: 2', `model: {num_layers: 16, ${FIRST}: 3}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "3"
    vpp 2 does not divide the 3 layers of the first stage. Use num_layers_in_first_pipeline_stage 2 or 4.
    = Megatron-LM: number of layers at first stage: 3must be divisible by virtual pipelineparallel degree 2
    = at "2": vpp is 2 here
    = suggestion: Change num_layers_in_first_pipeline_stage to 4
      - model: {num_layers: 16, num_layers_in_first_pipeline_stage: 3}
      + model: {num_layers: 16, num_layers_in_first_pipeline_stage: 4}
    = suggestion: Make all stages equal
      - model: {num_layers: 16, num_layers_in_first_pipeline_stage: 3}
      + model: {num_layers: 16}"
  `);
});

test('vpp does not divide the other stages', () => {
  expect(said(job(16, 'pp: 4, vpp: 2', `model: {num_layers: 13, ${FIRST}: 4}`))).toMatchInlineSnapshot(`
    "error[pipeline-layers] at "4"
    vpp 2 does not divide the 3 layers of each other stage. Use vpp 1.
    = Megatron-LM: number of layers on each middle pipeline rank:3 must be divisible by virtualpipeline parallel degree 2
    = at "13": num_layers is 13 here
    = suggestion: Change vpp to 1
      - parallelism: {pp: 4, vpp: 2}
      + parallelism: {pp: 4, vpp: 1}"
  `);
});
