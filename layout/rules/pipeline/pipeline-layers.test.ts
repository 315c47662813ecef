import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { pipelineLayers } from './pipeline-layers';

const FIRST = 'num_layers_in_first_pipeline_stage';
const LAST = 'num_layers_in_last_pipeline_stage';

test('pipeline-layers', () => {
  const said = reports(pipelineLayers, {
    'equal stages': job(16, 'pp: 4', 'model: {num_layers: 32}'),
    'a smaller first stage': job(16, 'pp: 4', `model: {num_layers: 32, ${FIRST}: 5}`),
    'smaller ends': job(16, 'pp: 4', `model: {num_layers: 32, ${FIRST}: 6, ${LAST}: 6}`),
    'ends that are the whole pipeline': job(16, 'pp: 2', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 5}`),
    'pp does not divide the layers': job(16, 'pp: 4', 'model: {num_layers: 30}'),
    'the training script has words of its own': scriptJob(12, 'pp: 3'),
    'the layers of an encoder': job(16, 'pp: 4', 'model: {encoder_num_layers: 30}'),
    'the first stage leaves a rest': job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 1}`),
    'the ends leave layers and no stage': job(16, 'pp: 2', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 3}`),
    'the ends leave stages and no layer': job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 3, ${LAST}: 5}`),
    'the last stage takes all layers of the only stage and more': job(
      16,
      'pp: 1',
      `model: {num_layers: 8, ${FIRST}: 4, ${LAST}: 4}`,
    ),
    'both ends on one stage: layers are lost': job(16, 'pp: 1', `model: {num_layers: 8, ${FIRST}: 4, ${LAST}: 3}`),
    'an end takes more layers than there are': job(16, 'pp: 4', `model: {num_layers: 8, ${FIRST}: 11}`),
    'vpp does not divide the first stage': job(16, 'pp: 4, vpp: 2', `model: {num_layers: 16, ${FIRST}: 3}`),
    'vpp does not divide the other stages': job(16, 'pp: 4, vpp: 2', `model: {num_layers: 13, ${FIRST}: 4}`),
    'layers that only stages of other sizes can share': job(64, 'pp: 4', 'model: {num_layers: 61}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "pp does not divide the layers: error at "4": pp 4 does not divide 30 layers. Use pp 2, 3 or 5, or num_layers_in_last_pipeline_stage 6, or 28 or 32 layers.
      = Megatron-LM: num_layers=30 should be divisible by config.pipeline_model_parallel_size=4
      = at "30": num_layers is 30 here
      = suggestion: Change pp to 2: parallelism: {pp: [-4-]{+2+}}
      = suggestion: Insert num_layers_in_last_pipeline_stage: 6: model: {num_layers: 30{+, num_layers_in_last_pipeline_stage: 6+}}
      = suggestion: Change num_layers to 28: model: {num_layers: [-30-]{+28+}}
      = suggestion: Change num_layers to 32: model: {num_layers: [-30-]{+32+}}
    the training script has words of its own: error at "3": pp 3 does not divide 8 layers. Use pp 2 or 4, or num_layers_in_last_pipeline_stage 2, or 6 or 9 layers.
      = Megatron-LM: Number of layers should be divisible by the pipeline-model-parallel size
      = at "8": num_layers is 8 here
      = suggestion: Change pp to 2: parallelism: {pp: [-3-]{+2+}}
      = suggestion: Change pp to 4: parallelism: {pp: [-3-]{+4+}}
      = suggestion: Insert num_layers_in_last_pipeline_stage: 2: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8{+, num_layers_in_last_pipeline_stage: 2+}}
      = suggestion: Change num_layers to 9: model: {num_layers: [-8-]{+9+}, hidden_size: 64, num_attention_heads: 8}
      = suggestion: Change num_layers to 6: model: {num_layers: [-8-]{+6+}, hidden_size: 64, num_attention_heads: 8}
    the layers of an encoder: error at "4": pp 4 does not divide 30 layers. Use pp 2, 3 or 5, or num_layers_in_last_pipeline_stage 6, or 28 or 32 layers.
      = Megatron-LM: num_layers=30 should be divisible by config.pipeline_model_parallel_size=4
      = at "30": encoder_num_layers is 30 here
      = suggestion: Change pp to 2: parallelism: {pp: [-4-]{+2+}}
      = suggestion: Insert num_layers_in_last_pipeline_stage: 6: model: {encoder_num_layers: 30{+, num_layers_in_last_pipeline_stage: 6+}}
      = suggestion: Change encoder_num_layers to 28: model: {encoder_num_layers: [-30-]{+28+}}
      = suggestion: Change encoder_num_layers to 32: model: {encoder_num_layers: [-30-]{+32+}}
    the first stage leaves a rest: error at "1": The first stage leaves 7 layers, which 3 other stages cannot share equally. Use num_layers 7 or 10.
      = Megatron-LM: number of layers at middle stage: 7 must be divisible bythe middle pipeline model parallel size 3
      = at "8": num_layers is 8 here
      = suggestion: Change num_layers to 7: model: {num_layers: [-8-]{+7+}, num_layers_in_first_pipeline_stage: 1}
      = suggestion: Change num_layers to 10: model: {num_layers: [-8-]{+10+}, num_layers_in_first_pipeline_stage: 1}
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 1-]}
    the ends leave layers and no stage: error at "3": The first and last stages take 6 of 8 layers, but pp 2 makes no other stage. Use sizes that add up to 8, or leave them out.
      = Megatron-LM: Mismatch: 2 middle layers remaining but 0 middle PP stages available.
      = at "8": num_layers is 8 here
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 3, num_layers_in_last_pipeline_stage: 3-]}
    the ends leave stages and no layer: error at "3": The first and last stages take all 8 layers, but pp 4 makes 2 more stages. Use smaller sizes, or leave them out.
      = Megatron-LM: Mismatch: 0 middle layers remaining but 2 middle PP stages available.
      = at "8": num_layers is 8 here
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 3, num_layers_in_last_pipeline_stage: 5-]}
    the last stage takes all layers of the only stage and more: error at "4": The first and last stages take all 8 layers, but pp 1 makes one stage only. Use smaller sizes, or leave them out.
      = Megatron-LM: Mismatch: 0 middle layers remaining but -1 middle PP stages available.
      = at "8": num_layers is 8 here
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 4, num_layers_in_last_pipeline_stage: 4-]}
    both ends on one stage: layers are lost: error at "4": With pp 1 Megatron-LM builds only the 3 layers of the last stage, of 8: no stage holds t3, t4, t5, t6, t7. Megatron-LM reports nothing. Leave the sizes out.
      = at "8": num_layers is 8 here
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 4, num_layers_in_last_pipeline_stage: 3-]}
    an end takes more layers than there are: error at "11": The first stage takes 11 layers, more than num_layers 8: the stages hold layers beyond the 8 of the model. Megatron-LM reports nothing. Leave the sizes out.
      = at "8": num_layers is 8 here
      = suggestion: Make all stages equal: model: {num_layers: 8[-, num_layers_in_first_pipeline_stage: 11-]}
    vpp does not divide the first stage: error at "3": vpp 2 does not divide the 3 layers of the first stage. Use num_layers_in_first_pipeline_stage 2 or 4.
      = Megatron-LM: number of layers at first stage: 3must be divisible by virtual pipelineparallel degree 2
      = at "2": vpp is 2 here
      = suggestion: Change num_layers_in_first_pipeline_stage to 4: model: {num_layers: 16, num_layers_in_first_pipeline_stage: [-3-]{+4+}}
      = suggestion: Make all stages equal: model: {num_layers: 16[-, num_layers_in_first_pipeline_stage: 3-]}
    vpp does not divide the other stages: error at "4": vpp 2 does not divide the 3 layers of each other stage. Use vpp 1.
      = Megatron-LM: number of layers on each middle pipeline rank:3 must be divisible by virtualpipeline parallel degree 2
      = at "13": num_layers is 13 here
      = suggestion: Change vpp to 1: parallelism: {pp: 4, vpp: [-2-]{+1+}}
    layers that only stages of other sizes can share: error at "4": pp 4 does not divide 61 layers. Use num_layers_in_last_pipeline_stage 13, or 60 or 64 layers.
      = Megatron-LM: num_layers=61 should be divisible by config.pipeline_model_parallel_size=4
      = at "61": num_layers is 61 here
      = suggestion: Insert num_layers_in_last_pipeline_stage: 13: model: {num_layers: 61{+, num_layers_in_last_pipeline_stage: 13+}}
      = suggestion: Change num_layers to 60: model: {num_layers: [-61-]{+60+}}
      = suggestion: Change num_layers to 64: model: {num_layers: [-61-]{+64+}}"
  `);
});
