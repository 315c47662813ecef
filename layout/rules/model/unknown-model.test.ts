import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { unknownModel } from './unknown-model';

test('unknown-model', () => {
  const said = reports(unknownModel, {
    'a public model': job(8, 'pp: 4', 'model: {from: Qwen/Qwen3-8B}'),
    'a model whose layers are written': job(8, 'pp: 4', 'model: {from: mine, num_layers: 8}'),
    'a model that is not known': job(8, 'pp: 4', 'model: {from: /data/checkpoints/mine}'),
    'a slip of the pen': job(8, 'pp: 4', 'model: {from: Qwen/Qwen3-8BB}'),
    'a public model with layers that the pipeline does not divide': job(8, 'pp: 8', 'model: {from: Qwen/Qwen3-8B}'),
    'heads that tensor parallelism does not divide': job(64, 'tp: 64', 'model: {from: meta-llama/Llama-3.1-8B}'),
    'layers of its own': job(8, 'pp: 4', 'model: {from: deepseek-ai/DeepSeek-V3, num_layers: 4}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a model that is not known: information at "/data/checkpoints/mine": pp and tp are not checked: the layers of /data/checkpoints/mine are not known. Write num_layers and num_attention_heads.
    a slip of the pen: information at "Qwen/Qwen3-8BB": pp and tp are not checked: the layers of Qwen/Qwen3-8BB are not known. Did you mean Qwen/Qwen3-8B?
      = suggestion: Change from to Qwen/Qwen3-8B: model: {from: [-Qwen/Qwen3-8BB-]{+Qwen/Qwen3-8B+}}
    a public model with layers that the pipeline does not divide: error[pipeline-layers] at "8": pp 8 does not divide 36 layers. Use pp 4, 6 or 9, or num_layers_in_last_pipeline_stage 1, or 32 or 40 layers.
      = Megatron-LM: num_layers=36 should be divisible by config.pipeline_model_parallel_size=8
      = at "Qwen/Qwen3-8B": num_layers is 36 here
      = suggestion: Change pp to 4: parallelism: {pp: [-8-]{+4+}}
      = suggestion: Insert num_layers_in_last_pipeline_stage: 1: model: {from: Qwen/Qwen3-8B{+, num_layers_in_last_pipeline_stage: 1+}}
    heads that tensor parallelism does not divide: error[attention-heads] at "64": tp 64 does not divide 32 attention heads. Use tp 8, 16 or 32, or 64 heads.
      = Megatron-LM: num_attention_heads (32) must be a multiple of tensor_model_parallel_size (64).
      = at "meta-llama/Llama-3.1-8B": num_attention_heads is 32 here
      = suggestion: Change tp to 32: parallelism: {tp: [-64-]{+32+}}
      = suggestion: Change tp to 16: parallelism: {tp: [-64-]{+16+}}
      = suggestion: Change tp to 8: parallelism: {tp: [-64-]{+8+}}"
  `);
});
