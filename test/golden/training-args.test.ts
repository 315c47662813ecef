import { describe, expect, test } from 'vitest';
import { check } from '../../layout';
import { type GoldenCase, layoutText, loadGolden, predictions } from './golden';

type Flags = Readonly<Record<string, unknown>>;

interface Input {
  readonly world_size: number;
  readonly env: Readonly<Record<string, string>>;
  readonly arch: number;
  readonly flags: Flags;
}

interface Expect {
  readonly stage: string | null;
  readonly layers_error?: { readonly message: string } | null;
}

/** Where the training script's arguments stand in a layout. */
const PLACES: Readonly<Record<string, readonly [section: string, key: string]>> = {
  num_layers: ['model', 'num_layers'],
  hidden_size: ['model', 'hidden_size'],
  num_attention_heads: ['model', 'num_attention_heads'],
  num_query_groups: ['model', 'num_query_groups'],
  kv_channels: ['model', 'kv_channels'],
  num_experts: ['model', 'num_experts'],
  mtp_num_layers: ['model', 'mtp_num_layers'],
  position_embedding_type: ['model', 'position_embedding_type'],
  multi_latent_attention: ['model', 'multi_latent_attention'],
  q_lora_rank: ['model', 'q_lora_rank'],
  kv_lora_rank: ['model', 'kv_lora_rank'],
  untie_embeddings_and_output_weights: ['model', 'untie_embeddings_and_output_weights'],
  encoder_num_layers: ['model', 'encoder_num_layers'],
  decoder_num_layers: ['model', 'decoder_num_layers'],
  decoder_first_pipeline_num_layers: ['model', 'num_layers_in_first_pipeline_stage'],
  decoder_last_pipeline_num_layers: ['model', 'num_layers_in_last_pipeline_stage'],
  ffn_hidden_size: ['model', 'ffn_hidden_size'],
  moe_ffn_hidden_size: ['model', 'moe_ffn_hidden_size'],
  make_vocab_size_divisible_by: ['model', 'make_vocab_size_divisible_by'],
  moe_layer_freq: ['model', 'moe_layer_freq'],
  moe_router_topk: ['model', 'moe_router_topk'],
  moe_router_num_groups: ['model', 'moe_router_num_groups'],
  moe_router_group_topk: ['model', 'moe_router_group_topk'],
  moe_shared_expert_intermediate_size: ['model', 'moe_shared_expert_intermediate_size'],
  hybrid_layer_pattern: ['model', 'hybrid_layer_pattern'],
  hybrid_override_pattern: ['model', 'hybrid_override_pattern'],
  mtp_hybrid_override_pattern: ['model', 'mtp_hybrid_override_pattern'],
  swiglu: ['model', 'gated_linear_unit'],
  experimental_attention_variant: ['model', 'experimental_attention_variant'],
  encoder_seq_length: ['sequence', 'encoder_seq_length'],
  decoder_seq_length: ['sequence', 'decoder_seq_length'],
  sequence_packing_scheduler: ['sequence', 'sequence_packing_scheduler'],
  pad_packed_seq_alignment: ['sequence', 'pad_packed_seq_alignment'],
  batch_size: ['batch', 'batch_size'],
  pipeline_model_parallel_layout: ['parallelism', 'pipeline_model_parallel_layout'],
  account_for_embedding_in_pipeline_split: ['parallelism', 'account_for_embedding_in_pipeline_split'],
  account_for_loss_in_pipeline_split: ['parallelism', 'account_for_loss_in_pipeline_split'],
  optimizer: ['optimizer', 'optimizer'],
  use_precision_aware_optimizer: ['optimizer', 'use_precision_aware_optimizer'],
  use_sharp: ['communicators', 'use_sharp'],
  sharp_enabled_group: ['communicators', 'sharp_enabled_group'],
  high_priority_stream_groups: ['communicators', 'high_priority_stream_groups'],
  fake_process_group: ['communicators', 'fake_process_group'],
  cuda_graph_impl: ['cuda_graph', 'cuda_graph_impl'],
  enable_cuda_graph: ['cuda_graph', 'enable_cuda_graph'],
  seq_length: ['sequence', 'seq_length'],
  max_position_embeddings: ['sequence', 'max_seq_len'],
  sequence_parallel: ['sequence', 'sequence_parallel'],
  tp_comm_overlap: ['sequence', 'tp_comm_overlap'],
  cp_comm_type: ['sequence', 'cp_comm_type'],
  calculate_per_token_loss: ['sequence', 'calculate_per_token_loss'],
  dataloader_type: ['sequence', 'dataloader_type'],
  max_seqlen_per_dp_cp_rank: ['sequence', 'max_seqlen_per_dp_cp_rank'],
  micro_batch_size: ['batch', 'micro_batch_size'],
  global_batch_size: ['batch', 'global_batch_size'],
  eval_micro_batch_size: ['batch', 'eval_micro_batch_size'],
  eval_global_batch_size: ['batch', 'eval_global_batch_size'],
  rampup_batch_size: ['batch', 'rampup_batch_size'],
  step_batch_size_schedule: ['batch', 'step_batch_size_schedule'],
  tensor_model_parallel_size: ['parallelism', 'tp'],
  pipeline_model_parallel_size: ['parallelism', 'pp'],
  context_parallel_size: ['parallelism', 'cp'],
  expert_model_parallel_size: ['parallelism', 'ep'],
  expert_tensor_parallel_size: ['parallelism', 'expt_tp'],
  num_virtual_stages_per_pipeline_rank: ['parallelism', 'vpp'],
  num_layers_per_virtual_pipeline_stage: ['parallelism', 'num_layers_per_virtual_pipeline_stage'],
  microbatch_group_size_per_virtual_pipeline_stage: ['parallelism', 'microbatch_group_size_per_vp_stage'],
  tensor_parallel_num_weight_shards: ['parallelism', 'num_weight_shards'],
  expert_tensor_parallel_num_weight_shards: ['parallelism', 'expt_num_weight_shards'],
  hierarchical_context_parallel_sizes: ['parallelism', 'hierarchical_context_parallel_sizes'],
  num_distributed_optimizer_instances: ['parallelism', 'num_distributed_optimizer_instances'],
  hybrid_context_parallel: ['parallelism', 'hybrid_context_parallel'],
  dynamic_context_parallel: ['parallelism', 'dynamic_context_parallel'],
  min_dynamic_context_parallel_size: ['parallelism', 'min_dynamic_context_parallel_size'],
  use_distributed_optimizer: ['optimizer', 'use_distributed_optimizer'],
  overlap_grad_reduce: ['optimizer', 'overlap_grad_reduce'],
  overlap_param_gather: ['optimizer', 'overlap_param_gather'],
  defer_embedding_wgrad_compute: ['optimizer', 'defer_embedding_wgrad_compute'],
  overlap_param_gather_with_optimizer_step: ['optimizer', 'overlap_param_gather_with_optimizer_step'],
  use_megatron_fsdp: ['fsdp', 'enabled'],
  megatron_fsdp_version: ['fsdp', 'megatron_fsdp_version'],
  data_parallel_sharding_strategy: ['fsdp', 'data_parallel_sharding_strategy'],
  outer_dp_sharding_strategy: ['fsdp', 'outer_dp_sharding_strategy'],
  use_torch_fsdp2: ['fsdp', 'torch_fsdp2'],
  ckpt_format: ['checkpoint', 'ckpt_format'],
  recompute_granularity: ['recompute', 'granularity'],
  recompute_method: ['recompute', 'method'],
  recompute_num_layers: ['recompute', 'num_layers'],
  distribute_saved_activations: ['recompute', 'distribute_saved_activations'],
  moe_token_dispatcher_type: ['moe', 'moe_token_dispatcher_type'],
  moe_enable_deepep: ['moe', 'moe_enable_deepep'],
  overlap_moe_expert_parallel_comm: ['moe', 'overlap_moe_expert_parallel_comm'],
  delay_wgrad_compute: ['moe', 'delay_wgrad_compute'],
};

/** Arguments that change nothing that a layout speaks of. */
const NEUTRAL = [
  'no_rope_fusion',
  'apply_rope_fusion',
  'moe_expert_capacity_factor',
  'mtp_hsm',
  'mtp_standalone',
  'use_nccl_ub',
];

/** Arguments that a layout says the other way round, or in one word. */
const SPECIAL = [
  'bf16',
  'group_query_attention',
  'disable_bias_linear',
  'no_overlap_p2p_communication',
  'no_gradient_accumulation_fusion',
  'use_tp_pp_dp_mapping',
];

const BASE: Flags = {
  num_layers: 8,
  hidden_size: 64,
  num_attention_heads: 8,
  seq_length: 64,
  max_position_embeddings: 64,
  micro_batch_size: 1,
};

function textOf({ world_size, env, arch, flags }: Input, megatron?: string): string {
  const sections: Record<string, Record<string, unknown>> = { parallelism: {} };
  const put = (section: string, key: string, value: unknown) => {
    sections[section] = { ...sections[section], [key]: value };
  };
  const all: Flags = { ...BASE, ...flags };
  for (const [name, value] of Object.entries(all)) {
    const place = PLACES[name];
    if (place && value !== null && value !== false) {
      put(...place, name === 'cp_comm_type' && Array.isArray(value) && value.length === 1 ? value[0] : value);
    }
  }
  // what the script takes where a flag is absent, of keys without a default in the format
  put('model', 'params_dtype', all.bf16 === true ? 'bf16' : 'fp32');
  if (all.group_query_attention !== true) {
    put('model', 'num_query_groups', null);
  }
  put('model', 'add_bias_linear', all.disable_bias_linear !== true);
  put('model', 'position_embedding_type', all.position_embedding_type ?? 'learned_absolute');
  put('optimizer', 'gradient_accumulation_fusion', all.no_gradient_accumulation_fusion !== true);
  put('moe', 'moe_token_dispatcher_type', all.moe_token_dispatcher_type ?? 'allgather');
  if (all.no_overlap_p2p_communication === true) {
    put('parallelism', 'overlap_p2p_comm', false);
  }
  if (all.use_tp_pp_dp_mapping === true) {
    put('parallelism', 'order', 'tp-cp-ep-pp-dp');
  }
  const environment = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Number(value)]));
  const cluster = { nodes: 1, gpus_per_node: world_size, gpu: arch < 10 ? 'H100' : 'B200' };
  return layoutText({ world_size, cluster, megatron, environment, ...sections });
}

const known = (name: string) => name in PLACES || NEUTRAL.includes(name) || SPECIAL.includes(name);

/** Flags without which the script stops; a file may leave these facts out, and nothing is known of them then. */
const isWhole = ({ input }: { readonly input: Input }) =>
  Object.entries(input.flags).every(([name, value]) => value !== null || !(name in BASE));

/**
 * What Megatron-LM takes without a word and cannot mean: a way of context parallelism that Transformer Engine does not have,
 * less than no layers.
 */
const isNonsense = ({ flags }: Input) =>
  [flags.cp_comm_type].flat().some((way) => typeof way === 'string' && !/^(p2p|all_gather|a2a|a2a\+p2p)$/.test(way)) ||
  (typeof flags.mtp_num_layers === 'number' && flags.mtp_num_layers < 0);

describe.each(['training_args', 'training_args_dev'])('%s', (file) => {
  const cases = loadGolden<Input, Expect>(file);

  test('every argument has its place', () => {
    const names = new Set(cases.flatMap(({ input }) => Object.keys(input.flags)));
    expect([...names].filter((name) => !known(name))).toEqual([]);
  });

  test.each(cases.filter(isWhole))('$id', ({ input, ok, error, expect: golden }: GoldenCase<Input, Expect>) => {
    const text = textOf(input, file.endsWith('dev') ? 'dev' : undefined);
    const found = predictions(check(text));
    if (ok && !golden.layers_error && !isNonsense(input)) {
      expect(found, text).toEqual([]);
    } else {
      expect(found, text).not.toEqual([]);
      const message = error?.origin === 'megatron' ? error.message : golden.layers_error?.message;
      if (message !== undefined) {
        expect(found, text).toContain(message);
      }
    }
  });
});
