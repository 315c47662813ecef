import { expect, test } from 'vitest';
import { modules, report } from '../testing';
import { colocatedBatch } from './colocated-batch';

const said = (text: string) => report(colocatedBatch, text);

test.each([
  [
    'a batch that the bridge splits',
    modules(4, 'images: {num_ranks: 4}', 'language: {num_ranks: 4, tp: 4}') +
      'batch: {micro_batch_size: 4, global_batch_size: 8}\n',
  ],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a batch that it cannot split', () => {
  expect(
    said(
      modules(4, 'images: {num_ranks: 4}', 'language: {num_ranks: 4, tp: 4}') +
        'batch: {micro_batch_size: 2, global_batch_size: 8}\n',
    ),
  ).toMatchInlineSnapshot(`
    "error[colocated-batch] at "2"
    micro_batch_size 2 cannot be split 4 ways between \`images\` (dp 4) and \`language\` (dp 1). Use micro_batch_size 4.
    = Megatron-LM: ColocatedBridgeCommunicator: batch dim size 2 is not divisible by fan_in scale=4.
    = at "language": \`language\` has dp 1
    = suggestion: Change micro_batch_size to 4
      - batch: {micro_batch_size: 2, global_batch_size: 8}
      + batch: {micro_batch_size: 4, global_batch_size: 8}"
  `);
});

test('the language model has more replicas', () => {
  expect(
    said(
      modules(4, 'images: {num_ranks: 4, tp: 4}', 'language: {num_ranks: 4}') +
        'batch: {micro_batch_size: 6, global_batch_size: 24}\n',
    ),
  ).toMatchInlineSnapshot(`
    "error[colocated-batch] at "6"
    micro_batch_size 6 cannot be split 4 ways between \`images\` (dp 1) and \`language\` (dp 4). Use micro_batch_size 4 or 8.
    = Megatron-LM: ColocatedBridgeCommunicator: batch dim size 6 is not divisible by fan_out scale=4.
    = at "language": \`language\` has dp 4"
  `);
});
