import type { Defaults, Found } from './foundValues';

/** A world that nothing else says, by the defaults of a launcher. */
export function worldByDefault({ world }: Defaults): { nodes?: Found<number>; perNode?: Found<number> } {
  return {
    ...(world && { nodes: { value: world.nodes, source: 'default' } }),
    ...(world?.perNode && { perNode: { value: world.perNode, source: 'default' } }),
  };
}

const DEGREES = {
  'parallelism.tp': 1,
  'parallelism.pp': 1,
  'parallelism.cp': 1,
  'parallelism.ep': 1,
} as const;

const MEGATRON_RUN = {
  'parallelism.order': 'tp-cp-ep-dp-pp',
  'parallelism.num_distributed_optimizer_instances': 1,
  'sequence.sequence_parallel': false,
  'sequence.tp_comm_overlap': false,
  'optimizer.use_distributed_optimizer': false,
  'optimizer.overlap_grad_reduce': false,
  'optimizer.overlap_param_gather': false,
  'fsdp.enabled': false,
} as const;

const MEGATRON_MODEL = {
  'model.params_dtype': 'fp32',
  'model.gated_linear_unit': false,
  'model.multi_latent_attention': false,
  'model.untie_embeddings_and_output_weights': false,
  'model.make_vocab_size_divisible_by': 128,
  'sequence.cp_comm_type': 'p2p',
} as const;

/** What Megatron-LM's own scripts take besides, where rules judge it. */
const MEGATRON_SILENT = {
  'model.position_embedding_type': 'learned_absolute',
  'model.add_bias_linear': true,
  'model.attention_dropout': 0.1,
  'model.hidden_dropout': 0.1,
  'optimizer.use_precision_aware_optimizer': false,
  'optimizer.gradient_accumulation_fusion': true,
  'precision.fp8_recipe': 'delayed',
  'checkpoint.ckpt_format': 'torch_dist',
} as const;

const MEGATRON_EXPERTS_SILENT = {
  'model.moe_router_pre_softmax': false,
  'moe.moe_router_load_balancing_type': 'aux_loss',
  'moe.moe_flex_dispatcher_backend': 'deepep',
} as const;

const MEGATRON_EXPERTS = {
  'model.moe_router_topk': 2,
  'model.moe_layer_freq': 1,
  'moe.moe_token_dispatcher_type': 'allgather',
  'moe.overlap_moe_expert_parallel_comm': false,
} as const;

/** The defaults of every framework, each with its source. Expert tensor parallelism follows its own rule in `megatron.ts`. */
export const DEFAULTS = {
  torchrun: {
    framework: 'torchrun',
    version: 'torch 2.14.1',
    source: 'torch/distributed/run.py',
    values: {},
    world: { nodes: 1, perNode: 1 },
  },
  megatron: {
    framework: 'Megatron-LM',
    version: 'main d98e8a64dd',
    source: 'megatron/training/arguments.py, megatron/core/transformer/transformer_config.py',
    values: { ...DEGREES, ...MEGATRON_RUN, ...MEGATRON_MODEL, ...MEGATRON_SILENT },
    withExperts: { ...MEGATRON_EXPERTS, ...MEGATRON_EXPERTS_SILENT },
  },
  slime: {
    framework: 'slime',
    version: 'main 624b824a89',
    source: 'slime/utils/arguments.py, slime/backends/megatron_utils/arguments.py',
    values: {
      ...DEGREES,
      ...MEGATRON_RUN,
      ...MEGATRON_MODEL,
      'optimizer.use_distributed_optimizer': true,
      'model.params_dtype': 'bf16',
      'batch.micro_batch_size': 1,
      'sequence.seq_length': 4096,
      'phases.rollout.tp': 1,
    },
    withExperts: MEGATRON_EXPERTS,
    world: { nodes: 1, perNode: 8 },
  },
  swift: {
    framework: 'ms-swift',
    version: 'main 3602360a56',
    source: 'swift/megatron/arguments/megatron_args.py',
    values: {
      ...DEGREES,
      'parallelism.expt_tp': 1,
      'optimizer.use_distributed_optimizer': true,
      'batch.micro_batch_size': 1,
      'batch.global_batch_size': 16,
      'sequence.sequence_parallel': false,
      'sequence.tp_comm_overlap': false,
      'optimizer.overlap_grad_reduce': false,
      'optimizer.overlap_param_gather': false,
      'optimizer.optimizer': 'adam',
      'recompute.granularity': 'selective',
      'fsdp.enabled': false,
    },
    // swift/cli/main.py
    world: { nodes: 1, perNode: null },
  },
  swiftTransformers: {
    framework: 'ms-swift',
    version: 'main 3602360a56',
    source: 'swift/trainers/arguments.py',
    values: { 'batch.micro_batch_size': 1 },
  },
  mindspeedFsdp: {
    framework: 'MindSpeed-LLM, FSDP2',
    version: 'master c77308a1',
    source: 'mindspeed_llm/fsdp2/utils/arguments.py',
    values: {
      'parallelism.tp': 1,
      'parallelism.cp': 1,
      'parallelism.ep': 1,
      'fsdp.data_parallel_shard_degree': 1,
    },
  },
  verl: {
    framework: 'verl',
    version: 'main b178a3cd56',
    source: 'verl/trainer/config/engine/megatron.yaml, verl/trainer/config/ppo_trainer.yaml',
    values: { ...DEGREES, 'sequence.sequence_parallel': true, 'optimizer.use_distributed_optimizer': true },
    world: { nodes: 1, perNode: 8 },
  },
  verlRollout: {
    framework: 'verl',
    version: 'main b178a3cd56',
    source: 'verl/trainer/config/rollout/rollout.yaml',
    values: {
      'phases.rollout.tp': 2,
      'phases.rollout.dp': 1,
      'phases.rollout.pp': 1,
      'phases.rollout.ep': 1,
    },
  },
  nemoRl: {
    framework: 'NeMo-RL',
    version: 'main 7ea279abfb',
    source: 'examples/configs/grpo_math_1B.yaml',
    values: {},
  },
  primus: {
    framework: 'Primus',
    version: 'main fd1eeabbad',
    source: 'primus/configs/modules/megatron/*.yaml, examples/run_pretrain.sh',
    values: {},
    world: { nodes: 1, perNode: 8 },
  },
  torchtitan: {
    framework: 'torchtitan',
    version: 'main b5bcd76c66',
    source: 'torchtitan/config/configs.py, torchtitan/distributed/parallel_dims.py, run_train.sh',
    values: {
      ...DEGREES,
      'fsdp.data_parallel_replicate_degree': 1,
      'fsdp.data_parallel_shard_degree': -1,
      'sequence.seq_length': 2048,
    },
    world: { nodes: 1, perNode: 8 },
  },
  accelerate: {
    framework: 'accelerate',
    version: 'main 16cb6eb8',
    source: 'src/accelerate/parallelism_config.py',
    values: {
      'parallelism.tp': 1,
      'parallelism.cp': 1,
      'fsdp.data_parallel_replicate_degree': 1,
      'fsdp.data_parallel_shard_degree': 1,
    },
  },
  axolotl: {
    framework: 'axolotl',
    version: 'main 067b021c8',
    source: 'src/axolotl/utils/schemas/config.py, src/axolotl/utils/distributed.py',
    values: { 'parallelism.tp': 1, 'parallelism.cp': 1 },
  },
  nanotron: {
    framework: 'nanotron',
    version: 'main 2411b022',
    source: 'src/nanotron/config/parallelism_config.py',
    values: { 'parallelism.cp': 1, 'parallelism.ep': 1 },
  },
  mimo: {
    framework: 'Megatron-LM MIMO example',
    version: 'main d98e8a64dd',
    source: 'examples/mimo/training/args.py',
    values: {
      'modules.encoder.tp': 2,
      'modules.encoder.dp': 2,
      'modules.encoder.rank_offset': 0,
      'modules.language.rank_offset': 4,
      'modules.language.tp': 2,
      'modules.language.dp': 2,
      'modules.language.cp': 1,
      'modules.language.pp': 1,
      'modules.language.ep': 1,
      'modules.language.expt_tp': 1,
    },
  },
} as const satisfies Readonly<Record<string, Defaults>>;
