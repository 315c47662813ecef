/**
 * The sizes of a public model, named like the keys of `model`. What is absent is not stated by the source, or equals what the
 * format derives: key-value heads like the heads, a head of `hidden_size / num_attention_heads`.
 */
export interface ModelFacts {
  readonly num_layers: number;
  readonly hidden_size: number;
  readonly num_attention_heads: number;
  readonly num_query_groups?: number;
  readonly kv_channels?: number;
  readonly ffn_hidden_size?: number;
  readonly vocab_size?: number;
  readonly gated_linear_unit?: boolean;
  readonly untie_embeddings_and_output_weights?: boolean;
  readonly num_experts?: number;
  readonly moe_ffn_hidden_size?: number;
  readonly moe_router_topk?: number;
  readonly moe_layer_freq?: string;
  readonly moe_shared_expert_intermediate_size?: number;
  readonly multi_latent_attention?: boolean;
  readonly q_lora_rank?: number;
  readonly kv_lora_rank?: number;
  readonly qk_head_dim?: number;
  readonly qk_pos_emb_head_dim?: number;
  readonly v_head_dim?: number;
  readonly mtp_num_layers?: number;
  readonly hybrid_layer_pattern?: string;
  readonly experimental_attention_variant?: string;
  readonly linear_attention_freq?: number;
  readonly linear_num_key_heads?: number;
  readonly linear_num_value_heads?: number;
}

/** Where the sizes of a model are stated. */
export interface ModelSource {
  readonly repository: string;
  readonly path: string;
  readonly revision: string;
}

/** A model that is known by its name. */
export interface PublicModel {
  /** The name on Hugging Face, such as `Qwen/Qwen3-30B-A3B`; torchtitan's own models are `torchtitan/llama3-8B`. */
  readonly name: string;
  readonly facts: ModelFacts;
  /** The longest sequence, in tokens, that the model is made for; undefined where the source does not say it. */
  readonly context: number | undefined;
  readonly source: ModelSource;
}
