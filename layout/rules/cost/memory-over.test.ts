import { expect, test } from 'vitest';
import { reports } from '../testing';
import { memoryOver } from './memory-over';

const MODEL = `parallelism: {tp: 2}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}
sequence: {seq_length: 4096, sequence_parallel: true}
`;
const file = (gpu: string, batch: string, more = '') =>
  `layout: 1\ncluster: {nodes: 1, gpus_per_node: 8${gpu}}\n${MODEL}batch: {${batch}}\n${more}`;
const SMALL = 'micro_batch_size: 1, global_batch_size: 64';

test('memory-over', () => {
  const said = reports(memoryOver, {
    'no GPU is named': file('', SMALL),
    'it fits': file(', gpu: B200', SMALL),
    'it fits with sharded states': file(', gpu: H100', SMALL, 'optimizer: {use_distributed_optimizer: true}\n'),
    'layers beyond number': file(', gpu: H100', SMALL).replace('num_layers: 32', 'num_layers: 1000000000'),
    'states and activations do not fit': file(', gpu: H100', 'micro_batch_size: 2, global_batch_size: 64'),
    'memory that the file gives': file(
      ', gpu: A100, gpu_memory: 40GB',
      SMALL,
      'optimizer: {overlap_grad_reduce: true}\n',
    ),
    'the fullest stage of a pipeline': file(', gpu: A100', 'micro_batch_size: 8, global_batch_size: 64').replace(
      '{tp: 2}',
      '{pp: 4}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "states and activations do not fit: warning at "2": Each GPU needs about 80 GiB (77 to 100) and has 80: 59 of states, 20 of activations, 1.7 of communicators. Use more tp or pp, a smaller micro-batch, the distributed optimizer or recomputation.
      = at "H100": a GPU has 80 GiB
      = suggestion: Use the distributed optimizer: batch: {micro_batch_size: 2, global_batch_size: 64}{+⏎optimizer: {use_distributed_optimizer: true}+}
      = suggestion: Recompute all layers: batch: {micro_batch_size: 2, global_batch_size: 64}{+⏎recompute: {granularity: full, method: uniform, num_layers: 1}+}
    memory that the file gives: warning at "2": Each GPU needs about 70 GiB (67 to 88) and has 37: 59 of states, 10 of activations, 1.7 of communicators. Use more tp or pp, a smaller micro-batch, the distributed optimizer or recomputation.
      = at "40GB": a GPU has 37 GiB
    the fullest stage of a pipeline: warning at "parallelism": Pipeline stage 0 needs about 175 GiB (166 to 218) and has 80: 36 of states, 137 of activations, 2.2 of communicators. Use more tp or pp, a smaller micro-batch, the distributed optimizer or recomputation.
      = at "A100": a GPU has 80 GiB
      = suggestion: Recompute all layers: batch: {micro_batch_size: 8, global_batch_size: 64}{+⏎recompute: {granularity: full, method: uniform, num_layers: 1}+}"
  `);
});
