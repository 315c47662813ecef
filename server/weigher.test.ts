import { expect, test } from 'vitest';
import { CancellationTokenSource } from 'vscode-languageserver';
import { atOnce, check, type Tradeoffs, tradeoffSteps } from '../layout';
import { Weigher } from './weigher';

const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 4, pp: 2}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
`;

const weighed = (text: string): Tradeoffs => atOnce(tradeoffSteps(check(text), null));

test('slices give what one go gives, and other work runs between them', async () => {
  let between = 0;
  const timer = setInterval(() => between++);
  const sliced = await new Weigher().tradeoffs(check(LAYOUT), new CancellationTokenSource().token);
  clearInterval(timer);
  expect(sliced).toMatchObject(weighed(LAYOUT));
  expect(between).toBeGreaterThan(0);
});

test('what was worked out for a model and a machine holds for other degrees', async () => {
  const weigher = new Weigher();
  const { token } = new CancellationTokenSource();
  const first = await weigher.tradeoffs(check(LAYOUT), token);
  const other = LAYOUT.replace('tp: 4', 'tp: 2');
  const second = await weigher.tradeoffs(check(other), token);
  expect(second?.alternatives).toBe(first?.alternatives);
  expect(second).toMatchObject(weighed(other));
  // a client that has them gets them once
  const third = await weigher.tradeoffs(check(other), token, first?.key);
  expect(third).toEqual({ ...second, alternatives: null });
});

test('a cancelled request ends with nothing', async () => {
  const source = new CancellationTokenSource();
  const answer = new Weigher().tradeoffs(check(LAYOUT), source.token);
  source.cancel();
  expect(await answer).toBeNull();
});
