import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { experts } from './experts';

const MODEL = 'num_layers: 8, hidden_size: 64, num_attention_heads: 8';

test('experts', () => {
  const said = reports(experts, {
    'ep divides the experts': job(16, 'ep: 8', 'model: {num_experts: 16}'),
    'a model of which only some sizes are told may have experts': job(16, 'ep: 8', 'model: {num_layers: 8}'),
    'ep does not divide the experts': job(16, 'ep: 8', 'model: {num_experts: 12}'),
    'a whole model has no experts': job(16, 'ep: 8', `model: {${MODEL}}`),
    'the training script has words of its own': scriptJob(16, 'ep: 8'),
    'a width of experts without experts': job(16, 'tp: 2', `model: {${MODEL}, moe_ffn_hidden_size: 128}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "ep does not divide the experts: error at "8": ep 8 does not divide 12 experts. Use ep 4, 6 or 12, or 8 or 16 experts.
      = Megatron-LM: Number of experts should be a multiple of expert model parallel_size.
      = at "12": num_experts is 12 here
      = suggestion: Change ep to 4: parallelism: {ep: [-8-]{+4+}}
      = suggestion: Change num_experts to 8: model: {num_experts: [-12-]{+8+}}
      = suggestion: Change num_experts to 16: model: {num_experts: [-12-]{+16+}}
    a whole model has no experts: error at "8": ep is 8, but the model has no experts. Write num_experts, or use ep 1.
      = Megatron-LM: num_moe_experts must be non None to use expert-parallel.
      = suggestion: Change ep to 1: parallelism: {ep: [-8-]{+1+}}
    the training script has words of its own: error at "8": ep is 8, but the model has no experts. Write num_experts, or use ep 1.
      = Megatron-LM: num_experts must be non None to use expert model parallelism
      = suggestion: Change ep to 1: parallelism: {ep: [-8-]{+1+}}
    a width of experts without experts: error at "moe_ffn_hidden_size": moe_ffn_hidden_size is the width of an expert, but the model has no experts. Write num_experts, or remove it.
      = Megatron-LM: moe_ffn_hidden_size is set but num_moe_experts is None. Please set num_moe_experts or remove moe_ffn_hidden_size.
      = suggestion: Remove moe_ffn_hidden_size: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8[-, moe_ffn_hidden_size: 128-]}"
  `);
});
