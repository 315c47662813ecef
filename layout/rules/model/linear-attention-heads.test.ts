import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { linearAttentionHeads } from './linear-attention-heads';

const model = (facts: string) => `model: {experimental_attention_variant: gdn, ${facts}}`;

test('linear-attention-heads', () => {
  const said = reports(linearAttentionHeads, {
    'heads that divide': job(16, 'tp: 4, cp: 2', model('linear_num_key_heads: 16, linear_num_value_heads: 32')),
    'another attention': job(16, 'tp: 16', 'model: {linear_num_key_heads: 8}'),
    'tp and cp': job(16, 'tp: 4, cp: 4', model('linear_num_key_heads: 8, linear_num_value_heads: 32')),
    'value heads alone': job(16, 'tp: 16', model('linear_num_value_heads: 24')),
    'value heads that key heads do not divide': job(
      8,
      'tp: 2',
      model('linear_num_key_heads: 16, linear_num_value_heads: 24'),
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp and cp: error at "8": linear_num_key_heads 8 is not a multiple of tp 4 x cp 4 = 16. Use 16.
      = Megatron-LM: self.linear_num_key_heads=8 must be a multiple of (self.tensor_model_parallel_size=4 * self.context_parallel_size=4).
      = at "4": tp is 4 here
      = at "4": cp is 4 here
      = suggestion: Change linear_num_key_heads to 16: model: {experimental_attention_variant: gdn, linear_num_key_heads: [-8-]{+16+}, linear_num_value_heads: 32}
    value heads alone: error at "24": linear_num_value_heads 24 is not a multiple of tp 16. Use 16 or 32.
      = Megatron-LM: self.linear_num_value_heads=24 must be a multiple of (self.tensor_model_parallel_size=16 * self.context_parallel_size=1).
      = at "16": tp is 16 here
      = suggestion: Change linear_num_value_heads to 16: model: {experimental_attention_variant: gdn, linear_num_value_heads: [-24-]{+16+}}
      = suggestion: Change linear_num_value_heads to 32: model: {experimental_attention_variant: gdn, linear_num_value_heads: [-24-]{+32+}}
    value heads that key heads do not divide: error at "24": linear_num_value_heads 24 is not a multiple of linear_num_key_heads 16. Use 16 or 32.
      = Megatron-LM: linear_num_value_heads (24) must be a multiple of linear_num_key_heads (16).
      = at "16": linear_num_key_heads is 16 here
      = suggestion: Change linear_num_value_heads to 16: model: {experimental_attention_variant: gdn, linear_num_key_heads: 16, linear_num_value_heads: [-24-]{+16+}}
      = suggestion: Change linear_num_value_heads to 32: model: {experimental_attention_variant: gdn, linear_num_key_heads: 16, linear_num_value_heads: [-24-]{+32+}}"
  `);
});
