import { describe, expect, test } from 'vitest';
import { factsOfConfig, MODEL_NAMES, modelNamed, parseConfig } from '.';

describe('public models by name', () => {
  test('a name of Hugging Face gives sizes and the place that states them', () => {
    expect(modelNamed('Qwen/Qwen3-30B-A3B')).toEqual({
      name: 'Qwen/Qwen3-30B-A3B',
      facts: {
        num_layers: 48,
        hidden_size: 2048,
        num_attention_heads: 32,
        num_query_groups: 4,
        kv_channels: 128,
        ffn_hidden_size: 6144,
        moe_ffn_hidden_size: 768,
        num_experts: 128,
        moe_router_topk: 8,
        vocab_size: 151936,
        gated_linear_unit: true,
        untie_embeddings_and_output_weights: true,
      },
      context: 40960,
      source: {
        repository: 'ai-dynamo/aiconfigurator',
        revision: '095f58a51c4ca8e61b66ec108d86f223f8d559ce',
        path: 'aic-core/src/aiconfigurator_core/model_configs/Qwen--Qwen3-30B-A3B_config.json',
      },
    });
  });

  test('latent attention, shared experts, leading dense layers and prediction depths are stated', () => {
    expect(modelNamed('deepseek-ai/DeepSeek-V3')?.facts).toMatchObject({
      num_layers: 61,
      multi_latent_attention: true,
      q_lora_rank: 1536,
      kv_lora_rank: 512,
      num_experts: 256,
      moe_layer_freq: '([0]*3+[1]*58)',
      moe_shared_expert_intermediate_size: 2048,
      mtp_num_layers: 1,
    });
  });

  test.each([
    ['/root/models/Qwen3-30B-A3B/', 'Qwen/Qwen3-30B-A3B'],
    ['qwen/qwen3-30b-a3b', 'Qwen/Qwen3-30B-A3B'],
    ['torchtitan/llama3-8B', 'torchtitan/llama3-8B'],
    ['meta-llama/Llama-3.1-8B', 'meta-llama/Meta-Llama-3.1-8B'],
    ['meta-llama/Llama-2-70b', 'meta-llama/Llama-2-70b-hf'],
  ])('%s is %s', (given, name) => {
    expect(modelNamed(given)?.name).toBe(name);
  });

  test('a variant that the table lacks has the sizes of its origin, not its vocabulary and context', () => {
    const variant = modelNamed('/models/Qwen3-30B-A3B_torch_dist');
    expect(variant).toMatchObject({ name: 'Qwen/Qwen3-30B-A3B', context: undefined });
    expect(variant?.facts.num_layers).toBe(48);
    expect(variant?.facts.vocab_size).toBeUndefined();
  });

  test.each(['', '/', 'my-own-model', 'Qwen', '-instruct'])('%j is not known', (name) => {
    expect(modelNamed(name)).toBeUndefined();
  });

  test('the table has more than 150 models, each with sizes that fit each other', () => {
    expect(new Set(MODEL_NAMES).size).toBe(MODEL_NAMES.length);
    expect(MODEL_NAMES.length).toBeGreaterThan(150);
    for (const name of MODEL_NAMES) {
      const { facts, source } = modelNamed(name) ?? {};
      const { num_attention_heads: heads = 0, num_query_groups: groups = heads, hidden_size: hidden = 0 } = facts ?? {};
      expect(heads % groups, name).toBe(0);
      expect(hidden, name).toBeGreaterThan(0);
      expect(facts?.num_experts ?? 1, name).toBeGreaterThanOrEqual(facts?.moe_router_topk ?? 1);
      expect(source?.revision, name).toMatch(/^[0-9a-f]{40}$/);
    }
  });
});

describe('config.json', () => {
  test('of a multimodal model, the sizes are those of its language model', () => {
    const text = { num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 8, num_key_value_heads: 4 };
    const config = {
      model_type: 'vl',
      vision_config: { hidden_size: 9 },
      text_config: text,
      tie_word_embeddings: true,
    };
    expect(factsOfConfig(config)).toEqual({
      facts: {
        num_layers: 2,
        hidden_size: 64,
        num_attention_heads: 8,
        num_query_groups: 4,
        untie_embeddings_and_output_weights: false,
      },
      context: undefined,
    });
  });

  test('Python writes numbers that JSON does not have', () => {
    expect(parseConfig('{"a": [0.0, Infinity], "b": -Infinity, "c": "a: Infinity"}')).toEqual({
      a: [0, null],
      b: null,
      c: 'a: Infinity',
    });
  });

  test.each([
    ['no data', parseConfig('{"num_hidden_layers": ')],
    ['a list', [1]],
    ['no sizes', { hidden_size: 64 }],
    ['sizes that are no counts', { num_hidden_layers: 0, hidden_size: '64', num_attention_heads: 8 }],
    ['layers that differ', { num_hidden_layers: 2, hidden_size: 64, num_attention_heads: 8, block_configs: [{}, {}] }],
  ])('%s says nothing', (_, json) => {
    expect(factsOfConfig(json)).toBeNull();
  });
});
