import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { fanOut } from './fan-out';

test('fan-out', () => {
  const said = reports(fanOut, {
    'samples that come out even':
      modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}') +
      'batch: {micro_batch_size: 2, global_batch_size: 8}\n',
    'too few samples':
      modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}') +
      'batch: {micro_batch_size: 1, global_batch_size: 8}\n',
    'one replica of the language model':
      modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 4}') +
      'batch: {micro_batch_size: 3, global_batch_size: 12}\n',
    'generalized TP counts':
      modules(12, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 8, tp: 4, gtp_remat: 2}') +
      'batch: {micro_batch_size: 1, global_batch_size: 12}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "too few samples: error at "1": The 4 replicas of 'images' cannot share micro_batch_size 1 x dp 2 = 2 samples equally. Use micro_batch_size 2.
      = Megatron-LM: --micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got 1 * 2 * 1 % 4 != 0)
      = at "images": 'images' has dp 4
      = at "language": 'language' has dp 2
      = suggestion: Change micro_batch_size to 2: batch: {micro_batch_size: [-1-]{+2+}, global_batch_size: 8}
    one replica of the language model: error at "3": The 4 replicas of 'images' cannot share micro_batch_size 3 equally. Use micro_batch_size 4.
      = Megatron-LM: --micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got 3 * 1 * 1 % 4 != 0)
      = at "images": 'images' has dp 4
      = at "language": 'language' has dp 1
      = suggestion: Change micro_batch_size to 4: batch: {micro_batch_size: [-3-]{+4+}, global_batch_size: 12}
    generalized TP counts: error at "1": The 4 replicas of 'images' cannot share micro_batch_size 1 x gtp_remat 2 = 2 samples equally. Use micro_batch_size 2.
      = Megatron-LM: --micro-batch-size * --llm-dp * GTP must be divisible by --encoder-dp (got 1 * 1 * 2 % 4 != 0)
      = at "images": 'images' has dp 4
      = at "language": 'language' has dp 1
      = suggestion: Change micro_batch_size to 2: batch: {micro_batch_size: [-1-]{+2+}, global_batch_size: 12}"
  `);
});
