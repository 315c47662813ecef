import type {
  AnySpec,
  BooleanSpec,
  DurationSpec,
  EitherSpec,
  EnumSpec,
  IntegerSpec,
  KeySpec,
  Keys,
  ListSpec,
  MapSpec,
  RecordSpec,
  ShareSpec,
  SizeSpec,
  StringSpec,
} from './spec';

/** The newest version of the format. */
export const FORMAT_VERSION = 1;

/** The dimensions that a rank order may name. */
export const ORDER_TOKENS = ['tp', 'cp', 'ep', 'dp', 'pp', 'gtp_remat'] as const;

/** Megatron's default rank order. */
export const DEFAULT_ORDER = 'tp-cp-ep-dp-pp';

/** A number of something: a whole number from 1. */
const count = (doc: string, derived?: string): IntegerSpec => ({
  type: 'integer',
  min: 1,
  doc,
  ...(derived && { derived }),
});

/** A count that is 1 where it is not written and does not follow from others. */
const degree = (doc: string, derived?: string): IntegerSpec => ({
  ...count(doc, derived),
  ...(derived === undefined && { default: 1 }),
});

/** A whole number from 0. */
const natural = (doc: string): IntegerSpec => ({ type: 'integer', min: 0, doc });

const boolean = (doc: string): BooleanSpec => ({ type: 'boolean', doc });
const text = (doc: string): StringSpec => ({ type: 'string', doc });
const size = (doc: string): SizeSpec => ({ type: 'size', doc });
const duration = (doc: string): DurationSpec => ({ type: 'duration', doc });
const share = (doc: string): ShareSpec => ({ type: 'share', doc });
const any = (doc: string): AnySpec => ({ type: 'any', doc });

/** A switch that is off where it is not written. */
const off = (doc: string): BooleanSpec => ({ type: 'boolean', default: false, doc });

function options<const T extends string>(doc: string, values: readonly T[], value?: NoInfer<T>): EnumSpec<T> {
  return { type: 'enum', options: values, doc, ...(value && { default: value }) };
}

function either<const F extends readonly KeySpec[]>(doc: string, forms: F): EitherSpec<F> {
  return { type: 'either', forms, doc };
}

function list<I extends KeySpec>(doc: string, items: I): ListSpec<I> {
  return { type: 'list', items, doc };
}

function map<K extends Keys>(doc: string, keys: K): MapSpec<K> {
  return { type: 'map', keys, doc };
}

function record<M extends MapSpec>(doc: string, values: M): RecordSpec<M> {
  return { type: 'record', values, doc };
}

function withDefault<S extends KeySpec>(value: number | boolean | string, spec: S): S {
  return { ...spec, default: value };
}

function required<S extends KeySpec>(spec: S): S {
  return { ...spec, required: true };
}

/** The same key with the Megatron-LM argument that it becomes. */
function flag<S extends KeySpec>(name: string, spec: S): S {
  return { ...spec, flag: name };
}

/** Keys that are named like the Megatron-LM arguments that they become, but for those that have a flag already. */
function ownFlags<K extends Keys>(keys: K): K {
  const flagged = Object.entries(keys).map(([name, spec]) => [
    name,
    { flag: `--${name.replaceAll('_', '-')}`, ...spec },
  ]);
  // the same keys with the same types
  return Object.fromEntries(flagged) as K;
}

/** The same key, which becomes no argument of Megatron-LM. */
function withoutFlag<S extends KeySpec>(spec: S): S {
  return { ...spec, flag: undefined };
}

/** The same key without a default: unwritten, Megatron-LM takes `value`, but the job may set it elsewhere. */
function open<S extends KeySpec>(value: string | number | boolean, spec: S): S {
  return { ...spec, megatronTakes: value };
}

/** The same key, known to some versions of Megatron-LM only. */
function since<S extends KeySpec>(versions: string, spec: S): S {
  return { ...spec, since: versions };
}

/** The least of a number that the reader takes below 1, too: a rule predicts what Megatron-LM says of it. */
export const ANY_INTEGER = Number.MIN_SAFE_INTEGER;

/** The versions that have generalized tensor parallelism. */
const WITH_GTP = 'main, core_r0.19';

const denseDegrees = {
  tp: flag(
    '--tensor-model-parallel-size',
    degree(
      'Tensor-parallel size: over how many ranks each weight matrix is cut. TP communicates most, so keep it inside one NVLink domain.',
    ),
  ),
  gtp_remat: since(
    WITH_GTP,
    degree(
      'Generalized tensor parallelism: weights are cut `tp * gtp_remat` ways and gathered again before use. It has no flag: the training script derives it from `num_weight_shards`.',
    ),
  ),
  num_weight_shards: since(
    WITH_GTP,
    flag(
      '--tensor-parallel-num-weight-shards',
      count('The total number of weight shards, `tp * gtp_remat`: another way to write `gtp_remat`.', 'tp * gtp_remat'),
    ),
  ),
  cp: flag(
    '--context-parallel-size',
    degree('Context-parallel size: over how many ranks the tokens of one sequence are spread.'),
  ),
  pp: flag('--pipeline-model-parallel-size', degree('Pipeline-parallel size: number of stages that share the layers.')),
} as const;

const expertParallel = flag(
  '--expert-model-parallel-size',
  degree('Expert-parallel size: over how many ranks the experts of an MoE layer are spread.'),
);

const expertWeightShards = {
  expt_gtp_remat: since(
    WITH_GTP,
    degree(
      'Generalized tensor parallelism of expert weights: the twin of `gtp_remat` in the expert grid. It has no flag.',
    ),
  ),
  expt_num_weight_shards: since(
    WITH_GTP,
    flag(
      '--expert-tensor-parallel-num-weight-shards',
      count('The total number of shards of an expert weight, `expt_tp * expt_gtp_remat`.', 'expt_tp * expt_gtp_remat'),
    ),
  ),
} as const;

/** Where the layers go, for `parallelism` and one of `modules` alike. */
const stageKeys = ownFlags({
  pipeline_model_parallel_layout: since(
    'core_r0.13 and later',
    either(
      'Which layers each pipeline stage holds: `Et*3|(tt|)*29m|L` (E embedding, t decoder layer, m MTP layer, L loss), or a list of stages as lists of `embedding`, `decoder`, `mtp`, `loss`. The k-th stage is of pipeline rank `k mod pp`, virtual stage `k div pp`.',
      [
        text('The stages as a string, with `|` between them.'),
        list('The stages, each a list of layers.', any('The layers of one stage.')),
      ],
    ),
  ),
  account_for_embedding_in_pipeline_split: off(
    'Count the embedding as one layer when the layers are split over the stages.',
  ),
  account_for_loss_in_pipeline_split: off('Count the loss as one layer when the layers are split over the stages.'),
});

const modelKeys = ownFlags({
  from: withoutFlag(
    text(
      'A public model by its name on Hugging Face, such as `Qwen/Qwen3-30B-A3B`: its sizes hold where the keys beside are not written.',
    ),
  ),
  num_layers: count('Transformer layers in the model.'),
  num_layers_in_first_pipeline_stage: flag(
    '--decoder-first-pipeline-num-layers',
    count('Layers in the first pipeline stage, where it differs from the others.'),
  ),
  num_layers_in_last_pipeline_stage: flag(
    '--decoder-last-pipeline-num-layers',
    count('Layers in the last pipeline stage, where it differs from the others.'),
  ),
  num_attention_heads: count('Attention heads; `tp` must divide them.'),
  num_query_groups: count(
    'Key/value heads of grouped-query attention; a multiple or a divisor of `tp`.',
    'num_attention_heads',
  ),
  hidden_size: count('Width of the residual stream.'),
  ffn_hidden_size: count(
    'Width of the feed-forward layer.',
    '4 * hidden_size; two thirds of it, in multiples of 64, with gated_linear_unit',
  ),
  moe_ffn_hidden_size: count('Width of one expert.', 'ffn_hidden_size'),
  num_experts: count('Experts of an MoE layer; `ep` must divide them.'),
  vocab_size: count('Vocabulary size before padding.'),
  make_vocab_size_divisible_by: withDefault(128, count('The vocabulary is padded to a multiple of this times `tp`.')),
  params_dtype: flag(
    '--bf16',
    options(
      'Type of the parameters. The training script takes fp32 without `--bf16` and `--fp16`.',
      ['bf16', 'fp16', 'fp32'],
      'bf16',
    ),
  ),
  kv_channels: count('Width of one attention head.', 'hidden_size / num_attention_heads'),
  position_embedding_type: open(
    'learned_absolute',
    options('How positions enter the model.', ['learned_absolute', 'rope', 'mrope', 'yarn', 'relative', 'none']),
  ),
  gated_linear_unit: flag('--swiglu', off('The feed-forward layer has a gate (SwiGLU and its kin).')),
  add_bias_linear: open(true, flag('--disable-bias-linear', boolean('Linear layers have biases.'))),
  normalization: open(
    'LayerNorm',
    options('The norm before attention and the feed-forward layer.', ['LayerNorm', 'RMSNorm']),
  ),
  hidden_dropout: open(
    0.1,
    share('Share of the hidden states that dropout zeroes. Above 0, a mask is kept for the backward pass.'),
  ),
  attention_dropout: open(0.1, share('Share of the attention scores that dropout zeroes.')),
  attention_backend: open(
    'auto',
    options('The kernels of attention; `unfused` and `local` write the scores to memory.', [
      'auto',
      'flash',
      'fused',
      'unfused',
      'local',
    ]),
  ),
  transformer_impl: open(
    'transformer_engine',
    options('Whose layers are used: `local` has no fused attention.', [
      'transformer_engine',
      'local',
      'inference_optimized',
    ]),
  ),
  cross_entropy_loss_fusion: off('Compute the loss in fused kernels.'),
  untie_embeddings_and_output_weights: off('The output layer has weights of its own, not those of the embedding.'),
  multi_latent_attention: off('Attention with compressed keys and values (MLA).'),
  q_lora_rank: count('MLA: width of the compressed queries.'),
  kv_lora_rank: open(32, count('MLA: width of the compressed keys and values.')),
  qk_head_dim: open(128, count('MLA: width of a query or key head without its rotary part.')),
  qk_pos_emb_head_dim: open(64, count('MLA: width of the rotary part of a head.')),
  v_head_dim: open(128, count('MLA: width of a value head.')),
  mtp_num_layers: natural(
    'Layers of multi-token prediction, one a depth; they stand in the last stage unless a layout places them.',
  ),
  hybrid_layer_pattern: text(
    'The layers of a hybrid model, one symbol a layer (M Mamba, * attention, - MLP, E MoE, G gated delta net, + MLA, D sparse attention), `|` between pipeline stages, `/` before each MTP depth.',
  ),
  hybrid_override_pattern: text('The former name of `hybrid_layer_pattern`; only one of the two may be written.'),
  mtp_hybrid_override_pattern: text(
    'The layers of one MTP depth, as old checkpoints of hybrid models say them; `hybrid_layer_pattern` says them behind `/`.',
  ),
  mamba_num_heads: count('Heads of a Mamba layer.'),
  mamba_num_groups: open(8, count('Groups of a Mamba layer.')),
  mamba_head_dim: open(64, count('Width of a Mamba head.')),
  mamba_state_dim: open(128, count('Width of the state of a Mamba layer.')),
  experimental_attention_variant: text('An attention of another kind, such as `gated_delta_net` or `dsa`.'),
  linear_num_key_heads: open(16, count('Key heads of a linear-attention layer.')),
  linear_num_value_heads: open(32, count('Value heads of a linear-attention layer.')),
  linear_attention_freq: either('Which layers use linear attention: all but every n-th, or a list of 0 and 1.', [
    count('Every n-th layer.'),
    text('A Python expression of a list.'),
    list('1 for a layer of linear attention.', any('0 or 1.')),
  ]),
  moe_layer_freq: open(
    1,
    either('Which layers are MoE layers: every n-th, or a pattern such as `([0]*3+[1]*58)`, or a list of 0 and 1.', [
      count('Every n-th layer.'),
      text('A Python expression of a list.'),
      list('1 for an MoE layer.', any('0 or 1.')),
    ]),
  ),
  moe_router_topk: open(2, count('Experts that each token goes to.')),
  moe_router_score_function: open(
    'softmax',
    options('How the router turns logits into scores.', ['softmax', 'sigmoid', 'sqrtsoftplus']),
  ),
  moe_router_pre_softmax: open(
    false,
    boolean('Apply the softmax before the selection of experts; Megatron-LM asks for it with `moe_router_topk: 1`.'),
  ),
  moe_router_num_groups: count('Groups of experts from which the router picks.'),
  moe_router_group_topk: count('Groups of experts that each token may go to.'),
  moe_shared_expert_intermediate_size: count('Width of the shared experts together.'),
  encoder_num_layers: count('Layers of the encoder of an encoder-decoder model.'),
  decoder_num_layers: count('Layers of the decoder of an encoder-decoder model.'),
});

/** The ways in which context-parallel ranks exchange keys and values. */
const CP_COMM_TYPES = ['p2p', 'all_gather', 'a2a', 'a2a+p2p'] as const;

const sequenceKeys = {
  ...ownFlags({
    seq_length: count(
      'Tokens in one sequence. Pipeline stages exchange tensors of this length; where the job sets `variable_seq_lengths`, they exchange the shape of each tensor first, and this length sizes no transfer.',
    ),
    sequence_parallel: off('Spread the activations between TP regions over the sequence; needs `tp > 1`.'),
    tp_comm_overlap: off('Overlap TP communication with matrix products; needs `sequence_parallel`.'),
    max_seq_len: flag(
      '--max-position-embeddings',
      count('The longest sequence that the buffers are made for.', 'seq_length'),
    ),
  }),
  qkv_format: options('`sbhd`: padded sequences; `thd`: packed ones.', ['sbhd', 'thd'], 'sbhd'),
  pad_multiple: count(
    'To a multiple of what each packed sequence is padded: `make_sequence_length_divisible_by` of NeMo-RL.',
  ),
  variable_seq_lengths: off(
    'Sequences differ in length (an option of the library, without a flag): pipeline stages exchange the shape of every tensor first, so that `seq_length` does not size the transfers.',
  ),
  attention_mask: options(
    '`causal`, or a `dense` mask (which context parallelism cannot split).',
    ['causal', 'dense'],
    'causal',
  ),
  ...ownFlags({
    cp_comm_type: open(
      'p2p',
      either(
        'How context-parallel ranks exchange keys and values: `p2p`, `all_gather`, `a2a` or `a2a+p2p`; or a list, one a layer. The training script takes any other word too, and Transformer Engine then fails in the first layer.',
        [
          options('One way for all layers.', CP_COMM_TYPES),
          list('One way a layer.', options('The way of one layer.', CP_COMM_TYPES)),
        ],
      ),
    ),
    encoder_seq_length: count('Tokens in one sequence of the encoder.', 'seq_length'),
    decoder_seq_length: count('Tokens in one sequence of the decoder.'),
    max_seqlen_per_dp_cp_rank: count('Tokens that one rank takes under hybrid or dynamic context parallelism.'),
    sequence_packing_scheduler: since(
      'dev',
      text('How sequences are packed: `dp_balanced`, or `default_dynamic_cp` under dynamic context parallelism.'),
    ),
    pad_packed_seq_alignment: since(
      'dev',
      either('To what packed sequences are padded: `max`, or a number of tokens; CUDA graphs need it.', [
        text('`max`.'),
        count('Tokens.'),
      ]),
    ),
    dataloader_type: open('single', options('How batches are drawn.', ['single', 'cyclic', 'external'])),
    calculate_per_token_loss: off('Scale the loss by the number of tokens, not of sequences.'),
  }),
} as const;

const model = map('Facts about the model that the degrees must divide.', modelKeys);
const sequence = map('Facts about the sequences that the degrees must divide.', sequenceKeys);

const parallelismKeys = {
  ...denseDegrees,
  vpp: flag(
    '--num-virtual-stages-per-pipeline-rank',
    count('Virtual pipeline size: model chunks a stage (interleaved schedule); needs `pp > 1`.', 'no interleaving'),
  ),
  num_layers_per_virtual_pipeline_stage: flag(
    '--num-layers-per-virtual-pipeline-stage',
    count('Layers in one virtual stage: another way to write `vpp`.'),
  ),
  ...stageKeys,
  pipeline_schedule: text(
    'The pipeline schedule of frameworks that have several: `1F1B`, `GPipe`, `Interleaved1F1B`, `ZBVZeroBubble` (torchtitan); `1f1b`, `afab` (nanotron). Megatron-LM has 1F1B, interleaved with `vpp`.',
  ),
  overlap_p2p_comm: flag(
    '--no-overlap-p2p-communication',
    withDefault(
      true,
      boolean('Overlap the transfers between pipeline stages with computation (interleaved schedule).'),
    ),
  ),
  microbatch_group_size_per_vp_stage: flag('--microbatch-group-size-per-virtual-pipeline-stage', {
    ...natural('Micro-batches that one virtual stage runs in a row; at least `pp`.'),
    derived: 'pp',
  }),
  dp: degree(
    'Data-parallel size. Derived from the others; when written, it is checked.',
    'world_size / (tp * gtp_remat * cp * pp)',
  ),
  ulysses: degree(
    'Ulysses sequence-parallel size of frameworks other than Megatron-LM: over how many ranks attention trades tokens for heads by all-to-all.',
  ),
  ep: expertParallel,
  expt_tp: flag(
    '--expert-tensor-parallel-size',
    degree('Tensor-parallel size of the experts. Defaults to `tp` here (but to 1 under `modules`).', 'tp'),
  ),
  ...expertWeightShards,
  expt_dp: degree(
    'Data-parallel size of the experts. Derived; when written, it is checked.',
    'world_size / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
  order: flag(
    '--use-tp-pp-dp-mapping',
    withDefault(
      DEFAULT_ORDER,
      text(
        'Rank order: the leftmost dimension varies fastest. `gtp_remat` is placed after `tp` (dense) and after `ep` (expert). `--use-tp-pp-dp-mapping` stands for `tp-cp-ep-pp-dp`.',
      ),
    ),
  ),
  ...ownFlags({
    num_distributed_optimizer_instances: withDefault(
      1,
      count('In how many instances the distributed optimizer is replicated; each holds `dp * cp / instances` shards.'),
    ),
    hierarchical_context_parallel_sizes: list(
      'Sizes of the levels of hierarchical context parallelism; their product is `cp`.',
      count('Ranks at this level.'),
    ),
    hybrid_context_parallel: since(
      'core_r0.16 and later, not dev',
      off(
        'Each sequence runs on as many of the `dp * cp` ranks as its length needs; groups of every power of two are made.',
      ),
    ),
    dynamic_context_parallel: since('dev', off("The dev branch's successor of `hybrid_context_parallel`.")),
    min_dynamic_context_parallel_size: since(
      'dev',
      withDefault(1, {
        ...natural('The smallest group of dynamic context parallelism; at least 1.'),
        min: ANY_INTEGER,
      }),
    ),
  }),
} as const;

const moduleKeys = {
  rank_offset: withDefault(0, natural('The first global rank of the module.')),
  num_ranks: count('How many ranks the module has.', 'tp * gtp_remat * cp * pp * dp, when dp is written'),
  ...denseDegrees,
  dp: degree(
    'Data-parallel size: how many replicas of the module there are. Derived; when written, it is checked.',
    'num_ranks / (tp * gtp_remat * cp * pp)',
  ),
  ep: expertParallel,
  expt_tp: flag(
    '--expert-tensor-parallel-size',
    degree(
      'Tensor-parallel size of the experts. Defaults to 1 here (but to `tp` under `parallelism`): with `ep > 1`, write it.',
    ),
  ),
  ...expertWeightShards,
  expt_dp: degree(
    'Data-parallel size of the experts. Derived; when written, it is checked.',
    'num_ranks / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
  ...stageKeys,
  model,
  sequence,
} as const;

const slotEntryKeys = {
  dp: required(natural('Index of the data-parallel replica.')),
  cp: natural('Context-parallel slice; left out: the whole replica.'),
  pp: natural('Pipeline stage; left out: the whole replica.'),
  local_ranks: required(
    list('Local TP slots (0 to `tp_base - 1`, not global ranks) that are removed.', natural('A local TP slot.')),
  ),
} as const;

const ntpKeys = {
  tp_base: count('Tensor-parallel size of healthy replicas.', 'tp'),
  tp_spares: withDefault(0, natural('Local TP slots removed from each reduced replica; 0 switches nonuniform TP off.')),
  num_reduced_tp_dp_ranks: withDefault(
    1,
    count('How many data-parallel replicas, from dp 0, run with fewer TP ranks.'),
  ),
  non_active_ranks_per_dp: list(
    'Which slots are removed, replica by replica. Each reduced replica needs an entry.',
    map('One replica, or one slice of it.', slotEntryKeys),
  ),
  failed_ranks: list('Global ranks known to be broken; each must be non-active.', natural('A global rank.')),
  placement: options(
    '`nominal`: every slot is launched and spares exit; `packed`: only active slots are launched.',
    ['nominal', 'packed'],
    'nominal',
  ),
} as const;

/** What trains, where a framework has a choice. */
export const ENGINES = ['megatron', 'fsdp', 'deepspeed', 'transformers', 'torchtitan'] as const;

/** The versions of Megatron-LM whose rules are known. */
export const MEGATRON_VERSIONS = [
  ...(['main', 'dev', 'core_r0.19', 'core_r0.18', 'core_r0.17', 'core_r0.16'] as const),
  ...(['core_r0.15', 'core_r0.14', 'core_r0.13', 'core_r0.12'] as const),
] as const;
export type MegatronVersion = (typeof MEGATRON_VERSIONS)[number];

/** One phase of a reinforcement-learning job: a grid of its own over GPUs that phases share in turn. */
const phaseKeys = {
  engine: options(
    'What runs the phase: Megatron Core or FSDP trains and scores, vLLM or SGLang generates.',
    ['megatron', 'fsdp', 'vllm', 'sglang'],
    'megatron',
  ),
  memory_share: share(
    'Share of the memory of a GPU that the engine takes: `gpu_memory_utilization` of vLLM, `mem_fraction_static` of SGLang.',
  ),
  max_model_len: count(
    'Tokens of the longest sequence of the engine, prompt and response together: `max_model_len` of vLLM, `context_length` of SGLang.',
  ),
  rank_offset: withDefault(0, natural('The first global rank of the phase.')),
  num_ranks: count('How many ranks the phase has.', 'world_size - rank_offset'),
  ...denseDegrees,
  dp: degree('Replicas of the model. Derived; when written, it is checked.', 'num_ranks / (tp * gtp_remat * cp * pp)'),
  vpp: flag('--num-virtual-stages-per-pipeline-rank', count('Virtual pipeline size.', 'no interleaving')),
  ep: expertParallel,
  expt_tp: flag('--expert-tensor-parallel-size', degree('Tensor-parallel size of the experts.', 'tp')),
  ulysses: degree('Ulysses sequence-parallel size of a phase on FSDP.'),
  micro_batch_size: count('Samples that one GPU trains on at a time: `critic.ppo_micro_batch_size_per_gpu` of verl.'),
  forward_micro_batch_size: count(
    'Samples that one GPU scores at a time: `critic.forward_micro_batch_size_per_gpu` of verl.',
  ),
  mini_batch_size: count(
    'Prompts in one update of the critic: `critic.ppo_mini_batch_size` of verl.',
    'rl.mini_batch_size',
  ),
  global_batch_size: count('Samples in one update of the critic: `value.train_global_batch_size` of NeMo-RL.'),
  dynamic_batch: boolean("The critic's micro-batches are cut by tokens. Left out: as `rl.dynamic_batch`."),
  max_tokens_per_gpu: count(
    "Tokens that one GPU takes of the critic's micro-batch that is cut by tokens: `critic.ppo_max_token_len_per_gpu` of verl.",
  ),
} as const;

/** The checks that a smoke job can run. */
const SMOKE_CHECKS = ['groups', 'collectives', 'bandwidth', 'ntp', 'sequence', 'all_gather_overlap'] as const;

/** The rollouts of a reinforcement-learning job: what is generated in a step, and how it is trained on. */
const rlKeys = {
  prompts_per_step: count(
    'Prompts of one step: `data.train_batch_size` of verl, `--rollout-batch-size` of slime, `num_prompts_per_step` of NeMo-RL.',
  ),
  samples_per_prompt: degree(
    'Samples that are generated for each prompt: `rollout.n` of verl, `--n-samples-per-prompt` of slime, `num_generations_per_prompt` of NeMo-RL, `num_generations` of ms-swift.',
  ),
  generation_batch_size: count('Samples generated in one step of ms-swift.', 'global_batch_size * updates_per_step'),
  mini_batch_size: count('Prompts in one update of verl: `ppo_mini_batch_size`.'),
  updates_per_step: count(
    'Updates with the samples of one step: `--num-steps-per-rollout` of slime, `steps_per_generation` of ms-swift.',
  ),
  dynamic_batch: off('Micro-batches are cut by tokens, whatever their number of samples.'),
  max_tokens_per_gpu: count(
    'Tokens that one GPU takes of a micro-batch that is cut by tokens: `ppo_max_token_len_per_gpu` of verl, `--max-tokens-per-gpu` of slime. The ranks that share a sequence add theirs up.',
  ),
  max_prompt_length: count('Tokens of the longest prompt.'),
  max_response_length: count('Tokens of the longest response.'),
  colocated: boolean('The engines share the GPUs of the trainer, in turn with it.'),
  rollout_gpus: count('GPUs that the engines have of their own, beside the world of the trainer.'),
  gpus_per_engine: count(
    'GPUs of one engine, where the engines have GPUs of their own.',
    'tp * pp of the phase rollout',
  ),
} as const;

const rootKeys = {
  layout: required(count('The version of the format: 1.')),
  megatron: options(
    'The version of Megatron-LM that the job runs; rules, predicted errors and process groups follow it. A section that only `dev` has implies `dev`.',
    MEGATRON_VERSIONS,
    'main',
  ),
  name: text('Shown in titles and reports.'),
  description: text('What the layout is for.'),
  world_size: flag(
    '--nproc-per-node x --nnodes of torchrun',
    count('Ranks in the job: one rank is one process on one GPU.', 'cluster.nodes * cluster.gpus_per_node'),
  ),
  cluster: map('Where ranks land: rank r runs on node floor(r / gpus_per_node).', {
    nodes: required(flag('--nnodes of torchrun', count('Number of machines.'))),
    gpus_per_node: required(flag('--nproc-per-node of torchrun', count('GPUs on each machine; each runs one rank.'))),
    gpus_per_nvlink_domain: count(
      'GPUs that reach one another over NVLink: 72 on an NVL72 rack.',
      '72 for GB200 and GB300, else gpus_per_node',
    ),
    gpu: text('The kind of GPU, such as `H100-80GB`.'),
    nvlink_bandwidth: size(
      'Bytes a second that one GPU sends over NVLink, as the smoke job measures it: `268GB`. Left out: by the data sheet of `gpu`.',
    ),
    network_bandwidth: size(
      'Bytes a second that one GPU sends over the network, as the smoke job measures it: `46GB`. Left out: the network card that the vendor puts beside each GPU (`explain gpu`).',
    ),
    nvlink_latency: duration(
      'The least that a collective of two ranks takes over NVLink, as the smoke job measures it: `25us`.',
    ),
    network_latency: duration(
      'The least that a collective of two ranks takes over the network, as the smoke job measures it: `60us`.',
    ),
    gpu_memory: size('Memory of one GPU, with a unit: `80GB`.'),
  }),
  launch: map('The launch files that this layout stands for.', {
    family: text(
      'The framework that starts the job, such as `megatron-lm`, `torchtitan` or `verl`: its rules and process groups hold for this file.',
    ),
    engine: options('What trains, where the framework has several engines: verl runs Megatron Core or FSDP.', ENGINES),
    files: list('The files, relative to this one.', text('A path.')),
  }),
  parallelism: map('One grid over the whole world (semantics of `initialize_model_parallel`).', parallelismKeys),
  modules: record(
    'One grid a module (semantics of `ModuleGridSpec`): heterogeneous jobs such as an encoder beside a language model.',
    map('One module of a heterogeneous job.', moduleKeys),
  ),
  model,
  sequence,
  batch: map(
    'Batch sizes, in sequences.',
    ownFlags({
      micro_batch_size: count('Sequences that one replica runs at a time.'),
      global_batch_size: count('Sequences in one optimizer step, over all replicas.'),
      gradient_accumulation_steps: withoutFlag(
        count(
          'Micro-batches whose gradients a replica adds up before a step, where the framework compares them with the batch, as DeepSpeed does.',
          'global_batch_size / (micro_batch_size * dp)',
        ),
      ),
      pipeline_microbatches: withoutFlag(
        count(
          'Micro-batches of one pass through the pipeline of torchtitan: `num_pp_microbatches`, once `local_batch_size / pipeline_parallel_microbatch_size`.',
        ),
      ),
      decrease_batch_size_if_needed: off(
        'Round the global batch down to what the replicas can share, in place of an error.',
      ),
      rampup_batch_size: list(
        'Start, increment and samples of a batch-size ramp; Megatron-LM ignores it since it has step schedules.',
        any('A whole number.'),
      ),
      step_batch_size_schedule: text('Batch sizes by step: `0:8 64K:16`, threshold and batch size.'),
      eval_micro_batch_size: count('Sequences that one replica evaluates at a time.', 'micro_batch_size'),
      eval_global_batch_size: count('Sequences of one step of evaluation.', 'global_batch_size'),
    }),
  ),
  optimizer: map(
    'What the optimizer holds and when its communication runs.',
    ownFlags({
      optimizer: open(
        'adam',
        text('The optimizer: `adam`, `sgd`, `lion`, `soap`, `muon`, `adaptive_muon` or `dist_muon`.'),
      ),
      zero_stage: {
        ...natural(
          'The ZeRO stage of DeepSpeed: what is sharded over the data-parallel ranks (0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too).',
        ),
        flag: '--zero-stage',
      },
      use_distributed_optimizer: off('Shard the optimizer state over the data-parallel ranks.'),
      overlap_grad_reduce: off('Reduce gradients while the backward pass runs.'),
      overlap_param_gather: off('Gather parameters while the forward pass runs.'),
      overlap_param_gather_with_optimizer_step: off(
        'Gather the parameters of the first chunk while the optimizer steps.',
      ),
      use_precision_aware_optimizer: off('Keep optimizer states and gradients in the types of the `_dtype` keys.'),
      main_params_dtype: open('fp32', options('Type of the main parameters.', ['fp32', 'fp16'])),
      main_grads_dtype: open('fp32', options('Type of the main gradients.', ['fp32', 'bf16'])),
      exp_avg_dtype: open('fp32', options('Type of the first moment.', ['fp32', 'fp16', 'bf16', 'fp8'])),
      exp_avg_sq_dtype: open('fp32', options('Type of the second moment.', ['fp32', 'fp16', 'bf16', 'fp8'])),
      gradient_accumulation_fusion: open(
        true,
        flag(
          '--no-gradient-accumulation-fusion',
          boolean('Accumulate weight gradients inside the matrix-product kernel.'),
        ),
      ),
      defer_embedding_wgrad_compute: off(
        'Compute the weight gradients of the embedding while the pipeline empties; needs `pp` above 1.',
      ),
      grad_reduce_in_bf16: off('Reduce gradients in bf16.'),
      optimizer_cpu_offload: off('Keep the optimizer state in host memory.'),
    }),
  ),
  precision: map(
    'Types narrower than those of the parameters.',
    ownFlags({
      fp8_format: options('The format of 8-bit matrix products.', ['e4m3', 'hybrid']),
      fp8_recipe: open(
        'delayed',
        options('How 8-bit values are scaled.', ['tensorwise', 'delayed', 'mxfp8', 'blockwise', 'custom']),
      ),
      fp8_param_gather: off('Keep and gather parameters in 8 bits.'),
      fp4_format: options('The format of 4-bit matrix products.', ['e2m1']),
      fp4_param_gather: off('Keep and gather parameters in 4 bits.'),
    }),
  ),
  lora: map('Low-rank adapters: they train, and the parameters of the model stay as they are.', {
    rank: required(count('Width of the two matrices of an adapter, which stands beside every linear layer.')),
  }),
  recompute: map(
    'Which activations are computed again in the backward pass.',
    ownFlags({
      granularity: flag(
        '--recompute-granularity',
        options('What is recomputed: whole layers (`full`), or some modules of them (`selective`).', [
          'full',
          'selective',
        ]),
      ),
      method: flag(
        '--recompute-method',
        options('How full recomputation picks layers: `uniform` pieces, or a `block` of each stage.', [
          'uniform',
          'block',
        ]),
      ),
      num_layers: flag('--recompute-num-layers', natural('Layers in one piece (`uniform`), or in all (`block`).')),
      distribute_saved_activations: off(
        'Spread the saved activations of whole layers over the TP ranks; excludes `sequence_parallel`.',
      ),
      modules: flag(
        '--recompute-modules',
        list(
          'The modules that selective recomputation recomputes.',
          text('Such as `core_attn`, `moe_act`, `layernorm`, `mla_up_proj`, `mlp`, `moe`, `shared_experts`.'),
        ),
      ),
    }),
  ),
  moe: map(
    'How MoE layers move their tokens.',
    ownFlags({
      moe_token_dispatcher_type: open(
        'allgather',
        options('How tokens reach their experts.', ['allgather', 'alltoall', 'flex']),
      ),
      moe_enable_deepep: off('The flex dispatcher uses DeepEP.'),
      moe_flex_dispatcher_backend: open(
        'deepep',
        options('What the flex dispatcher sends tokens with.', ['deepep', 'hybridep', 'ncclep']),
      ),
      moe_router_load_balancing_type: open(
        'aux_loss',
        either('How the router balances the experts, such as `aux_loss`, `seq_aux_loss`, `sinkhorn` or `none`.', [
          text('One way.'),
          list('Several ways.', text('One way.')),
        ]),
      ),
      moe_expert_capacity_factor: any(
        'Tokens that an expert takes, over its even share of them; a negative number is no limit.',
      ),
      moe_pad_expert_input_to_capacity: off('Pad the tokens of each expert to its capacity.'),
      moe_shared_expert_overlap: off('Run the shared experts while tokens travel.'),
      overlap_moe_expert_parallel_comm: off(
        'Overlap the expert all-to-all with the computation of another micro-batch.',
      ),
      delay_wgrad_compute: off('Compute weight gradients later, to overlap them.'),
      moe_grouped_gemm: off('Run the experts of a rank as one grouped product.'),
    }),
  ),
  cuda_graph: map(
    'CUDA graphs, which replay a recorded step.',
    ownFlags({
      cuda_graph_impl: options(
        'What captures the graphs.',
        ['none', 'local', 'transformer_engine', 'full_iteration'],
        'none',
      ),
      enable_cuda_graph: off('The former way to write `cuda_graph_impl: local`.'),
      external_cuda_graph: off('The former way to write `cuda_graph_impl: transformer_engine`.'),
      cuda_graph_modules: list(
        'The parts of a layer that are captured; left out, whole layers are.',
        text('Such as `attn`, `mlp`, `moe`, `moe_router`, `moe_preprocess`, `mamba`.'),
      ),
    }),
  ),
  environment: map(
    'Environment variables of the ranks. Where the map is written, what it leaves out is known to be unset.',
    {
      CUDA_DEVICE_MAX_CONNECTIONS: natural(
        'Queues to a GPU. Before Blackwell, tensor and context parallelism need 1; FSDP needs more, or none written.',
      ),
    },
  ),
  checkpoint: map(
    'How checkpoints are written.',
    ownFlags({
      ckpt_format: open(
        'torch_dist',
        options('The format of checkpoints; Megatron-FSDP needs `fsdp_dtensor`.', [
          'torch',
          'torch_dist',
          'torch_dcp',
          'fsdp_dtensor',
        ]),
      ),
      optimizer_sharding: flag('--dist-ckpt-optim-fully-reshardable', {
        ...options(
          'How the states of a distributed optimizer are cut in a checkpoint: `dp_reshardable` loads only where tp, pp, vpp and ep stay.',
          ['dp_reshardable', 'fully_reshardable', 'fully_sharded_model_space'],
          'dp_reshardable',
        ),
        whenOn: 'fully_reshardable' as const,
      }),
      fully_parallel_save: flag(
        '--no-ckpt-fully-parallel-save',
        withDefault(true, boolean('Every data-parallel rank writes a share of the checkpoint.')),
      ),
    }),
  ),
  ntp: map('Nonuniform tensor parallelism: go on with fewer TP ranks where GPUs failed.', ntpKeys),
  fsdp: map('Megatron-FSDP and its separate all-gather groups.', {
    ...ownFlags({
      enabled: flag(
        '--use-megatron-fsdp',
        off('Shard parameters, gradients and optimizer state over data-parallel ranks.'),
      ),
      data_parallel_sharding_strategy: open(
        'optim_grads_params',
        options('What is sharded.', ['no_shard', 'optim', 'optim_grads', 'optim_grads_params']),
      ),
      outer_dp_sharding_strategy: open(
        'no_shard',
        options(
          'What is sharded over the instances too (hybrid sharding, with `num_distributed_optimizer_instances`).',
          ['no_shard', 'optim'],
        ),
      ),
      megatron_fsdp_version: since(
        'main',
        open(1, count('1, or 2: the rewrite, for data and expert parallelism only.')),
      ),
      torch_fsdp2: flag(
        '--use-torch-fsdp2',
        off("PyTorch's own fully sharded data parallelism in place of Megatron-FSDP."),
      ),
      create_all_gather_group: off(
        'A second communicator with the ranks of `dp_cp`, so that all-gather overlaps reduce-scatter.',
      ),
    }),
    data_parallel_replicate_degree: degree(
      'How often the parameters are replicated, in frameworks that shard by torch FSDP: `dp` is this times the shard degree.',
    ),
    data_parallel_shard_degree: {
      type: 'integer',
      min: -1,
      doc: 'Over how many ranks parameters, gradients and optimizer state are sharded, in frameworks that shard by torch FSDP. In torchtitan, -1 is what the other degrees leave of the world.',
    } as IntegerSpec,
    create_expert_all_gather_group: {
      ...boolean('The same for `expt_dp`.'),
      derived: 'create_all_gather_group and ep > 1',
    },
  }),
  phases: record(
    'The phases of a reinforcement-learning job (`train`, `reference`, `rollout`, ...) over the same GPUs, each with degrees of its own.',
    map('One phase.', phaseKeys),
  ),
  rl: map('The rollouts of a reinforcement-learning job: batches, lengths, GPUs.', rlKeys),
  communicators: map(
    'Options of the communicators.',
    ownFlags({
      fake_process_group: off('No communication at all: one rank runs a job of many, to try it without GPUs.'),
      use_sharp: off('In-network reduction by SHARP.'),
      sharp_enabled_group: text('The group that uses SHARP: `dp` or `dp_replica`.'),
      high_priority_stream_groups: list(
        'Process groups whose communicators run on high-priority streams.',
        text('The name of a process group, such as `dp_cp` or `ep`.'),
      ),
    }),
  ),
  smoke: map('What the smoke job runs.', {
    checks: list('The checks to run.', options('A check of the smoke job.', SMOKE_CHECKS)),
    payload: withDefault('64MiB', size('Bytes that each timed collective moves, with a unit: `64MiB`.')),
    iterations: withDefault(5, count('Timed repetitions of each collective.')),
    timeout: withDefault('60s', duration('The longest that one step may take, with a unit: `60s`.')),
  }),
} as const;

/** The one description of the layout file: every reader, schema, hover and completion comes from here. */
export const FORMAT: MapSpec<typeof rootKeys> = map('A parallelism layout file.', rootKeys);

/** The paths of the keys of a map and of the maps in it. */
type PathsOf<K> = { readonly [P in keyof K & string]: P | PathsBelow<K[P], P> }[keyof K & string];

/** The paths of the keys below one key: lists are passed through, and the author of a file names the entries of a record. */
type PathsBelow<S, P extends string> =
  S extends MapSpec<infer K>
    ? `${P}.${PathsOf<K>}`
    : S extends ListSpec<MapSpec<infer K>>
      ? `${P}.${PathsOf<K>}`
      : S extends RecordSpec<MapSpec<infer K>>
        ? `${P}.${string}.${PathsOf<K>}`
        : never;

/** The path of a key of the format, such as `parallelism.tp` or `modules.vision.tp`. A path that no file can have does not compile. */
export type KeyPath = PathsOf<RootKeys>;

export type RootKeys = typeof rootKeys;
export type ModuleKeys = typeof moduleKeys;
export type ModelKeys = typeof modelKeys;
export type SequenceKeys = typeof sequenceKeys;
export type PhaseKeys = typeof phaseKeys;
export type RlKeys = typeof rlKeys;
export type NtpKeys = typeof ntpKeys;
export type SlotEntryKeys = typeof slotEntryKeys;
