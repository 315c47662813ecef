import { expect, test } from 'vitest';
import { reports } from '../testing';
import { torchtitanBatch } from './torchtitan-batch';

test('torchtitan-batch', () => {
  const titan = (parallelism: string, batch: string) =>
    ['layout: 1', 'world_size: 8', 'launch: {family: torchtitan}', parallelism, `batch: {${batch}}`, ''].join('\n');
  const said = reports(torchtitanBatch, {
    'whole steps': titan('parallelism: {tp: 2}', 'micro_batch_size: 2, global_batch_size: 16'),
    'a part of a step': titan('parallelism: {tp: 1}', 'micro_batch_size: 3, global_batch_size: 32'),
    'context parallelism shares samples': titan('parallelism: {cp: 4}', 'micro_batch_size: 3, global_batch_size: 6'),
    'in tokens': `${titan('parallelism: {tp: 1}', 'micro_batch_size: 1, global_batch_size: 12')}sequence: {seq_length: 4096}\n`,
  });
  expect(said).toMatchInlineSnapshot(`
    "a part of a step: error at "32": global_batch_size 32 is not a multiple of micro_batch_size 3 x dp 8 = 24. Use global_batch_size 24 or 48.
      = at "3": micro_batch_size is 3 here
      = suggestion: Change global_batch_size to 24: batch: {micro_batch_size: 3, global_batch_size: [-32-]{+24+}}
      = suggestion: Change global_batch_size to 48: batch: {micro_batch_size: 3, global_batch_size: [-32-]{+48+}}
    in tokens: error at "12": global_batch_size 12 is not a multiple of micro_batch_size 1 x dp 8 = 8. Use global_batch_size 8 or 16.
      = torchtitan: training.num_tokens_per_train_step (49152) must be divisible by the number of tokens processed globally in one gradient accumulation iteration (32768).
      = at "1": micro_batch_size is 1 here
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+8+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+16+}}"
  `);
});
