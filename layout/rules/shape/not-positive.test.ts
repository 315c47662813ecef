import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { notPositive } from './not-positive';

test('not-positive', () => {
  const said = reports(notPositive, {
    'a degree of 0': job(8, 'tp: 0'),
    'a negative offset': 'layout: 1\nworld_size: 8\nmodules:\n  language: {rank_offset: -4, num_ranks: 8}\n',
    'a stage of -1 layers, of which Megatron-LM says something else first': job(
      8,
      'pp: 2, account_for_loss_in_pipeline_split: true',
      'model: {num_layers: 7, num_layers_in_first_pipeline_stage: -1}',
    ),
    'a world below 0, which does not divide either': job(-1, 'tp: 8'),
    'a negative pipeline with chunks': job(8, 'tp: 4, ep: 3, pp: -1, vpp: 2'),
    'an ep of 0 beside a fault of the dense grid, which Megatron-LM sees first': scriptJob(8, 'tp: 3, ep: 0'),
    'negative levels of context parallelism': job(8, 'cp: 2, hierarchical_context_parallel_sizes: [-2, -2]'),
    'a batch of 0': job(8, '', 'batch: {micro_batch_size: 1, global_batch_size: 0}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a degree of 0: error at "0": parallelism.tp is 0, but must be at least 1.
      = suggestion: Change tp to 1: parallelism: {tp: [-0-]{+1+}}
    a negative offset: error at "-4": modules.language.rank_offset is -4, but must be 0 or more.
      = Megatron-LM: rank_offset must be non-negative, got -4
      = suggestion: Change rank_offset to 0: language: {rank_offset: [--4-]{+0+}, num_ranks: 8}
    a stage of -1 layers, of which Megatron-LM says something else first: error at "-1": model.num_layers_in_first_pipeline_stage is -1, but must be at least 1.
      = Megatron-LM: num_layers_in_first_pipeline_stage and num_layers_in_last_pipeline_stage cannot beset at the same time with account_for_embedding_in_pipeline_splitand account_for_loss_in_pipeline_split
    a world below 0, which does not divide either: error at "-1": world_size is -1, but must be at least 1.
      = Megatron-LM: world_size (-1) is not divisible by 8
    a negative pipeline with chunks: error at "-1": parallelism.pp is -1, but must be at least 1.
      = Megatron-LM: pipeline-model-parallel size should be greater than 1 with interleaved schedule
    an ep of 0 beside a fault of the dense grid, which Megatron-LM sees first: error[dense-factorization] at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world size (8) is not divisible by total_model_size (total_model_size=3)
      = at "8": world_size is 8 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}, ep: 0}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}, ep: 0}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}, ep: 0}
      = suggestion: Change world_size to 9: world_size: [-8-]{+9+}
      = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
      error[attention-heads] at "3": tp 3 does not divide 8 attention heads. Use tp 1, 2 or 4, or 6 or 9 heads.
      = Megatron-LM: num_attention_heads (8) must be a multiple of tensor_model_parallel_size (3).
      = at "8": num_attention_heads is 8 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}, ep: 0}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}, ep: 0}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}, ep: 0}
      error at "0": parallelism.ep is 0, but must be at least 1.
      = suggestion: Change ep to 1: parallelism: {tp: 3, ep: [-0-]{+1+}}
    negative levels of context parallelism: error at "-2": parallelism.hierarchical_context_parallel_sizes[0] is -2, but must be at least 1.
      = Megatron-LM: an assertion without a message
      = suggestion: Change hierarchical_context_parallel_sizes[0] to 1: parallelism: {cp: 2, hierarchical_context_parallel_sizes: [[--2-]{+1+}, -2]}
      error at "-2": parallelism.hierarchical_context_parallel_sizes[1] is -2, but must be at least 1.
      = Megatron-LM: an assertion without a message
      = suggestion: Change hierarchical_context_parallel_sizes[1] to 1: parallelism: {cp: 2, hierarchical_context_parallel_sizes: [-2, [--2-]{+1+}]}
    a batch of 0: error at "0": batch.global_batch_size is 0, but must be at least 1.
      = Megatron-LM: number of microbatches should be at least 1, got 0."
  `);
});
