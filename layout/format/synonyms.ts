/**
 * Words that people write for keys, beside Megatron-LM's flags: attributes of Hugging Face and NeMo configurations, abbreviations
 * of papers and of job names.
 */
const WORDS: Readonly<Record<string, string>> = {
  tp: 'tensor tensor_parallel tensor_parallel_size',
  pp: 'pipeline pipeline_parallel pipeline_parallel_size stages',
  cp: 'context context_parallel sequence_context_parallel',
  ep: 'expert expert_parallel expert_parallel_size',
  dp: 'data data_parallel data_parallel_size',
  expt_tp: 'etp expert_tp',
  vpp: 'virtual_pipeline virtual_pipeline_model_parallel_size',
  num_layers: 'layers num_hidden_layers n_layers',
  num_attention_heads: 'heads n_heads',
  num_query_groups: 'kv_heads num_key_value_heads',
  hidden_size: 'hidden d_model',
  kv_channels: 'head_dim',
  ffn_hidden_size: 'ffn intermediate_size',
  moe_ffn_hidden_size: 'moe_intermediate_size',
  num_experts: 'n_routed_experts num_local_experts experts num_moe_experts moe_num_experts',
  moe_router_topk: 'topk num_experts_per_tok moe_topk top_k',
  vocab_size: 'vocab',
  params_dtype: 'dtype',
  seq_length: 'seq_len seqlen sequence_length',
  max_seq_len: 'max_position_embeddings',
  micro_batch_size: 'mbs micro_batch micro micro_bsz batch_size',
  global_batch_size: 'gbs global_batch global train_batch_size',
  nodes: 'num_nodes nnodes',
  gpus_per_node: 'nproc_per_node devices gpus_per_host',
  world_size: 'world gpus num_gpus',
  gpu: 'gpu_type accelerator',
  gpus_per_nvlink_domain: 'nvlink_domain nvlink_domain_size',
  gpu_memory: 'memory',
  sequence_parallel: 'sp',
  tp_spares: 'spares num_spares',
  num_reduced_tp_dp_ranks: 'reduced_replicas',
  failed_ranks: 'failed failed_gpus dead_ranks',
  enabled: 'use_fsdp',
  data_parallel_sharding_strategy: 'sharding_strategy',
  use_distributed_optimizer: 'distributed_optimizer',
  use_sharp: 'sharp',
  granularity: 'activation_checkpointing checkpoint_activations',
};

const KEYS: ReadonlyMap<string, string> = new Map(
  Object.entries(WORDS).flatMap(([key, words]) => words.split(' ').map((word) => [word, key] as const)),
);

/** A word as it is compared: without the dashes of a flag, however its words are joined. */
export const plainWord = (word: string): string => word.replace(/^--/, '').replaceAll('-', '_').toLowerCase();

/** The key that people mean by a word, however its words are joined; null where no key is known by it. */
export function synonymOf(word: string): string | null {
  return KEYS.get(plainWord(word)) ?? null;
}

/** The words that people write for a key. */
export function synonymsFor(key: string): readonly string[] {
  return Object.hasOwn(WORDS, key) ? (WORDS[key]?.split(' ') ?? []) : [];
}
