import { expect, test } from 'vitest';
import { check, checkpointVerdicts } from '../layout';
import { waysOut } from './checkpoint';

test('a way out that serves several parts of a checkpoint is told once', () => {
  const [before, after] = [4, 2].map(
    (tp) =>
      check(`layout: 1
world_size: 8
parallelism: {tp: ${tp}}
model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16}
optimizer: {use_distributed_optimizer: true}
batch: {micro_batch_size: 1, global_batch_size: 8}
`).facts,
  );
  const [verdict] = before && after ? checkpointVerdicts(before, after, 'torch') : [];
  expect(waysOut(verdict?.parts ?? []).map(({ serves, command }) => `${serves}: ${command}`)).toEqual([
    expect.stringMatching(/^model: python tools\/checkpoint\/convert\.py /),
    'model, optimizer: --ckpt-convert-format torch_dist --ckpt-convert-save SAVE --dist-ckpt-optim-fully-reshardable',
    'optimizer: --no-load-optim',
    'RNG state: --no-load-rng',
  ]);
});
