import { expect, test } from 'vitest';
import { check } from '../check';
import { alternativesTo } from './alternatives';

const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 8}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

function tpOf(text: string) {
  const start = text.indexOf('tp: ') + 4;
  return alternativesTo(check(text), Number(text[start]), { start, end: start + 1 });
}

test('half the tensor parallelism needs more memory and sends less over NVLink; twice is refused', () => {
  const found = tpOf(LAYOUT.replace('num_attention_heads: 32', 'num_attention_heads: 8'));
  expect(found.map(({ value }) => value)).toEqual([4]);
  const [four] = found;
  expect(four?.morePeakBytes).toBeGreaterThan(5e9);
  expect(four?.nvlinkShare).toBeLessThan(1);
  expect(four?.networkShare).toBeGreaterThan(1);
  expect(four?.timeShare).toBeGreaterThan(0);
});

test('a layout that cannot be estimated has no alternatives', () => {
  expect(tpOf(LAYOUT.replace('hidden_size: 4096, ', ''))).toEqual([]);
  expect(tpOf(LAYOUT.replace('tp: 8', 'tp: 3'))).toEqual([]);
});
