import { expect, test } from 'vitest';
import { check } from '../check';
import { measuredRun } from '../logs';
import { calibratedBy, type MeasuredGroup, measuredLinks, withMeasuredLinks } from './measured';
import { estimateOfChecked } from './neighbours';
import { planLayouts } from './plan';

const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 4}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

const line = (step: number, ms: number) =>
  ` [2026-11-22 10:00:0${step}] iteration ${step}/ 100 | consumed samples: ${64 * step} | elapsed time per iteration (ms): ${ms} | learning rate: 1.0E-04 | global batch size: 64 | lm loss: 1.0E+01 |`;

const group = (ranks: readonly number[], bytes: number, gigabytes: number): MeasuredGroup => ({
  ranks,
  bytes,
  busBytesPerSecond: gigabytes * 1e9,
});

test('a log says by how much a run was slower than its estimate, and plans take it over', () => {
  const run = measuredRun([line(1, 60_000), line(2, 3000), line(3, 3000)]);
  const estimate = estimateOfChecked(check(LAYOUT));
  if (!run || !estimate?.stepTimeS) {
    throw new Error('there is nothing to compare');
  }
  const { time, memory, measuredSeconds } = calibratedBy(run, estimate);
  expect(measuredSeconds).toBe(3);
  expect(time).toBeCloseTo(3 / estimate.stepTimeS.median, 9);
  expect(memory).toBeNull();
  const plan = planLayouts(LAYOUT, { wanted: 1, timeFactor: time ?? 1 });
  expect(plan.ok && plan.present?.seconds).toBeCloseTo(3, 9);
});

test('links are as fast as the groups of a smoke job reached at their largest payload', () => {
  const groups = [
    group([0, 1, 2, 3], 2 ** 26, 300),
    group([4, 5, 6, 7], 2 ** 26, 310),
    group([8, 9, 10, 11], 2 ** 26, 305),
    group([0, 1, 2, 3], 2 ** 20, 20),
    // two members in each of two nodes share two cards
    group([0, 4, 8, 12], 2 ** 26, 90),
  ];
  expect(measuredLinks(groups, 8)).toEqual({ nvlink: 305e9, network: 45e9 });
  expect(measuredLinks([], 8)).toEqual({ nvlink: null, network: null });
  const text = withMeasuredLinks(LAYOUT, groups);
  expect(text).toContain('gpu: H100, nvlink_bandwidth: 305.0GB, network_bandwidth: 45.00GB}');
  expect(check(text ?? '').diagnostics).toEqual(check(LAYOUT).diagnostics);
});
