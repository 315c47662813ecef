/**
 * Words that people write for keys, beside Megatron-LM's flags: attributes of Hugging Face and NeMo configurations, abbreviations
 * of papers and of job names.
 */
const SYNONYMS: Readonly<Record<string, string>> = {
  tensor_parallel: 'tp',
  tensor_parallel_size: 'tp',
  pipeline_parallel: 'pp',
  pipeline_parallel_size: 'pp',
  stages: 'pp',
  context_parallel: 'cp',
  sequence_context_parallel: 'cp',
  expert_parallel: 'ep',
  expert_parallel_size: 'ep',
  data_parallel: 'dp',
  data_parallel_size: 'dp',
  etp: 'expt_tp',
  expert_tp: 'expt_tp',
  virtual_pipeline: 'vpp',
  virtual_pipeline_model_parallel_size: 'vpp',
  layers: 'num_layers',
  num_hidden_layers: 'num_layers',
  n_layers: 'num_layers',
  heads: 'num_attention_heads',
  n_heads: 'num_attention_heads',
  kv_heads: 'num_query_groups',
  num_key_value_heads: 'num_query_groups',
  hidden: 'hidden_size',
  d_model: 'hidden_size',
  head_dim: 'kv_channels',
  ffn: 'ffn_hidden_size',
  intermediate_size: 'ffn_hidden_size',
  moe_intermediate_size: 'moe_ffn_hidden_size',
  n_routed_experts: 'num_experts',
  num_local_experts: 'num_experts',
  experts: 'num_experts',
  topk: 'moe_router_topk',
  num_experts_per_tok: 'moe_router_topk',
  vocab: 'vocab_size',
  dtype: 'params_dtype',
  seq_len: 'seq_length',
  seqlen: 'seq_length',
  sequence_length: 'seq_length',
  max_position_embeddings: 'max_seq_len',
  mbs: 'micro_batch_size',
  micro_batch: 'micro_batch_size',
  gbs: 'global_batch_size',
  global_batch: 'global_batch_size',
  num_nodes: 'nodes',
  nnodes: 'nodes',
  nproc_per_node: 'gpus_per_node',
  devices: 'gpus_per_node',
  world: 'world_size',
  gpus: 'world_size',
};

/** The key that people mean by a word, however its words are joined; null where no key is known by it. */
export function synonymOf(word: string): string | null {
  const plain = word.replace(/^--/, '').replaceAll('-', '_').toLowerCase();
  return Object.hasOwn(SYNONYMS, plain) ? (SYNONYMS[plain] ?? null) : null;
}

/** The words that people write for a key. */
export function synonymsFor(key: string): readonly string[] {
  return Object.entries(SYNONYMS).flatMap(([word, name]) => (name === key ? [word] : []));
}
