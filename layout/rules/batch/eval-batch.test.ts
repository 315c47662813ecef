import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { evalBatch } from './eval-batch';

const batch = (sizes: string) => job(8, 'tp: 1', `batch: {micro_batch_size: 1, global_batch_size: 16, ${sizes}}`);

test('eval-batch', () => {
  const said = reports(evalBatch, {
    'a smaller micro-batch': batch('eval_micro_batch_size: 2'),
    'none of its own': job(8, 'tp: 1', 'batch: {micro_batch_size: 1, global_batch_size: 16}'),
    'a micro-batch that does not fit': batch('eval_micro_batch_size: 4'),
    'a batch that does not fit': batch('eval_global_batch_size: 12'),
    'the default batch of the training script': scriptJob(12, 'tp: 1', {
      batch: 'micro_batch_size: 1, eval_micro_batch_size: 4',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "a micro-batch that does not fit: error at "4": eval_global_batch_size defaults to the global batch, 16, which is not a multiple of eval_micro_batch_size 4 x dp 8 = 32. Use 32.
      = Megatron-LM: eval_global_batch_size (16) must be divisible by eval_micro_batch_size (4) * data_parallel_size (8) * gtp_weight_remat_size (1)
      = suggestion: Insert eval_global_batch_size: 32: batch: {micro_batch_size: 1, global_batch_size: 16, eval_micro_batch_size: 4{+, eval_global_batch_size: 32+}}
    a batch that does not fit: error at "12": eval_global_batch_size 12 is not a multiple of dp 8. Use 8 or 16.
      = Megatron-LM: eval_global_batch_size (12) must be divisible by eval_micro_batch_size (1) * data_parallel_size (8) * gtp_weight_remat_size (1)
      = suggestion: Change eval_global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: 16, eval_global_batch_size: [-12-]{+8+}}
      = suggestion: Change eval_global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: 16, eval_global_batch_size: [-12-]{+16+}}
    the default batch of the training script: error at "4": eval_global_batch_size defaults to the global batch, 12, which is not a multiple of eval_micro_batch_size 4 x dp 12 = 48. Use 48.
      = Megatron-LM: eval_global_batch_size (12) must be divisible by eval_micro_batch_size (4) * data_parallel_size (12) * gtp_weight_remat_size (1)
      = suggestion: Insert eval_global_batch_size: 48: batch: {micro_batch_size: 1, eval_micro_batch_size: 4{+, eval_global_batch_size: 48+}}"
  `);
});
