import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { queryGroups } from './query-groups';

test('query-groups', () => {
  const said = reports(queryGroups, {
    'fewer groups than ranks before core 0.16': job(8, 'tp: 8', 'model: {num_query_groups: 4}', 'megatron: core_r0.15'),
    'fewer groups than ranks since core 0.16': job(8, 'tp: 8', 'model: {num_query_groups: 4}', 'megatron: core_r0.16'),
    'a framework that comes with core 0.15': job(8, 'tp: 8', 'model: {num_query_groups: 4}', 'launch: {family: verl}'),
    'a framework that comes with core 0.16': job(8, 'tp: 8', 'model: {num_query_groups: 4}', 'launch: {family: slime}'),
    'a multiple of tp': job(16, 'tp: 4', 'model: {num_query_groups: 8}'),
    'a divisor of tp': job(16, 'tp: 4', 'model: {num_query_groups: 2}'),
    'neither a multiple nor a divisor of tp': job(16, 'tp: 4', 'model: {num_attention_heads: 24, num_query_groups: 6}'),
    'where tp does not divide the heads, only that is reported': job(
      16,
      'tp: 4',
      'model: {num_attention_heads: 6, num_query_groups: 6}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "fewer groups than ranks before core 0.16: error at "4": num_query_groups 4 is no multiple of tp 8, which Megatron-LM before core 0.16 needs. Use num_query_groups 8.
      = Megatron-LM: num_query_groups (4) must be a multiple of tensor_model_parallel_size (8).
      = at "8": tp is 8 here
      = at "core_r0.15": megatron is core_r0.15 here
      = suggestion: Change num_query_groups to 8: model: {num_query_groups: [-4-]{+8+}}
    a framework that comes with core 0.15: warning at "4": num_query_groups 4 is no multiple of tp 8, which Megatron-LM before core 0.16 needs (verl comes with core_r0.15). Use num_query_groups 8.
      = Megatron-LM: num_query_groups (4) must be a multiple of tensor_model_parallel_size (8).
      = at "8": tp is 8 here
      = suggestion: Change num_query_groups to 8: model: {num_query_groups: [-4-]{+8+}}
    neither a multiple nor a divisor of tp: error at "6": num_query_groups 6 is neither a multiple nor a divisor of tp 4. Use num_query_groups 2, 4 or 8.
      = Megatron-LM: num_query_groups (6) must be a multiple or divisor of tensor_model_parallel_size (4).
      = at "4": tp is 4 here
      = suggestion: Change num_query_groups to 4: model: {num_attention_heads: 24, num_query_groups: [-6-]{+4+}}
      = suggestion: Change num_query_groups to 8: model: {num_attention_heads: 24, num_query_groups: [-6-]{+8+}}
      = suggestion: Change num_query_groups to 2: model: {num_attention_heads: 24, num_query_groups: [-6-]{+2+}}
    where tp does not divide the heads, only that is reported: error[attention-heads] at "4": tp 4 does not divide 6 attention heads. Use tp 2, 3 or 6, or 4 or 8 heads.
      = Megatron-LM: num_attention_heads (6) must be a multiple of tensor_model_parallel_size (4).
      = at "6": num_attention_heads is 6 here
      = suggestion: Change tp to 2: parallelism: {tp: [-4-]{+2+}}"
  `);
});
