import { describe, expect, test } from 'vitest';
import { check } from '../check';
import { type Estimate, type EstimateResult, estimateOf } from './estimate';
import { costJobs, type JobOfLayout } from './fromLayout';
import { memoryOf } from './memory';
import { trainedParameters } from './states';

const LLAMA = `layout: 1
cluster: {nodes: 8, gpus_per_node: 8, gpu: H100-80GB}
parallelism: {tp: 8, pp: 4, vpp: 4}
model:
  num_layers: 80
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  vocab_size: 128256
  gated_linear_unit: true
  untie_embeddings_and_output_weights: true
  add_bias_linear: false
  position_embedding_type: rope
sequence: {seq_length: 8192, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 128}
optimizer: {use_distributed_optimizer: true}
`;

function resultOf(text: string): EstimateResult {
  const { facts, diagnostics } = check(text);
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  if (!facts) {
    throw new Error('the layout has no facts');
  }
  return estimateOf(facts);
}

function estimated(text: string): Estimate {
  const result = resultOf(text);
  if (!result.ok) {
    throw new Error(result.reason);
  }
  return result.estimate;
}

function jobOf(text: string): Extract<JobOfLayout, { readonly ok: true }> {
  const { facts } = check(text);
  const [job] = facts ? costJobs(facts) : [];
  if (!job?.ok) {
    throw new Error('the layout makes no job');
  }
  return job;
}

test('a file becomes a job: stages, shapes, batch and machine', () => {
  const { job, missing } = jobOf(LLAMA);
  expect(missing).toEqual([]);
  expect(job.degrees).toEqual({ tp: 8, cp: 1, pp: 4, dp: 2, ep: 1, exptTp: 8, exptDp: 2 });
  expect(job.stages.map((chunks) => chunks.map(({ blocks }) => blocks.length))).toEqual(
    Array.from({ length: 4 }, () => [10, 10, 10, 10]),
  );
  expect(job.stages.map((chunks) => chunks.map(({ embedding }) => embedding))[0]).toEqual([true, false, false, false]);
  expect(job.stages.map((chunks) => chunks.map(({ loss }) => loss))[3]).toEqual([false, false, false, true]);
  expect(job.model).toMatchObject({ kvChannels: 128, learnedPositions: 0, bias: false, moe: null, mla: null });
  expect(job.hardware).toMatchObject({ gpusPerNode: 8, gpusPerNvlinkDomain: 8, networkBytesPerSecond: 50e9 });
});

test('states of a 70B model on 64 GPUs: 12 bytes a parameter of a stage, and the workspace', () => {
  const [first] = estimated(LLAMA).perStage;
  const layer = (8192 * (8192 + 2 * 1024) + 8192 * 8192 + 3 * 8192 * 28672) / 8 + 2 * 8192;
  const padded = Math.ceil(128256 / 1024) * 1024;
  const parameters = 20 * layer + (padded / 8) * 8192;
  expect(first?.statesBytes).toBeCloseTo(parameters * (6 + 12 / 2) + 105 * 2 ** 20, -1);
});

test('what cannot be done without is named, and nothing is guessed in its place', () => {
  const result = resultOf('layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n');
  expect(result).toEqual({
    ok: false,
    reason:
      'the layout lacks model.hidden_size, model.num_attention_heads, model.num_layers, batch.micro_batch_size, sequence.seq_length',
    missing: [
      'model.hidden_size',
      'model.num_attention_heads',
      'model.num_layers',
      'batch.micro_batch_size',
      'sequence.seq_length',
    ],
  });
});

test('without the kind of GPU there is memory, but no time', () => {
  const { stepTimeS, perStage, missing, gpuMemoryBytes } = estimated(LLAMA.replace(', gpu: H100-80GB', ''));
  expect(stepTimeS).toBeNull();
  expect(gpuMemoryBytes).toBeNull();
  expect(missing).toEqual(['cluster.gpu']);
  expect(perStage).toHaveLength(4);
});

test('generalized tensor parallelism is not estimated, and the answer says so', () => {
  const text = LLAMA.replace('tp: 8, pp: 4, vpp: 4', 'tp: 8, gtp_remat: 2, pp: 4, vpp: 4');
  expect(resultOf(text)).toMatchObject({
    ok: false,
    reason: 'generalized tensor parallelism (gtp_remat) is not estimated',
  });
});

test('attention and dropout that the file names are not assumed', () => {
  const plain = estimated(LLAMA);
  expect(plain.assumed).toContain('flash or fused attention');
  expect(plain.assumed).toContain('no dropout, as gated models are trained');
  const named = LLAMA.replace(
    'model:\n',
    'model:\n  attention_backend: unfused\n  hidden_dropout: 0.1\n  normalization: RMSNorm\n',
  );
  const told = estimated(named);
  expect(told.assumed.filter((one) => /attention|dropout/.test(one))).toEqual([]);
  expect(told.perStage[0]?.activationsBytes).toBeGreaterThan(plain.perStage[0]?.activationsBytes ?? Number.NaN);
});

test('selective recomputation leaves out the parts that are named, and attention alone by default', () => {
  const recompute = (modules: string) => {
    const [stage] = estimated(`${LLAMA}recompute: {granularity: selective${modules}}\n`).perStage;
    return stage?.activationsBytes ?? Number.NaN;
  };
  const [plain] = estimated(LLAMA).perStage;
  expect(recompute('')).toBeLessThan(plain?.activationsBytes ?? Number.NaN);
  expect(recompute(', modules: [core_attn]')).toBe(recompute(''));
  expect(recompute(', modules: [core_attn, layernorm]')).toBeLessThan(recompute(''));
  expect(recompute(', modules: [core_attn, layernorm, mlp]')).toBeLessThan(
    recompute(', modules: [core_attn, layernorm]'),
  );
});

test('a gated model without a feed-forward width has 8/3 of the hidden size, in multiples of 64', () => {
  const { job } = jobOf(LLAMA.replace('  ffn_hidden_size: 28672\n', ''));
  expect(job.model.ffnHiddenSize).toBe(21824);
  const plain = jobOf(LLAMA.replace('  ffn_hidden_size: 28672\n', '').replace('  gated_linear_unit: true\n', ''));
  expect(plain.job.model.ffnHiddenSize).toBe(4 * 8192);
});

test('a hybrid pattern costs the same by its former key', () => {
  const hybrid = (key: string) =>
    estimated(
      LLAMA.replace('{tp: 8, pp: 4, vpp: 4}', '{tp: 8}').replace('num_layers: 80', `${key}: ${'M*M-'.repeat(10)}`),
    );
  const { perStage, stepTimeS } = hybrid('hybrid_override_pattern');
  expect(perStage).toEqual(hybrid('hybrid_layer_pattern').perStage);
  expect(stepTimeS?.median).toBeGreaterThan(0.1);
});

test('adapters train and the model stays as it is: 2 bytes a parameter, and a third less to compute', () => {
  const [full, lora] = [estimated(LLAMA), estimated(`${LLAMA}lora: {rank: 16}\n`)];
  const frozen = (70.6e9 / 32) * 2;
  expect(lora.perStage[1]?.statesBytes ?? 0).toBeGreaterThan(frozen * 0.9);
  expect(lora.perStage[1]?.statesBytes ?? 0).toBeLessThan(frozen * 1.1);
  expect((lora.stepTimeS?.median ?? 0) / (full.stepTimeS?.median ?? 0)).toBeLessThan(0.85);
  expect(lora.assumed.join()).toContain(
    'LoRA adapters of rank 16 beside every linear layer train, the model is frozen',
  );
});

test('products in 8 bits hold copies of the weights and smaller inputs', () => {
  const wide = estimated(LLAMA).perStage[1];
  const narrow = estimated(`${LLAMA}precision: {fp8_format: hybrid}\n`).perStage[1];
  const gathered = estimated(`${LLAMA}precision: {fp8_format: hybrid, fp8_param_gather: true}\n`).perStage[1];
  expect(narrow?.statesBytes).toBeGreaterThan(wide?.statesBytes ?? Number.NaN);
  expect(narrow?.activationsBytes).toBeLessThan(wide?.activationsBytes ?? Number.NaN);
  expect(gathered?.statesBytes).toBe(wide?.statesBytes);
});

test('a GPU whose network card no source states has a time in one node, and on several asks for its bandwidth', () => {
  const gpu = LLAMA.replace('gpu: H100-80GB', 'gpu: L20');
  expect(gpu).not.toBe(LLAMA);
  const { stepTimeS, missing, perStage } = estimated(gpu);
  expect(stepTimeS).toBeNull();
  expect(missing).toContain('cluster.network_bandwidth');
  expect(perStage[0]?.totalBytes).toBeGreaterThan(0);
  expect(estimated(gpu.replace('gpu: L20', 'gpu: L20, network_bandwidth: 20GB')).stepTimeS).not.toBeNull();
});

describe('an engine that shares the GPUs', () => {
  const phases = (share: number) => `phases: {rollout: {engine: vllm, tp: 4, memory_share: ${share}}}\n`;
  const total = (more: string) => Math.max(...estimated(LLAMA + more).perStage.map(({ totalBytes }) => totalBytes));
  const gpu = 80 * 2 ** 30;

  test('needs its share where that is more than the training, beside workspaces and communicators', () => {
    expect(total(phases(0.9))).toBeGreaterThan(0.9 * gpu);
    expect(total(phases(0.9))).toBeLessThan(gpu);
    expect(total(phases(0.1))).toBeLessThan(total(phases(0.9)));
    expect(total(`${phases(0.9)}rl: {colocated: false}\n`)).toBe(total(phases(0.1)));
  });

  test('takes log-probabilities of the tokens in fp32, which are held beside the logits', () => {
    expect(total(phases(0.1))).toBeGreaterThanOrEqual(total(''));
    const last = (more: string) => estimated(LLAMA + more).perStage.at(-1)?.activationsBytes ?? 0;
    expect(last(phases(0.1)) - last('')).toBeCloseTo((4 * 8192 * 129024) / 8, -4);
  });
});

test('what no formula is for is refused by name', () => {
  const reason = (text: string) => {
    const result = resultOf(text);
    return result.ok ? null : result.reason;
  };
  expect(reason(LLAMA.replace('model:\n', 'model:\n  experimental_attention_variant: dsa\n'))).toBe(
    'attention of the kind dsa (experimental_attention_variant) is not estimated',
  );
  expect(reason(LLAMA.replace('optimizer: {', 'optimizer: {optimizer: soap, '))).toBe(
    'the optimizer soap is not estimated',
  );
});

test('gradients in fp16 stay narrow, and the optimizer copies them in fp32 when the activations are gone', () => {
  const of = (type: string) => {
    const text = LLAMA.replace('vocab_size: 128256', `vocab_size: 128256\n  params_dtype: ${type}`);
    const { job } = jobOf(text.replace('use_distributed_optimizer: true', 'use_distributed_optimizer: false'));
    return { job, memory: memoryOf(job)[3] };
  };
  const [narrow, wide] = [of('fp16'), of('bf16')];
  expect([narrow.job.optimizer.gradBytes, wide.job.optimizer.gradBytes]).toEqual([2, 4]);
  const { dense } = trainedParameters(narrow.job, 3);
  expect((wide.memory?.statesBytes ?? 0) - (narrow.memory?.statesBytes ?? 0)).toBe(2 * dense);
  expect(narrow.memory?.activationsBytes).toBe(Math.max(wide.memory?.activationsBytes ?? 0, 4 * dense));
});
