import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { colocatedBatch } from './colocated-batch';

test('colocated-batch', () => {
  const said = reports(colocatedBatch, {
    'a batch that the bridge splits':
      modules(4, 'images: {num_ranks: 4}', 'language: {num_ranks: 4, tp: 4}') +
      'batch: {micro_batch_size: 4, global_batch_size: 8}\n',
    'a batch that it cannot split':
      modules(4, 'images: {num_ranks: 4}', 'language: {num_ranks: 4, tp: 4}') +
      'batch: {micro_batch_size: 2, global_batch_size: 8}\n',
    'the language model has more replicas':
      modules(4, 'images: {num_ranks: 4, tp: 4}', 'language: {num_ranks: 4}') +
      'batch: {micro_batch_size: 6, global_batch_size: 24}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a batch that it cannot split: error at "2": micro_batch_size 2 cannot be split 4 ways between 'images' (dp 4) and 'language' (dp 1). Use micro_batch_size 4.
      = Megatron-LM: ColocatedBridgeCommunicator: batch dim size 2 is not divisible by fan_in scale=4.
      = at "language": 'language' has dp 1
      = suggestion: Change micro_batch_size to 4: batch: {micro_batch_size: [-2-]{+4+}, global_batch_size: 8}
    the language model has more replicas: error at "6": micro_batch_size 6 cannot be split 4 ways between 'images' (dp 1) and 'language' (dp 4). Use micro_batch_size 4 or 8.
      = Megatron-LM: ColocatedBridgeCommunicator: batch dim size 6 is not divisible by fan_out scale=4.
      = at "language": 'language' has dp 4"
  `);
});
