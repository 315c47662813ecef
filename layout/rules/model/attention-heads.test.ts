import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { attentionHeads } from './attention-heads';

test('attention-heads', () => {
  const said = reports(attentionHeads, {
    'a whole model': scriptJob(16, 'tp: 2, pp: 2'),
    'heads without tp': job(16, 'pp: 2', 'model: {num_attention_heads: 7}'),
    'hidden_size outside the training script': job(16, 'tp: 2', 'model: {num_attention_heads: 8, hidden_size: 60}'),
    'tp does not divide the heads': job(12, 'tp: 3', 'model: {num_attention_heads: 32}'),
    'the heads do not divide hidden_size, in the training script': scriptJob(16, 'tp: 2', {
      model: 'num_layers: 8, hidden_size: 60, num_attention_heads: 8',
    }),
    'both are wrong: the script asserts the hidden size first, without a message': scriptJob(48, 'tp: 3', {
      model: 'num_layers: 8, hidden_size: 60, num_attention_heads: 8',
    }),
    'a module has a model of its own':
      'layout: 1\nworld_size: 6\nmodules:\n  language: {num_ranks: 6, tp: 3, model: {num_attention_heads: 8}}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "tp does not divide the heads: error at "3": tp 3 does not divide 32 attention heads. Use tp 1, 2 or 4, or 30 or 33 heads.
      = Megatron-LM: num_attention_heads (32) must be a multiple of tensor_model_parallel_size (3).
      = at "32": num_attention_heads is 32 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}}
      = suggestion: Change num_attention_heads to 33: model: {num_attention_heads: [-32-]{+33+}}
      = suggestion: Change num_attention_heads to 30: model: {num_attention_heads: [-32-]{+30+}}
    the heads do not divide hidden_size, in the training script: error at "60": num_attention_heads 8 does not divide hidden_size 60. Use hidden_size 56 or 64.
      = Megatron-LM: an assertion without a message
      = at "8": num_attention_heads is 8 here
      = suggestion: Change hidden_size to 56: model: {num_layers: 8, hidden_size: [-60-]{+56+}, num_attention_heads: 8}
      = suggestion: Change hidden_size to 64: model: {num_layers: 8, hidden_size: [-60-]{+64+}, num_attention_heads: 8}
    both are wrong: the script asserts the hidden size first, without a message: error at "3": tp 3 does not divide 8 attention heads. Use tp 1, 2 or 4, or 6 or 9 heads.
      = Megatron-LM: an assertion without a message
      = at "8": num_attention_heads is 8 here
      = suggestion: Change num_attention_heads to 6: model: {num_layers: 8, hidden_size: 60, num_attention_heads: [-8-]{+6+}}
    a module has a model of its own: error at "3": tp 3 does not divide 8 attention heads. Use tp 1, 2 or 4, or 6 or 9 heads.
      = Megatron-LM: num_attention_heads (8) must be a multiple of tensor_model_parallel_size (3).
      = at "8": num_attention_heads is 8 here
      = suggestion: Change tp to 2: language: {num_ranks: 6, tp: [-3-]{+2+}, model: {num_attention_heads: 8}}
      = suggestion: Change tp to 1: language: {num_ranks: 6, tp: [-3-]{+1+}, model: {num_attention_heads: 8}}
      = suggestion: Change num_attention_heads to 9: language: {num_ranks: 6, tp: 3, model: {num_attention_heads: [-8-]{+9+}}}
      = suggestion: Change num_attention_heads to 6: language: {num_ranks: 6, tp: 3, model: {num_attention_heads: [-8-]{+6+}}}"
  `);
});
