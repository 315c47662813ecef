import type { ModelFacts } from './facts';

/** A `config.json` as Hugging Face's transformers write it: data of which nothing is known yet. */
type Config = Readonly<Record<string, unknown>>;

/** Activations whose feed-forward layer has a gate, wherever a configuration names one of them. */
const GATED_ACTIVATIONS = ['silu', 'swish', 'swiglu'];

/** Numbers that Python's `json` writes and JSON does not have. */
const PYTHON_NUMBERS = /(?<=[[,:]\s*)-?(?:Infinity|NaN)(?=\s*[\],}])/g;

/**
 * The data of a `config.json`, which Python wrote.
 * @returns undefined where the text is none
 */
export function parseConfig(text: string): unknown {
  try {
    return JSON.parse(text.replace(PYTHON_NUMBERS, 'null'));
  } catch {
    return undefined;
  }
}

/**
 * Reads the sizes of a language model out of its `config.json`; of a multimodal model, those of its language model
 * (`text_config`). What the file leaves to the defaults of a class is left out.
 * @returns null where the file does not say layers, hidden size and heads, or says them layer by layer
 */
export function factsOfConfig(
  json: unknown,
): { readonly facts: ModelFacts; readonly context: number | undefined } | null {
  if (!isObject(json)) {
    return null;
  }
  const config = languageConfig(json);
  const layers = first(config, 'num_hidden_layers', 'n_layer', 'num_layers');
  const hidden = first(config, 'hidden_size', 'n_embd', 'd_model');
  const heads = first(config, 'num_attention_heads', 'n_head', 'num_heads');
  // layers of different sizes, as a search for smaller models makes them, have no one size to state
  const isUneven = config.block_configs !== undefined;
  if (layers === undefined || hidden === undefined || heads === undefined || isUneven) {
    return null;
  }
  const facts: ModelFacts = {
    num_layers: layers,
    hidden_size: hidden,
    num_attention_heads: heads,
    ...attentionOf(config, hidden, heads),
    ...expertsOf(config, layers),
    ...defined({
      vocab_size: count(config.vocab_size),
      gated_linear_unit: gateOf(config),
      untie_embeddings_and_output_weights: negated(config.tie_word_embeddings ?? json.tie_word_embeddings),
      mtp_num_layers: first(config, 'num_nextn_predict_layers', 'mtp_num_hidden_layers'),
      hybrid_layer_pattern: textOf(config.hybrid_override_pattern),
    }),
  };
  return { facts, context: first(config, 'max_position_embeddings', 'n_positions', 'max_seq_len') };
}

/** The part of a configuration that describes the language model. */
function languageConfig(json: Config): Config {
  const inner = ['text_config', 'llm_config', 'language_config', 'thinker_config']
    .map((key) => json[key])
    .find(isObject);
  return inner ? languageConfig(inner) : json;
}

function attentionOf(config: Config, hidden: number, heads: number): Partial<ModelFacts> {
  const kvLoraRank = count(config.kv_lora_rank);
  if (kvLoraRank !== undefined) {
    return defined({
      multi_latent_attention: true,
      q_lora_rank: count(config.q_lora_rank),
      kv_lora_rank: kvLoraRank,
      qk_head_dim: count(config.qk_nope_head_dim),
      qk_pos_emb_head_dim: count(config.qk_rope_head_dim),
      v_head_dim: count(config.v_head_dim),
    });
  }
  const isMultiQuery = config.multi_query === true && config.new_decoder_architecture !== true;
  const groups = isMultiQuery ? 1 : first(config, 'num_key_value_heads', 'multi_query_group_num', 'num_kv_heads');
  const width = first(config, 'head_dim', 'attention_head_dim');
  const linear = count(config.full_attention_interval);
  return defined({
    num_query_groups: groups === heads ? undefined : groups,
    kv_channels: width === hidden / heads ? undefined : width,
    ...(linear !== undefined && {
      experimental_attention_variant: 'gated_delta_net',
      linear_attention_freq: linear,
      linear_num_key_heads: count(config.linear_num_key_heads),
      linear_num_value_heads: count(config.linear_num_value_heads),
    }),
  });
}

function expertsOf(config: Config, layers: number): Partial<ModelFacts> {
  const experts = first(config, 'n_routed_experts', 'num_experts', 'num_local_experts', 'moe_num_experts');
  const dense = first(config, 'intermediate_size_mlp', 'intermediate_size', 'ffn_hidden_size', 'n_inner');
  if (experts === undefined || experts <= 1) {
    return defined({ ffn_hidden_size: dense });
  }
  // Llama 4 names the width of an expert `intermediate_size` and that of a dense layer `intermediate_size_mlp`
  const width = first(config, 'moe_intermediate_size', 'expert_intermediate_size') ?? count(config.intermediate_size);
  const shared = first(config, 'n_shared_experts', 'num_shared_experts');
  return defined({
    ffn_hidden_size: dense,
    moe_ffn_hidden_size: width === dense ? undefined : width,
    num_experts: experts,
    moe_router_topk: first(config, 'num_experts_per_tok', 'top_k_experts', 'moe_topk', 'num_experts_per_token'),
    moe_layer_freq: expertLayers(config, layers),
    moe_shared_expert_intermediate_size:
      first(config, 'moe_shared_expert_intermediate_size', 'shared_expert_intermediate_size') ??
      (shared !== undefined && width !== undefined ? shared * width : undefined),
  });
}

/** Which layers have experts, where not all do, as `moe_layer_freq` writes it. */
function expertLayers(config: Config, layers: number): string | undefined {
  const dense = natural(config.first_k_dense_replace);
  if (dense !== undefined && dense > 0 && dense < layers) {
    return `([0]*${dense}+[1]*${layers - dense})`;
  }
  const step = first(config, 'interleave_moe_layer_step', 'decoder_sparse_step');
  return step !== undefined && step > 1 && layers % step === 0 ? `([0]*${step - 1}+[1]*1)*${layers / step}` : undefined;
}

function gateOf(config: Config): boolean | undefined {
  const activation = config.hidden_act ?? config.hidden_activation;
  return (typeof activation === 'string' && GATED_ACTIVATIONS.includes(activation)) ||
    /^gemma/.test(String(config.model_type ?? ''))
    ? true
    : undefined;
}

function isObject(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function natural(value: unknown): number | undefined {
  return value === 0 ? 0 : count(value);
}

/** The first of several keys that holds a count. */
function first(config: Config, ...keys: readonly string[]): number | undefined {
  return keys.map((key) => count(config[key])).find((value) => value !== undefined);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function negated(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? !value : undefined;
}

/** An object without the keys that have no value. */
function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  // the same keys, but for those left out, which every reader takes for absent
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
