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
  moe_token_dispatcher_type: ['moe', 'moe_token_dispatcher_type'],
  moe_enable_deepep: ['moe', 'moe_enable_deepep'],
  overlap_moe_expert_parallel_comm: ['moe', 'overlap_moe_expert_parallel_comm'],
  delay_wgrad_compute: ['moe', 'delay_wgrad_compute'],
};

/** Arguments that change nothing that a layout speaks of. */
const NEUTRAL = [
  'bf16',
  'no_rope_fusion',
  'apply_rope_fusion',
  'group_query_attention',
  'no_gradient_accumulation_fusion',
  'moe_expert_capacity_factor',
  'mtp_hsm',
  'mtp_standalone',
  'use_nccl_ub',
];

/** Why a case is no layout: the argument or the fault that a file has no word for. */
const UNSAID: Readonly<Record<string, string>> = {
  batch_size: 'an argument that Megatron-LM has withdrawn',
  fake_process_group: 'a stand-in of tests without GPUs',
  mtp_hybrid_override_pattern: 'the spelling of old checkpoints',
  cuda_graph_impl: 'CUDA graphs are no part of a layout',
};

/** Cases that Megatron-LM judges otherwise, and why. */
const OTHERWISE: Readonly<Record<string, string>> = {
  'args-0139-cp-comm': 'a misspelt cp_comm_type, which Megatron-LM takes and Transformer Engine does not',
  'args-0146-cp-comm': 'the same',
  'args-0281-mtp': 'a number of layers below 0',
  'args-0294-length': 'a file may leave the sequence length out',
  'args-0303-length': 'a file may leave the layers out',
  'args-0311-length': 'a file may leave the heads out',
};

/** Messages that stand as warnings, as a file need not say what they rest on. */
const WARNINGS = ['Bias in Moe is only supported when ETP==1'];

/** Faults of the launch's environment. */
const ENVIRONMENT = /CUDA_DEVICE_MAX_CONNECTIONS/;

const BASE: Flags = {
  num_layers: 8,
  hidden_size: 64,
  num_attention_heads: 8,
  seq_length: 64,
  max_position_embeddings: 64,
  micro_batch_size: 1,
};

function textOf({ world_size, flags }: Input, megatron?: string): string {
  const sections: Record<string, Record<string, unknown>> = { parallelism: {} };
  const put = (section: string, key: string, value: unknown) => {
    sections[section] = { ...sections[section], [key]: value };
  };
  for (const [name, value] of Object.entries({ ...BASE, ...flags })) {
    const place = PLACES[name];
    if (value === null || value === false) {
      continue;
    }
    if (place) {
      put(...place, name === 'cp_comm_type' && Array.isArray(value) && value.length === 1 ? value[0] : value);
    } else if (name === 'disable_bias_linear') {
      put('model', 'add_bias_linear', false);
    } else if (name === 'no_overlap_p2p_communication') {
      put('parallelism', 'overlap_p2p_comm', false);
    }
  }
  return layoutText({ world_size, megatron, ...sections });
}

const known = (name: string) =>
  name in PLACES || NEUTRAL.includes(name) || ['disable_bias_linear', 'no_overlap_p2p_communication'].includes(name);

describe.each(['training_args', 'training_args_dev'])('%s', (file) => {
  const cases = loadGolden<Input, Expect>(file).filter(({ error }) => !ENVIRONMENT.test(error?.message ?? ''));
  const said = cases.filter(({ input }) => !Object.keys(input.flags).some((name) => name in UNSAID));

  test('every argument has its place, or a reason why not', () => {
    const names = new Set(cases.flatMap(({ input }) => Object.keys(input.flags)));
    expect([...names].filter((name) => !known(name) && !(name in UNSAID))).toEqual([]);
  });

  test.each(said.filter(({ id }) => id in OTHERWISE))('$id: judged otherwise', ({ input, ok }) => {
    expect(predictions(check(textOf(input))).length > 0).toBe(ok);
  });

  test.each(said.filter(({ id }) => !(id in OTHERWISE)))(
    '$id',
    ({ input, ok, error, expect: golden }: GoldenCase<Input, Expect>) => {
      const text = textOf(input, file.endsWith('dev') ? 'dev' : undefined);
      const checked = check(text);
      const found = predictions(checked);
      if (WARNINGS.includes(error?.message ?? '')) {
        expect(checked.diagnostics.map(({ predicts }) => predicts)).toContain(error?.message);
      } else if (ok && !golden.layers_error) {
        expect(found, text).toEqual([]);
      } else {
        expect(found, text).not.toEqual([]);
        const message = error?.origin === 'megatron' ? error.message : golden.layers_error?.message;
        if (message !== undefined) {
          expect(found, text).toContain(message);
        }
      }
    },
  );
});
