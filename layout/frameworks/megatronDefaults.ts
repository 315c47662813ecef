import type { Defaults } from '../launch/value';

/** Degrees that every framework on Megatron Core has by default. */
export const DEGREES = {
  'parallelism.tp': 1,
  'parallelism.pp': 1,
  'parallelism.cp': 1,
  'parallelism.ep': 1,
} as const satisfies Defaults['values'];

/** The degrees of a role of a reinforcement-learning job, which frameworks take under Megatron's names. */
export const ROLE_KEYS = ['tp', 'pp', 'vpp', 'cp', 'ep', 'expt_tp'] as const;

/** What every framework with Megatron-LM's arguments has by default, in the model too. */
export const CORE_VALUES = {
  ...DEGREES,
  'parallelism.order': 'tp-cp-ep-dp-pp',
  'parallelism.num_distributed_optimizer_instances': 1,
  'sequence.sequence_parallel': false,
  'sequence.tp_comm_overlap': false,
  'optimizer.use_distributed_optimizer': false,
  'optimizer.overlap_grad_reduce': false,
  'optimizer.overlap_param_gather': false,
  'fsdp.enabled': false,
  'model.params_dtype': 'fp32',
  'model.gated_linear_unit': false,
  'model.multi_latent_attention': false,
  'model.untie_embeddings_and_output_weights': false,
  'model.make_vocab_size_divisible_by': 128,
  'sequence.cp_comm_type': 'p2p',
} as const satisfies Defaults['values'];

/** The same where the model has experts. */
export const CORE_EXPERTS = {
  'model.moe_router_topk': 2,
  'model.moe_layer_freq': 1,
  'moe.moe_token_dispatcher_type': 'allgather',
  'moe.overlap_moe_expert_parallel_comm': false,
} as const satisfies Defaults['values'];

/**
 * What Megatron-LM takes where its options are absent, with what only rules judge. Expert tensor parallelism follows its own rule in
 * `megatronOptions.ts`.
 */
export const MEGATRON_DEFAULTS: Defaults = {
  framework: 'Megatron-LM',
  version: 'main d98e8a64dd',
  source: 'megatron/training/arguments.py, megatron/core/transformer/transformer_config.py',
  values: {
    ...CORE_VALUES,
    'model.position_embedding_type': 'learned_absolute',
    'model.add_bias_linear': true,
    'model.attention_dropout': 0.1,
    'model.hidden_dropout': 0.1,
    'optimizer.use_precision_aware_optimizer': false,
    'optimizer.gradient_accumulation_fusion': true,
    'precision.fp8_recipe': 'delayed',
    'checkpoint.ckpt_format': 'torch_dist',
  },
  withExperts: {
    ...CORE_EXPERTS,
    'model.moe_router_pre_softmax': false,
    'moe.moe_router_load_balancing_type': 'aux_loss',
    'moe.moe_flex_dispatcher_backend': 'deepep',
  },
};
