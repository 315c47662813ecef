import { describe, expect, test } from 'vitest';
import { check } from '../check';

const HEAD = 'layout: 1\nworld_size: 8\n';

function read(text: string) {
  const { read: layout, diagnostics } = check(HEAD + text);
  const shape = ['wrong-type', 'not-an-option', 'unknown-key', 'missing-key'];
  return {
    root: layout.root,
    messages: diagnostics.filter(({ code }) => shape.includes(code)).map(({ message }) => message),
  };
}

describe('keys of several forms', () => {
  test('a pipeline layout as a string', () => {
    const { root, messages } = read('parallelism:\n  pp: 2\n  pipeline_model_parallel_layout: Ett|ttL\n');
    expect(messages).toEqual([]);
    expect(root?.parallelism.value?.pipeline_model_parallel_layout.value).toBe('Ett|ttL');
  });

  test('a pipeline layout as a list of stages holds whatever the file holds', () => {
    const { root, messages } = read(
      'parallelism:\n  pipeline_model_parallel_layout: [[embedding, decoder, 3], [loss], ~]\n',
    );
    expect(messages).toEqual([]);
    const layout = root?.parallelism.value?.pipeline_model_parallel_layout.value;
    expect(typeof layout === 'string' ? layout : layout?.map(({ value }) => value)).toEqual([
      ['embedding', 'decoder', 3],
      ['loss'],
      null,
    ]);
  });

  test('a number where a text or a list belongs', () => {
    const { messages } = read('parallelism:\n  pipeline_model_parallel_layout: 3\n');
    expect(messages).toEqual(['parallelism.pipeline_model_parallel_layout must be a text, or a list, not 3.']);
  });

  test('the exchange of context parallelism, for all layers or a layer each', () => {
    const one = read('parallelism: {}\nsequence: {cp_comm_type: a2a}\n');
    expect(one.messages).toEqual([]);
    const each = read('parallelism: {}\nsequence: {cp_comm_type: [p2p, a2a]}\n');
    expect(each.messages).toEqual([]);
    const wrong = read('parallelism: {}\nsequence: {cp_comm_type: [p2p, ring]}\n');
    expect(wrong.messages).toEqual([
      "sequence.cp_comm_type[1] is 'ring', which is not one of its choices. Use p2p, all_gather, a2a or a2a+p2p.",
    ]);
  });

  test('the frequency of MoE layers as a number, a pattern or a list', () => {
    for (const value of ['2', "'([0]*3+[1]*58)'", '[0, 1, 1]']) {
      expect(read(`parallelism: {}\nmodel: {moe_layer_freq: ${value}}\n`).messages).toEqual([]);
    }
  });
});

test('sections of the launch, the optimizer and the phases', () => {
  const { messages } = read(`megatron: dev
launch: {family: megatron-args, files: [train.sh]}
parallelism: {tp: 2}
optimizer: {use_distributed_optimizer: true, exp_avg_dtype: bf16}
precision: {fp8_format: hybrid, fp8_recipe: blockwise}
recompute: {granularity: selective, modules: [mla_up_proj]}
moe: {moe_token_dispatcher_type: flex, moe_enable_deepep: true}
checkpoint: {ckpt_format: torch_dist}
batch: {rampup_batch_size: [8, 8, 1000], eval_micro_batch_size: 2}
phases:
  train: {tp: 2, pp: 2}
  rollout: {engine: vllm, tp: 4}
`);
  expect(messages).toEqual([]);
});
