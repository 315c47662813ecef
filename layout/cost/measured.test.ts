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

test('links have the bandwidth and the latency by which groups of a smoke job took their time at every payload', () => {
  const latency = 40e-6;
  const took = (ranks: number[], bytes: number, bandwidth: number): MeasuredGroup => {
    const sent = (2 * bytes * (ranks.length - 1)) / ranks.length;
    const seconds = (latency * (1 + Math.log2(ranks.length))) / 2 + sent / (bandwidth * 1e9);
    return { ranks, bytes, busBytesPerSecond: sent / seconds };
  };
  const sizes = [2 ** 20, 2 ** 24, 2 ** 26];
  const near = sizes.flatMap((bytes) => [took([0, 1], bytes, 300), took([0, 1, 2, 3], bytes, 300)]);
  const far = sizes.map((bytes) => took([0, 8], bytes, 45));
  const { nvlink, network } = measuredLinks([...near, ...far], 8);
  expect(nvlink?.bytesPerSecond).toBeCloseTo(300e9, -3);
  expect(nvlink?.latencySeconds).toBeCloseTo(latency, 9);
  expect(network?.bytesPerSecond).toBeCloseTo(45e9, -3);
  const text = withMeasuredLinks(LAYOUT, [...near, ...far]);
  expect(text).toContain(
    'nvlink_bandwidth: 300.0GB, nvlink_latency: 40.0us, network_bandwidth: 45.00GB, network_latency: 40.0us}',
  );
  expect(check(text ?? '').diagnostics).toEqual(check(LAYOUT).diagnostics);
});

test('a measured latency makes a step of many small collectives longer', () => {
  const slow = LAYOUT.replace('gpu: H100', 'gpu: H100, network_latency: 5ms');
  const seconds = (text: string) => estimateOfChecked(check(text))?.stepTimeS?.median ?? 0;
  expect(seconds(slow)).toBeGreaterThan(seconds(LAYOUT));
});

test('links are as fast as the groups of a smoke job reached at their largest payload where one was measured', () => {
  const groups = [
    group([0, 1, 2, 3], 2 ** 26, 300),
    group([4, 5, 6, 7], 2 ** 26, 310),
    group([8, 9, 10, 11], 2 ** 26, 305),
    // two members in each of two nodes share two cards
    group([0, 4, 8, 12], 2 ** 26, 90),
  ];
  const { nvlink, network } = measuredLinks(groups, 8);
  expect(nvlink?.bytesPerSecond).toBeCloseTo(305e9, -3);
  expect(network?.bytesPerSecond).toBeCloseTo(45e9, -3);
  expect(nvlink?.latencySeconds).toBeNull();
  expect(measuredLinks([], 8)).toEqual({ nvlink: null, network: null });
  const text = withMeasuredLinks(LAYOUT, groups);
  expect(text).toContain('gpu: H100, nvlink_bandwidth: 305.0GB, network_bandwidth: 45.00GB}');
  expect(check(text ?? '').diagnostics).toEqual(check(LAYOUT).diagnostics);
});
