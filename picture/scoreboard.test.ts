import { expect, test } from 'vitest';
import { check } from '../layout';
import { moduleScores, type Score } from '../layout/cost';
import { boardsOf, figuresOf } from './scoreboard';

const NOW: Score = {
  totalBytes: 40 * 2 ** 30,
  totalInterval: [37 * 2 ** 30, 49 * 2 ** 30],
  gpuBytes: 80 * 2 ** 30,
  seconds: 4.5,
  secondsInterval: [4, 5.2],
  nvlinkBytes: 2.58e11,
  networkBytes: 1.3e10,
  bubble: 0.018,
  tokensPerSecondPerGpu: 7280,
  mfu: 0.41,
};

const BASE: Score = {
  ...NOW,
  totalBytes: 31 * 2 ** 30,
  seconds: 5.5,
  networkBytes: 1.1e10,
  tokensPerSecondPerGpu: 5960,
  mfu: 0.34,
};

const words = (now: Score, base: Score | null) =>
  figuresOf(now, base).map(({ label, value, change, verdict }) =>
    [label, value, change, verdict].filter((one) => one !== null).join(' | '),
  );

test('each number stands beside its difference, with what that means', () => {
  expect(words(NOW, BASE)).toEqual([
    'step | 4.5 s | −18 % | better',
    'memory | 40 of 80 GiB | +9.0 GiB | worse',
    'network | 13 GB a step | +2.0 GB | worse',
    'tokens/s/GPU | 7,280 | +22 % | better',
    'MFU | 41 % | +7.0 points | better',
    'bubble | 1.8 % | = | same',
  ]);
});

test('without a base there is no difference, and ranges stand beside what has one', () => {
  expect(words(NOW, null)[0]).toBe('step | 4.5 s');
  expect(figuresOf(NOW, null).map(({ range }) => range)).toEqual(['4.0 – 5.2 s', '37 – 49', null, null, null, null]);
});

test('step times within the error of the estimate are the same', () => {
  expect(words({ ...NOW, seconds: 5.2 }, BASE)[0]).toBe('step | 5.2 s | −5 % | same');
});

test('a layout that does not fit, or may not, says so', () => {
  const alarm = (now: Score) => figuresOf(now, null)[1]?.alarm;
  expect(alarm({ ...NOW, gpuBytes: 39 * 2 ** 30 })).toBe('over');
  expect(alarm({ ...NOW, gpuBytes: 45 * 2 ** 30 })).toBe('maybe');
  expect(alarm(NOW)).toBeNull();
});

test('modules are held against those of the same name', () => {
  const text = (tp: number) => `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
modules:
  language: {num_ranks: 16, tp: ${tp}, model: {num_layers: 8, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}, sequence: {seq_length: 4096}}
batch: {micro_batch_size: 1, global_batch_size: 16}
`;
  const [now, base] = [4, 8].map((tp) => moduleScores(check(text(tp))));
  const [board] = boardsOf(now ?? [], base ?? []);
  expect(board?.module).toBe('language');
  expect(board?.figures[1]?.change).toMatch(/^\+\d/);
  expect(boardsOf(now ?? [], null)[0]?.figures[1]?.change).toBeNull();
});
