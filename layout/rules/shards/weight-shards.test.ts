import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { weightShards } from './weight-shards';

test('weight-shards', () => {
  const said = reports(weightShards, {
    'a multiple of tp': job(16, 'tp: 2, num_weight_shards: 4', 'batch: {micro_batch_size: 1, global_batch_size: 1024}'),
    'any number of shards of expt_tp 1, which it is in a module':
      'layout: 1\nworld_size: 6\nmodules:\n  language: {num_ranks: 6, tp: 2, expt_num_weight_shards: 3}\n',
    'fewer than tp': job(16, 'tp: 4, num_weight_shards: 2'),
    'no multiple of tp': job(16, 'tp: 4, num_weight_shards: 6'),
    'no multiple of expt_tp, which defaults to tp here': job(16, 'tp: 2, expt_num_weight_shards: 3'),
    'no multiple of a written expt_tp': job(16, 'tp: 2, expt_tp: 4, expt_num_weight_shards: 6'),
    'an unusable tp has one diagnostic': job(16, 'tp: two, num_weight_shards: 3'),
    'in a module': 'layout: 1\nworld_size: 6\nmodules:\n  language: {num_ranks: 6, tp: 2, num_weight_shards: 3}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "fewer than tp: error at "2": num_weight_shards is 2, which is less than tp 4. Use 4 or 8.
      = Megatron-LM: tensor_parallel_num_weight_shards (2) must be >= tensor_model_parallel_size (4).
      = at "4": tp is 4 here
      = suggestion: Change num_weight_shards to 4: parallelism: {tp: 4, num_weight_shards: [-2-]{+4+}}
      = suggestion: Change num_weight_shards to 8: parallelism: {tp: 4, num_weight_shards: [-2-]{+8+}}
    no multiple of tp: error at "6": num_weight_shards is 6, which is not a multiple of tp 4. Use 4 or 8.
      = Megatron-LM: tensor_parallel_num_weight_shards (6) must be divisible by tensor_model_parallel_size (4).
      = at "4": tp is 4 here
      = suggestion: Change num_weight_shards to 4: parallelism: {tp: 4, num_weight_shards: [-6-]{+4+}}
      = suggestion: Change num_weight_shards to 8: parallelism: {tp: 4, num_weight_shards: [-6-]{+8+}}
    no multiple of expt_tp, which defaults to tp here: error at "3": expt_num_weight_shards is 3, which is not a multiple of expt_tp 2. Use 2 or 4.
      = Megatron-LM: expert_tensor_parallel_num_weight_shards (3) must be divisible by expert_tensor_parallel_size (2).
      = at "2": expt_tp defaults to tp, which is 2 here
      = suggestion: Change expt_num_weight_shards to 2: parallelism: {tp: 2, expt_num_weight_shards: [-3-]{+2+}}
      = suggestion: Change expt_num_weight_shards to 4: parallelism: {tp: 2, expt_num_weight_shards: [-3-]{+4+}}
    no multiple of a written expt_tp: error at "6": expt_num_weight_shards is 6, which is not a multiple of expt_tp 4. Use 4 or 8.
      = Megatron-LM: expert_tensor_parallel_num_weight_shards (6) must be divisible by expert_tensor_parallel_size (4).
      = at "4": expt_tp is 4 here
      = suggestion: Change expt_num_weight_shards to 4: parallelism: {tp: 2, expt_tp: 4, expt_num_weight_shards: [-6-]{+4+}}
      = suggestion: Change expt_num_weight_shards to 8: parallelism: {tp: 2, expt_tp: 4, expt_num_weight_shards: [-6-]{+8+}}
    an unusable tp has one diagnostic: error[wrong-type] at "two": parallelism.tp must be a whole number, not 'two'.
    in a module: error at "3": num_weight_shards is 3, which is not a multiple of tp 2. Use 2 or 4.
      = Megatron-LM: tensor_parallel_num_weight_shards (3) must be divisible by tensor_model_parallel_size (2).
      = at "2": tp is 2 here
      = suggestion: Change num_weight_shards to 2: language: {num_ranks: 6, tp: 2, num_weight_shards: [-3-]{+2+}}"
  `);
});
