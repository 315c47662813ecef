import { expect, test } from 'vitest';
import { reports } from '../testing';
import { deepspeedBatch } from './deepspeed-batch';

test('deepspeed-batch', () => {
  const plain = (batch: string, ...more: readonly string[]) =>
    ['layout: 1', 'world_size: 4', 'launch: {family: deepspeed}', `batch: {${batch}}`, ...more, ''].join('\n');
  const said = reports(deepspeedBatch, {
    'the product': plain('micro_batch_size: 2, gradient_accumulation_steps: 2, global_batch_size: 16'),
    'another product': plain('micro_batch_size: 2, gradient_accumulation_steps: 1, global_batch_size: 16'),
    'steps that follow': plain('micro_batch_size: 2, global_batch_size: 16'),
    'steps that do not come out': plain('micro_batch_size: 3, global_batch_size: 16'),
    'less than one micro-batch a rank': plain('micro_batch_size: 8, global_batch_size: 16'),
    'Ulysses shares samples': plain(
      'micro_batch_size: 2, gradient_accumulation_steps: 2, global_batch_size: 16',
      'parallelism: {ulysses: 2}',
    ),
    'Megatron-DeepSpeed': [
      'layout: 1',
      'world_size: 16',
      'launch: {family: megatron-lm, engine: deepspeed}',
      'parallelism: {tp: 2, pp: 2}',
      'batch: {micro_batch_size: 4, gradient_accumulation_steps: 8, global_batch_size: 64}',
      '',
    ].join('\n'),
  });
  expect(said).toMatchInlineSnapshot(`
    "another product: error at "16": micro_batch_size 2 x gradient_accumulation_steps 1 x dp 4 = 8, but global_batch_size is 16. Use global_batch_size 8.
      = DeepSpeed: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 2 * 1 * 4
      = at "2": micro_batch_size is 2 here
      = at "1": gradient_accumulation_steps is 1 here
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 2, gradient_accumulation_steps: 1, global_batch_size: [-16-]{+8+}}
    steps that do not come out: error at "16": global_batch_size 16 is not a multiple of micro_batch_size 3 x dp 4 = 12. Use global_batch_size 12 or 24.
      = DeepSpeed: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 3 * 1 * 4
      = at "3": micro_batch_size is 3 here
      = suggestion: Change global_batch_size to 12: batch: {micro_batch_size: 3, global_batch_size: [-16-]{+12+}}
      = suggestion: Change global_batch_size to 24: batch: {micro_batch_size: 3, global_batch_size: [-16-]{+24+}}
    less than one micro-batch a rank: error at "16": global_batch_size 16 is not a multiple of micro_batch_size 8 x dp 4 = 32. Use global_batch_size 32.
      = DeepSpeed: Gradient accumulation steps: 0 has to be greater than 0
      = at "8": micro_batch_size is 8 here
      = suggestion: Change global_batch_size to 32: batch: {micro_batch_size: 8, global_batch_size: [-16-]{+32+}}
    Ulysses shares samples: error at "16": micro_batch_size 2 x gradient_accumulation_steps 2 x dp 2 = 8, but global_batch_size is 16. Use global_batch_size 8.
      = DeepSpeed: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 2 * 2 * 2
      = at "2": micro_batch_size is 2 here
      = at "2": gradient_accumulation_steps is 2 here
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 2, gradient_accumulation_steps: 2, global_batch_size: [-16-]{+8+}}
    Megatron-DeepSpeed: error at "64": micro_batch_size 4 x gradient_accumulation_steps 8 x dp 4 = 128, but global_batch_size is 64. Use global_batch_size 128.
      = Megatron-DeepSpeed: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 64 != 4 * 8 * 4
      = at "4": micro_batch_size is 4 here
      = at "8": gradient_accumulation_steps is 8 here
      = suggestion: Change global_batch_size to 128: batch: {micro_batch_size: 4, gradient_accumulation_steps: 8, global_batch_size: [-64-]{+128+}}"
  `);
});
