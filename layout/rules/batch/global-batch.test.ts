import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { globalBatch } from './global-batch';

const batch = (degrees: string, micro: number, sizes: string) =>
  job(8, degrees, `batch: {micro_batch_size: ${micro}, global_batch_size: ${sizes}}`);

test('global-batch', () => {
  const said = reports(globalBatch, {
    'whole micro-batches': scriptJob(16, 'tp: 2', { batch: 'micro_batch_size: 1, global_batch_size: 16' }),
    'no global batch without generalized TP': job(8, 'tp: 2', 'batch: {micro_batch_size: 1}'),
    'replicas that cannot share the batch, in the library': batch('tp: 2', 2, '12'),
    'replicas that cannot share the batch, in the training script': scriptJob(16, 'tp: 2', {
      batch: 'micro_batch_size: 1, global_batch_size: 12',
    }),
    'a batch smaller than one micro-batch for every replica': batch('', 4, '16'),
    'generalized TP counts': job(8, 'tp: 2, gtp_remat: 2', 'batch: {micro_batch_size: 1, global_batch_size: 6}'),
    'generalized TP without a global batch': job(8, 'tp: 2, gtp_remat: 2', 'batch: {micro_batch_size: 1}'),
    'the replicas of the language module share the batch':
      'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2}\nbatch: {micro_batch_size: 2, global_batch_size: 12}\n',
    'beside a batch of evaluation that fits': scriptJob(8, 'tp: 1', {
      batch: 'micro_batch_size: 1, global_batch_size: 12, eval_global_batch_size: 16',
    }),
    'a batch that is rounded down': batch('tp: 2', 2, '12, decrease_batch_size_if_needed: true'),
    'a batch that is rounded down to nothing': batch('tp: 2', 2, '4, decrease_batch_size_if_needed: true'),
  });
  expect(said).toMatchInlineSnapshot(`
    "replicas that cannot share the batch, in the library: error at "12": global_batch_size 12 is not a multiple of micro_batch_size 2 x dp 4 = 8. Use 8 or 16.
      = Megatron-LM: global batch size (12) is not divisible by micro batch size (2) times data parallel size (4)
      = at "parallelism": 8 ranks give dp 4
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 2, global_batch_size: [-12-]{+8+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 2, global_batch_size: [-12-]{+16+}}
    replicas that cannot share the batch, in the training script: error at "12": global_batch_size 12 is not a multiple of dp 8. Use 8 or 16.
      = Megatron-LM: eval_global_batch_size (12) must be divisible by eval_micro_batch_size (1) * data_parallel_size (8) * gtp_weight_remat_size (1)
      = at "parallelism": 16 ranks give dp 8
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+8+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+16+}}
    a batch smaller than one micro-batch for every replica: error at "16": global_batch_size 16 is not a multiple of micro_batch_size 4 x dp 8 = 32. Use 32.
      = Megatron-LM: global batch size (16) is not divisible by micro batch size (4) times data parallel size (8)
      = at "parallelism": 8 ranks give dp 8
      = suggestion: Change global_batch_size to 32: batch: {micro_batch_size: 4, global_batch_size: [-16-]{+32+}}
    generalized TP counts: error at "6": global_batch_size 6 is not a multiple of dp 2 x gtp_remat 2 = 4. Use 4 or 8.
      = Megatron-LM: global batch size (6) is not divisible by micro batch size (1) times data parallel size (4)
      = at "parallelism": 8 ranks give dp 2
      = suggestion: Change global_batch_size to 4: batch: {micro_batch_size: 1, global_batch_size: [-6-]{+4+}}
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-6-]{+8+}}
    generalized TP without a global batch: error at "batch": global_batch_size defaults to 2, which is not a multiple of dp 2 x gtp_remat 2 = 4. Write global_batch_size 4 or a multiple of it.
      = Megatron-LM: eval_global_batch_size (2) must be divisible by eval_micro_batch_size (1) * data_parallel_size (2) * gtp_weight_remat_size (2)
      = at "2": gtp_remat is 2 here
      = suggestion: Insert global_batch_size: 4: batch: {micro_batch_size: 1{+, global_batch_size: 4+}}
    the replicas of the language module share the batch: error at "12": global_batch_size 12 is not a multiple of micro_batch_size 2 x dp 4 = 8. Use 8 or 16.
      = Megatron-LM: global batch size (12) is not divisible by micro batch size (2) times data parallel size (4)
      = at "language": 8 ranks give dp 4
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 2, global_batch_size: [-12-]{+8+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 2, global_batch_size: [-12-]{+16+}}
    beside a batch of evaluation that fits: error at "12": global_batch_size 12 is not a multiple of dp 8. Use 8 or 16.
      = Megatron-LM: global batch size (12) is not divisible by micro batch size (1) times data parallel size (8)
      = at "parallelism": 8 ranks give dp 8
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+8+}, eval_global_batch_size: 16}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+16+}, eval_global_batch_size: 16}
    a batch that is rounded down to nothing: error at "4": global_batch_size 4 is rounded down to 0: it is less than micro_batch_size 2 x dp 4 = 8. Use 8.
      = Megatron-LM: number of microbatches should be at least 1, got 0.
      = at "parallelism": 8 ranks give dp 4
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 2, global_batch_size: [-4-]{+8+}, decrease_batch_size_if_needed: true}"
  `);
});
