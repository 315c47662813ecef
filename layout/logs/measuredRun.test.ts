import { expect, test } from 'vitest';
import { computingTime } from '../../test/harness/computing';
import { logLine } from './logLine';
import { measuredRun } from './measuredRun';

const GIB = 2 ** 30;

test.each([
  ['[rank3]:[E1121 x.cpp:689] text', { rank: 3, text: '[E1121 x.cpp:689] text' }],
  ['[default3]:[rank11]:[E x.cpp:1] text', { rank: 11, localRank: 3, text: '[E x.cpp:1] text' }],
  ['[default0]:loss', { rank: null, localRank: 0, text: 'loss' }],
  ['03: Traceback', { task: 3, text: 'Traceback' }],
  ['1: [default2]: step', { task: 1, localRank: 2, text: 'step' }],
  ['[1,12]<stderr>:text', { task: 12, text: 'text' }],
  ['worker-0: [rank7]: text', { host: 'worker-0', rank: 7, text: 'text' }],
  ['[pod/train-worker-2/pytorch] [rank5]: text', { host: 'train-worker-2', rank: 5, text: 'text' }],
  [
    '\u001b[36m(WorkerDict pid=123, ip=10.0.0.3)\u001b[0m [rank2]: text',
    { pid: 123, host: '10.0.0.3', rank: 2, text: 'text' },
  ],
  ['(pid=77) text', { pid: 77, text: 'text' }],
  [
    'torch.distributed.DistBackendError: [3] is setting up',
    { rank: null, text: expect.stringContaining('Error: [3]') },
  ],
  ['ValueError: 3: text', { task: null, text: 'ValueError: 3: text' }],
])('the prefixes of %s', (line, expected) => {
  expect(logLine(line)).toMatchObject(expected);
});

test('a line of prefixes alone is read in time', () => {
  const started = computingTime();
  for (const repeated of ['[rank1]:', '1: ', 'a', '(', '[pod/', ' ', '\u001b[', 'x.', '2026-11-21T']) {
    logLine(repeated.repeat(100_000));
    measuredRun([repeated.repeat(100_000)]);
  }
  expect(computingTime() - started).toBeLessThan(2000);
});

const iteration = (step: number, milliseconds: number, more = '') =>
  ` [2026-08-22 10:00:0${step}.123456] iteration ${String(step).padStart(8)}/     100 | consumed samples: ${String(step * 16).padStart(12)} | elapsed time per iteration (ms): ${milliseconds.toFixed(1)} |${more} learning rate: 1.500000E-06 | global batch size:    16 | lm loss: 1.192634E+01 | loss scale: 1.0 | grad norm: 5.960 | number of skipped iterations:   0 | number of nan iterations:   0 |`;

test('Megatron-LM: the first iteration is left out, and the printed arguments give tokens', () => {
  const run = measuredRun([
    '------------------------ arguments ------------------------',
    '  seq_length ...................................... 4096',
    '  world_size ...................................... 8',
    '-------------------- end of arguments ---------------------',
    iteration(1, 9000, ' throughput per GPU (TFLOP/s/GPU): 40.4 |'),
    '[Rank 0] (after 1 iterations) memory (MB) | allocated: 900.00 | max allocated: 1000.00 | reserved: 1100.00 | max reserved: 1200.00',
    '[Rank 4] (after 2 iterations) memory (MB) | allocated: 900.00 | max allocated: 500.00 | reserved: 1100.00 | max reserved: 600.00[Rank 0] (after 2 iterations) memory (MB) | allocated: 950.00 | max allocated: 1010.00 | reserved: 1100.00 | max reserved: 1150.00',
    iteration(2, 2000, ' throughput per GPU (TFLOP/s/GPU): 400.0 |'),
    iteration(3, 2100, ' throughput per GPU (TFLOP/s/GPU): 380.0 |'),
    iteration(4, 5000, ' throughput per GPU (TFLOP/s/GPU): 160.0 |'),
  ]);
  expect(run).toEqual({
    framework: 'megatron-lm',
    steps: 4,
    first_step: 1,
    last_step: 4,
    step_time_s: 2.1,
    tokens_per_s: (16 * 4096) / 2.1,
    tokens_per_s_per_gpu: (16 * 4096) / 2.1 / 8,
    tflops_per_gpu: 380,
    global_batch_size: 16,
    sequence_length: 4096,
    memory_bytes_peak: [
      { rank: 0, allocated: 1010 * 2 ** 20, reserved: 1200 * 2 ** 20 },
      { rank: 4, allocated: 500 * 2 ** 20, reserved: 600 * 2 ** 20 },
    ],
    parts: [],
    straggler_reports: 0,
    stragglers: [],
  });
});

test('Megatron-LM behind the prefixes of launchers, with the running mean that Primus adds', () => {
  const line = iteration(2, 2000).replace('2000.0 |', '2000.0/2010.5 |');
  for (const prefix of ['', '[default7]:', '7: ', '\u001b[36m(MegatronTrainRayActor pid=9, ip=10.0.0.1)\u001b[0m']) {
    expect(measuredRun([`${prefix}${line}`])).toMatchObject({ steps: 1, first_step: 2, step_time_s: 2 });
  }
});

test('the timers of Megatron-LM: a pair, one number, and every rank', () => {
  const pairs = measuredRun([
    '(min, max) time across ranks (ms):',
    '    forward-backward ...............................: (1200.50, 1400.50)',
    '    optimizer ......................................: (100.00, 120.00)',
    '(min, max) time across ranks (ms):',
    '    forward-backward ...............................: (1300.50, 1500.50)',
  ]);
  expect(pairs?.parts).toEqual([
    { name: 'forward-backward', min_s: 1.2505, max_s: 1.4505, by_rank: {} },
    { name: 'optimizer', min_s: 0.1, max_s: 0.12, by_rank: {} },
  ]);
  expect(
    measuredRun(['max time across ranks (ms):', '    all-grads-sync .................: 30.00'])?.parts,
  ).toMatchObject([{ name: 'all-grads-sync', max_s: 0.03 }]);
  const all = measuredRun([
    '[rank3]:times across ranks (ms):',
    '[rank3]:  forward-compute:',
    '[rank3]:     rank  0: 700.00',
    '[rank3]:     rank  1: 900.00',
    '[rank3]:  optimizer:',
    '[rank3]:     rank  0: 100.00',
  ]);
  expect(all?.parts).toEqual([
    { name: 'forward-compute', min_s: 0.7, max_s: 0.9, by_rank: { 0: 0.7, 1: 0.9 } },
    { name: 'optimizer', min_s: 0.1, max_s: 0.1, by_rank: { 0: 0.1 } },
  ]);
});

test('the straggler lines of Megatron-LM name the slowest rank', () => {
  const report = (slow: number, tflops: number) =>
    `INFO:megatron.core.utils:[2026-08-22 10:00:00] | MnRtt/Rnk: 1000.50ms/1 | MxRtt/Rnk: 1300.50ms/${slow} | MnPwr/Rnk: 300.00W/2 | MnEtpt/Rnk: ${tflops.toFixed(2)}TF/${slow} | MxEtpt/Rnk: 400.00TF/1`;
  const run = measuredRun([report(5, 300), report(5, 320), report(2, 390)]);
  expect(run).toMatchObject({
    straggler_reports: 3,
    stragglers: [
      { rank: 5, reports: 2, tflops: 310, fastest_tflops: 400 },
      { rank: 2, reports: 1, tflops: 390 },
    ],
  });
});

test('Megatron Bridge prints its rate on a line of its own, and its memory in GB', () => {
  const run = measuredRun([
    'Step Time : 9.00s GPU utilization: 100.0MODEL_TFLOP/s/GPU',
    iteration(1, 9000),
    '[Rank 0] (after 1 iterations) memory (GB) | mem-allocated-gigabytes: 10.0 | mem-max-allocated-gigabytes: 61.5 | mem-max-reserved-gigabytes: 70.25 | mem-alloc-retires: 0',
    'Step Time : 3.00s GPU utilization: 510.2MODEL_TFLOP/s/GPU',
    iteration(2, 3000),
  ]);
  expect(run).toMatchObject({
    framework: 'megatron-bridge',
    steps: 2,
    step_time_s: 3,
    tflops_per_gpu: 510.2,
    memory_bytes_peak: [{ rank: 0, allocated: 61.5e9, reserved: 70.25e9 }],
  });
  expect(measuredRun(['Step Time : 3.00s GPU utilization: 510.2MODEL_TFLOP/s/GPU'])).toMatchObject({ step_time_s: 3 });
});

test('torchtitan: the time of a step is that between two lines of one rank', () => {
  const titan = (rank: number, step: number, second: number) =>
    `[rank${rank}]:[titan] 2026-08-22 10:00:${second},500 - root - INFO - \u001b[31mstep: ${step}  \u001b[32mloss:  7.96121  \u001b[38;2;180;60;0mgrad_norm:  1.2345  \u001b[38;2;54;234;195mmemory: 40.50GiB(51.20%)  \u001b[34mtps: 5,120  \u001b[36mtflops: 1,310.25  \u001b[35mmfu: 31.37%\u001b[39m`;
  const run = measuredRun([titan(0, 1, 10), titan(1, 1, 10), titan(0, 11, 20), titan(1, 11, 20), titan(0, 21, 30)]);
  expect(run).toMatchObject({
    framework: 'torchtitan',
    steps: 3,
    step_time_s: 1,
    tokens_per_s: null,
    tokens_per_s_per_gpu: 5120,
    tflops_per_gpu: 1310.25,
    memory_bytes_peak: [
      { rank: 0, allocated: null, reserved: 40.5 * GIB },
      { rank: 1, reserved: 40.5 * GIB },
    ],
  });
});

test('nanotron writes three digits and a unit', () => {
  const run = measuredRun([
    '08/22 10:00:00 [INFO|DP=0|PP=0|TP=0|node1]: iteration: 1 / 100 | consumed_tokens: 1.05M | time_per_iteration_ms: 9.1K | tokens_per_sec: 115K | tokens_per_sec_per_gpu: 14.4K | global_batch_size: 1.05M | lm_loss: 11.2 | lr: 0.0003 | model_tflops_per_gpu: 60.5 | eta: 0:10:00',
    '08/22 10:00:03 [INFO|DP=0|PP=0|TP=0|node1]: iteration: 2 / 100 | consumed_tokens: 2.1M | time_per_iteration_ms: 3.25K | tokens_per_sec: 323K | tokens_per_sec_per_gpu: 40.3K | global_batch_size: 1.05M | lm_loss: 10.9 | lr: 0.0003 | model_tflops_per_gpu: 169 | eta: 0:05:00',
    ' Memory usage: 100.00MiB. Peak allocated 200.00MiB. Peak reserved: 300.00MiB',
  ]);
  expect(run).toMatchObject({
    framework: 'nanotron',
    step_time_s: 3.25,
    tokens_per_s: 323_000,
    tokens_per_s_per_gpu: 40_300,
    tflops_per_gpu: 169,
    global_batch_size: null,
    memory_bytes_peak: [{ rank: 0, allocated: 200 * 2 ** 20, reserved: 300 * 2 ** 20 }],
  });
});

test('verl: a step with its phases; validation before the first step has no time', () => {
  const run = measuredRun([
    '(TaskRunner pid=4242) step:0 - val-core/reward/mean@1:0.1',
    '(TaskRunner pid=4242) step:1 - actor/loss:0.02 - perf/max_memory_allocated_gb:40.5 - perf/max_memory_reserved_gb:44.25 - timing_s/gen:20.5 - timing_s/update_actor:10.25 - timing_s/step:40.0 - perf/total_num_tokens:80000 - perf/time_per_step:40.0 - perf/throughput:np.float64(250.0)',
  ]);
  expect(run).toMatchObject({
    framework: 'verl',
    steps: 1,
    step_time_s: 40,
    tokens_per_s: 2000,
    tokens_per_s_per_gpu: 250,
    tflops_per_gpu: null,
    memory_bytes_peak: [{ rank: null, allocated: 40.5 * GIB, reserved: 44.25 * GIB }],
    parts: [
      { name: 'gen', max_s: 20.5 },
      { name: 'update_actor', max_s: 10.25 },
    ],
  });
});

test('NeMo-RL: the block of a step', () => {
  const block = (step: number, time: number) => [
    `${'='.repeat(25)} Step ${step}/100 ${'='.repeat(25)}`,
    '📊 Training Results:',
    '  • Loss: 0.0123',
    '⏱️  Timing:',
    `  • Total step time: ${time.toFixed(2)}s`,
    '  • generation: 20.00s (50.0%)',
    '  • policy_training: 10.00s (25.0%)',
    '  • Throughputs (per GPU):',
    '    - E2E (Samples/sec/gpu): 1.20',
    '    - E2E (Tokens/sec/gpu): 812.40',
    '  • Throughputs (per Group):',
    '    - E2E (Tokens/sec): 6499.20',
    '  • Training FLOPS: 1600.00 TFLOPS (200.00 TFLOPS per rank)',
  ];
  expect(measuredRun([...block(1, 90), ...block(2, 40)])).toMatchObject({
    framework: 'nemo-rl',
    steps: 2,
    first_step: 1,
    last_step: 2,
    step_time_s: 40,
    tokens_per_s: 6499.2,
    tokens_per_s_per_gpu: 812.4,
    tflops_per_gpu: 200,
    parts: [{ name: 'generation' }, { name: 'policy_training' }],
  });
});

test('a log without such lines is no measured run', () => {
  expect(
    measuredRun(['step: 1', 'memory: 12', '', 'iteration', '[Rank 0] memory (MB)', 'x'.repeat(10_000)]),
  ).toBeNull();
});
