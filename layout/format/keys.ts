import type {
  AnySpec,
  BooleanSpec,
  EitherSpec,
  EnumSpec,
  IntegerSpec,
  KeySpec,
  Keys,
  ListSpec,
  MapSpec,
  RecordSpec,
  ShareSpec,
  StringSpec,
} from './spec';

/** The newest version of the format. */
export const FORMAT_VERSION = 1;

/** The dimensions that a rank order may name. */
export const ORDER_TOKENS = ['tp', 'cp', 'ep', 'dp', 'pp', 'gtp_remat'] as const;

/** Megatron's default rank order. */
export const DEFAULT_ORDER = 'tp-cp-ep-dp-pp';

const degree = (doc: string, flag?: string, derived?: string): IntegerSpec => ({
  ...count(doc, flag, derived),
  ...(derived === undefined && { default: 1 }),
});

const count = (doc: string, flag?: string, derived?: string): IntegerSpec => ({
  type: 'integer',
  min: 1,
  doc,
  ...(flag && { flag }),
  ...(derived && { derived }),
});

const flagged = (doc: string, flag?: string): BooleanSpec => ({
  type: 'boolean',
  default: false,
  doc,
  ...(flag && { flag }),
});

function options<const T extends string>(
  doc: string,
  values: readonly T[],
  more: { flag?: string; default?: NoInfer<T> } = {},
): EnumSpec<T> {
  return { type: 'enum', options: values, doc, ...more };
}

const text = (doc: string, flag?: string): StringSpec => ({ type: 'string', doc, ...(flag && { flag }) });

function either<const F extends readonly KeySpec[]>(doc: string, forms: F, flag?: string): EitherSpec<F> {
  return { type: 'either', forms, doc, ...(flag && { flag }) };
}

/** The same key as one of which the rules take nothing where it is not written; Megatron-LM takes `value`. */
function open<S extends KeySpec>(value: string | number | boolean, spec: S): S & { readonly megatronTakes: string } {
  return { ...spec, megatronTakes: String(value) };
}

/** The same key as one that only some versions of Megatron-LM know. */
function since<S extends KeySpec>(versions: string, spec: S): S & { readonly since: string } {
  return { ...spec, since: versions };
}

function list<I extends KeySpec>(doc: string, items: I, flag?: string): ListSpec<I> {
  return { type: 'list', items, doc, ...(flag && { flag }) };
}

function map<K extends Keys>(doc: string, keys: K): MapSpec<K> {
  return { type: 'map', keys, doc };
}

/** The least of a number of which a rule says what Megatron-LM makes of it, also below 1. */
export const ANY_INTEGER = Number.MIN_SAFE_INTEGER;

/** The versions that have generalized tensor parallelism. */
const WITH_GTP = 'main, core_r0.19';

const denseDegrees = {
  tp: degree(
    'Tensor-parallel size: over how many ranks each weight matrix is cut. TP talks most, so keep it inside one NVLink domain.',
    '--tensor-model-parallel-size',
  ),
  gtp_remat: since(
    WITH_GTP,
    degree(
      'Generalized tensor parallelism: weights are cut `tp * gtp_remat` ways and gathered again before use. It has no flag: the training script derives it from `num_weight_shards`.',
    ),
  ),
  num_weight_shards: since(
    WITH_GTP,
    count(
      'The total number of weight shards, `tp * gtp_remat`: another way to write `gtp_remat`.',
      '--tensor-parallel-num-weight-shards',
      'tp * gtp_remat',
    ),
  ),
  cp: degree(
    'Context-parallel size: over how many ranks the tokens of one sequence are spread.',
    '--context-parallel-size',
  ),
  pp: degree('Pipeline-parallel size: number of stages that share the layers.', '--pipeline-model-parallel-size'),
} as const;

const expertParallel = degree(
  'Expert-parallel size: over how many ranks the experts of an MoE layer are spread.',
  '--expert-model-parallel-size',
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
    count(
      'The total number of shards of an expert weight, `expt_tp * expt_gtp_remat`.',
      '--expert-tensor-parallel-num-weight-shards',
      'expt_tp * expt_gtp_remat',
    ),
  ),
} as const;

/** Where the layers go, for `parallelism` and one of `modules` alike. */
const stageKeys = {
  pipeline_model_parallel_layout: since(
    'core_r0.14 and later',
    either(
      'Which layers each pipeline stage holds: `Et*3|(tt|)*29m|L` (E embedding, t decoder layer, m MTP layer, L loss), or a list of stages as lists of `embedding`, `decoder`, `mtp`, `loss`. The k-th stage is of pipeline rank `k mod pp`, virtual stage `k div pp`.',
      [
        text('The stages as a string, with `|` between them.'),
        list('The stages, each a list of layers.', { type: 'any', doc: 'The layers of one stage.' } as AnySpec),
      ],
      '--pipeline-model-parallel-layout',
    ),
  ),
  account_for_embedding_in_pipeline_split: flagged(
    'Count the embedding as one layer when the layers are split over the stages.',
    '--account-for-embedding-in-pipeline-split',
  ),
  account_for_loss_in_pipeline_split: flagged(
    'Count the loss as one layer when the layers are split over the stages.',
    '--account-for-loss-in-pipeline-split',
  ),
} as const;

const modelKeys = {
  num_layers: count('Transformer layers in the model.', '--num-layers'),
  num_layers_in_first_pipeline_stage: count(
    'Layers in the first pipeline stage, where it differs from the others.',
    '--decoder-first-pipeline-num-layers',
  ),
  num_layers_in_last_pipeline_stage: count(
    'Layers in the last pipeline stage, where it differs from the others.',
    '--decoder-last-pipeline-num-layers',
  ),
  num_attention_heads: count('Attention heads; `tp` must divide them.', '--num-attention-heads'),
  num_query_groups: count(
    'Key/value heads of grouped-query attention; a multiple or a divisor of `tp`.',
    '--num-query-groups',
    'num_attention_heads',
  ),
  hidden_size: count('Width of the residual stream.', '--hidden-size'),
  ffn_hidden_size: count('Width of the feed-forward layer.', '--ffn-hidden-size', '4 * hidden_size'),
  moe_ffn_hidden_size: count('Width of one expert.', '--moe-ffn-hidden-size', 'ffn_hidden_size'),
  num_experts: count('Experts of an MoE layer; `ep` must divide them.', '--num-experts'),
  vocab_size: count('Vocabulary size before padding.', '--vocab-size'),
  make_vocab_size_divisible_by: {
    ...count('The vocabulary is padded to a multiple of this times `tp`.', '--make-vocab-size-divisible-by'),
    default: 128,
  },
  params_dtype: options(
    'Type of the parameters. The training script takes fp32 without `--bf16` and `--fp16`.',
    ['bf16', 'fp16', 'fp32'],
    { default: 'bf16', flag: '--bf16' },
  ),
  kv_channels: count('Width of one attention head.', '--kv-channels', 'hidden_size / num_attention_heads'),
  position_embedding_type: open(
    'learned_absolute',
    options('How positions enter the model.', ['learned_absolute', 'rope', 'mrope', 'yarn', 'relative', 'none'], {
      flag: '--position-embedding-type',
    }),
  ),
  gated_linear_unit: flagged('The feed-forward layer has a gate (SwiGLU and its kin).', '--swiglu'),
  add_bias_linear: open(true, {
    type: 'boolean',
    doc: 'Linear layers have biases.',
    flag: '--disable-bias-linear',
  } as BooleanSpec),
  normalization: open(
    'LayerNorm',
    options('The norm before attention and the feed-forward layer.', ['LayerNorm', 'RMSNorm'], {
      flag: '--normalization',
    }),
  ),
  hidden_dropout: open(0.1, {
    type: 'share',
    doc: 'Share of the hidden states that dropout zeroes. Above 0, a mask is kept for the backward pass.',
    flag: '--hidden-dropout',
  } as ShareSpec),
  attention_backend: open(
    'auto',
    options(
      'The kernels of attention; `unfused` and `local` write the scores to memory.',
      ['auto', 'flash', 'fused', 'unfused', 'local'],
      { flag: '--attention-backend' },
    ),
  ),
  transformer_impl: open(
    'transformer_engine',
    options(
      'Whose layers are used: `local` has no fused attention.',
      ['transformer_engine', 'local', 'inference_optimized'],
      { flag: '--transformer-impl' },
    ),
  ),
  cross_entropy_loss_fusion: flagged('Compute the loss in fused kernels.', '--cross-entropy-loss-fusion'),
  untie_embeddings_and_output_weights: flagged(
    'The output layer has weights of its own, not those of the embedding.',
    '--untie-embeddings-and-output-weights',
  ),
  multi_latent_attention: flagged('Attention with compressed keys and values (MLA).', '--multi-latent-attention'),
  q_lora_rank: count('MLA: width of the compressed queries.', '--q-lora-rank'),
  kv_lora_rank: open(32, count('MLA: width of the compressed keys and values.', '--kv-lora-rank')),
  qk_head_dim: open(128, count('MLA: width of a query or key head without its rotary part.', '--qk-head-dim')),
  qk_pos_emb_head_dim: open(64, count('MLA: width of the rotary part of a head.', '--qk-pos-emb-head-dim')),
  v_head_dim: open(128, count('MLA: width of a value head.', '--v-head-dim')),
  mtp_num_layers: {
    type: 'integer',
    min: 0,
    doc: 'Layers of multi-token prediction, one a depth; they stand in the last stage unless a layout places them.',
    flag: '--mtp-num-layers',
  } as IntegerSpec,
  hybrid_layer_pattern: text(
    'The layers of a hybrid model, one symbol a layer (M Mamba, * attention, - MLP, E MoE, G gated delta net, + MLA, D sparse attention), `|` between pipeline stages, `/` before each MTP depth.',
    '--hybrid-layer-pattern',
  ),
  hybrid_override_pattern: text(
    'The former name of `hybrid_layer_pattern`; only one of the two may be written.',
    '--hybrid-override-pattern',
  ),
  mtp_hybrid_override_pattern: text(
    'The layers of one MTP depth, as old checkpoints of hybrid models say them; `hybrid_layer_pattern` says them behind `/`.',
    '--mtp-hybrid-override-pattern',
  ),
  mamba_num_heads: count('Heads of a Mamba layer.', '--mamba-num-heads'),
  mamba_num_groups: open(8, count('Groups of a Mamba layer.', '--mamba-num-groups')),
  mamba_head_dim: open(64, count('Width of a Mamba head.', '--mamba-head-dim')),
  mamba_state_dim: open(128, count('Width of the state of a Mamba layer.', '--mamba-state-dim')),
  experimental_attention_variant: text(
    'An attention of another kind, such as `gated_delta_net` or `dsa`.',
    '--experimental-attention-variant',
  ),
  linear_num_key_heads: open(16, count('Key heads of a linear-attention layer.', '--linear-num-key-heads')),
  linear_num_value_heads: open(32, count('Value heads of a linear-attention layer.', '--linear-num-value-heads')),
  linear_attention_freq: either(
    'Which layers are of linear attention: every n-th is not, or a list of 0 and 1.',
    [
      count('Every n-th layer.'),
      text('A Python expression of a list.'),
      list('1 for a layer of linear attention.', { type: 'any', doc: '0 or 1.' } as AnySpec),
    ],
    '--linear-attention-freq',
  ),
  moe_layer_freq: open(
    1,
    either(
      'Which layers are MoE layers: every n-th, or a pattern such as `([0]*3+[1]*58)`, or a list of 0 and 1.',
      [
        count('Every n-th layer.'),
        text('A Python expression of a list.'),
        list('1 for an MoE layer.', { type: 'any', doc: '0 or 1.' } as AnySpec),
      ],
      '--moe-layer-freq',
    ),
  ),
  moe_router_topk: open(2, count('Experts that each token goes to.', '--moe-router-topk')),
  moe_router_score_function: open(
    'softmax',
    options('How the router turns logits into scores.', ['softmax', 'sigmoid', 'sqrtsoftplus'], {
      flag: '--moe-router-score-function',
    }),
  ),
  moe_router_pre_softmax: open(false, {
    type: 'boolean',
    doc: 'Apply the softmax before the selection of experts; Megatron-LM asks for it with `moe_router_topk: 1`.',
    flag: '--moe-router-pre-softmax',
  }),
  moe_router_num_groups: count('Groups of experts from which the router picks.', '--moe-router-num-groups'),
  moe_router_group_topk: count('Groups of experts that each token may go to.', '--moe-router-group-topk'),
  moe_shared_expert_intermediate_size: count(
    'Width of the shared experts together.',
    '--moe-shared-expert-intermediate-size',
  ),
  encoder_num_layers: count('Layers of the encoder of an encoder-decoder model.', '--encoder-num-layers'),
  decoder_num_layers: count('Layers of the decoder of an encoder-decoder model.', '--decoder-num-layers'),
} as const;

/** The ways in which context-parallel ranks exchange keys and values. */
const CP_COMM_TYPES = ['p2p', 'all_gather', 'a2a', 'a2a+p2p'] as const;

const sequenceKeys = {
  seq_length: count('Tokens in one sequence.', '--seq-length'),
  sequence_parallel: flagged(
    'Spread the activations between TP regions over the sequence; needs `tp > 1`.',
    '--sequence-parallel',
  ),
  tp_comm_overlap: flagged(
    'Overlap TP communication with matrix products; needs `sequence_parallel`.',
    '--tp-comm-overlap',
  ),
  max_seq_len: count('The longest sequence that the buffers are made for.', '--max-position-embeddings', 'seq_length'),
  qkv_format: options('`sbhd`: padded sequences; `thd`: packed ones.', ['sbhd', 'thd'], { default: 'sbhd' }),
  attention_mask: options(
    '`causal`, or a `dense` mask (which context parallelism cannot split).',
    ['causal', 'dense'],
    {
      default: 'causal',
    },
  ),
  cp_comm_type: open(
    'p2p',
    either(
      'How context-parallel ranks exchange keys and values: `p2p`, `all_gather`, `a2a` or `a2a+p2p`; or a list, one a layer. The training script takes any other word too, and Transformer Engine then fails in the first layer.',
      [
        options('One way for all layers.', CP_COMM_TYPES),
        list('One way a layer.', options('The way of one layer.', CP_COMM_TYPES)),
      ],
      '--cp-comm-type',
    ),
  ),
  encoder_seq_length: count('Tokens in one sequence of the encoder.', '--encoder-seq-length', 'seq_length'),
  decoder_seq_length: count('Tokens in one sequence of the decoder.', '--decoder-seq-length'),
  max_seqlen_per_dp_cp_rank: count(
    'Tokens that one rank takes under hybrid or dynamic context parallelism.',
    '--max-seqlen-per-dp-cp-rank',
  ),
  sequence_packing_scheduler: since(
    'dev',
    text(
      'How sequences are packed: `dp_balanced`, or `default_dynamic_cp` under dynamic context parallelism.',
      '--sequence-packing-scheduler',
    ),
  ),
  pad_packed_seq_alignment: since(
    'dev',
    either(
      'To what packed sequences are padded: `max`, or a number of tokens; CUDA graphs need it.',
      [text('`max`.'), count('Tokens.')],
      '--pad-packed-seq-alignment',
    ),
  ),
  dataloader_type: open(
    'single',
    options('How batches are drawn.', ['single', 'cyclic', 'external'], { flag: '--dataloader-type' }),
  ),
  calculate_per_token_loss: flagged(
    'Scale the loss by the number of tokens, not of sequences.',
    '--calculate-per-token-loss',
  ),
} as const;

const model = map('Facts about the model that the degrees must divide.', modelKeys);
const sequence = map('Facts about the sequences that the degrees must divide.', sequenceKeys);

const parallelismKeys = {
  ...denseDegrees,
  vpp: count(
    'Virtual pipeline size: model chunks a stage (interleaved schedule); needs `pp > 1`.',
    '--num-virtual-stages-per-pipeline-rank',
    'no interleaving',
  ),
  num_layers_per_virtual_pipeline_stage: count(
    'Layers in one virtual stage: another way to write `vpp`.',
    '--num-layers-per-virtual-pipeline-stage',
  ),
  ...stageKeys,
  overlap_p2p_comm: {
    type: 'boolean',
    default: true,
    doc: 'Overlap the transfers between pipeline stages with computation (interleaved schedule).',
    flag: '--no-overlap-p2p-communication',
  } as BooleanSpec,
  microbatch_group_size_per_vp_stage: {
    type: 'integer',
    min: 0,
    doc: 'Micro-batches that one virtual stage runs in a row; at least `pp`.',
    flag: '--microbatch-group-size-per-virtual-pipeline-stage',
    derived: 'pp',
  } as IntegerSpec,
  dp: degree(
    'Data-parallel size. Derived from the others; when written, it is checked.',
    undefined,
    'world_size / (tp * gtp_remat * cp * pp)',
  ),
  ep: expertParallel,
  expt_tp: degree(
    'Tensor-parallel size of the experts. Defaults to `tp` here (but to 1 under `modules`).',
    '--expert-tensor-parallel-size',
    'tp',
  ),
  ...expertWeightShards,
  expt_dp: degree(
    'Data-parallel size of the experts. Derived; when written, it is checked.',
    undefined,
    'world_size / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
  order: {
    type: 'string',
    default: DEFAULT_ORDER,
    doc: 'Rank order: the leftmost dimension varies fastest. `gtp_remat` is placed after `tp` (dense) and after `ep` (expert). `--use-tp-pp-dp-mapping` stands for `tp-cp-ep-pp-dp`.',
    flag: '--use-tp-pp-dp-mapping',
  },
  num_distributed_optimizer_instances: {
    ...count(
      'In how many instances the distributed optimizer is replicated; each holds `dp * cp / instances` shards.',
      '--num-distributed-optimizer-instances',
    ),
    default: 1,
  },
  hierarchical_context_parallel_sizes: list(
    'Sizes of the levels of hierarchical context parallelism; their product is `cp`.',
    count('Ranks at this level.'),
    '--hierarchical-context-parallel-sizes',
  ),
  hybrid_context_parallel: since(
    'main, core_r0.19, core_r0.18',
    flagged(
      'Each sequence runs on as many of the `dp * cp` ranks as its length needs; groups of every power of two are made.',
      '--hybrid-context-parallel',
    ),
  ),
  dynamic_context_parallel: since(
    'dev',
    flagged("The dev branch's successor of `hybrid_context_parallel`.", '--dynamic-context-parallel'),
  ),
  min_dynamic_context_parallel_size: since('dev', {
    type: 'integer',
    min: ANY_INTEGER,
    default: 1,
    doc: 'The smallest group of dynamic context parallelism; at least 1.',
    flag: '--min-dynamic-context-parallel-size',
  } as IntegerSpec),
} as const;

const moduleKeys = {
  rank_offset: {
    type: 'integer',
    min: 0,
    default: 0,
    doc: 'The first global rank of the module.',
  },
  num_ranks: count('How many ranks the module has.', undefined, 'tp * gtp_remat * cp * pp * dp, when dp is written'),
  ...denseDegrees,
  dp: degree(
    'Data-parallel size: how many replicas of the module there are. Derived; when written, it is checked.',
    undefined,
    'num_ranks / (tp * gtp_remat * cp * pp)',
  ),
  ep: expertParallel,
  expt_tp: degree(
    'Tensor-parallel size of the experts. Defaults to 1 here (but to `tp` under `parallelism`): with `ep > 1`, write it.',
    '--expert-tensor-parallel-size',
  ),
  ...expertWeightShards,
  expt_dp: degree(
    'Data-parallel size of the experts. Derived; when written, it is checked.',
    undefined,
    'num_ranks / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
  ...stageKeys,
  model,
  sequence,
} as const;

const slotEntryKeys = {
  dp: { type: 'integer', min: 0, doc: 'Index of the data-parallel replica.', required: true },
  cp: { type: 'integer', min: 0, doc: 'Context-parallel slice; left out: the whole replica.' },
  pp: { type: 'integer', min: 0, doc: 'Pipeline stage; left out: the whole replica.' },
  local_ranks: {
    ...list('Local TP slots (0 to `tp_base - 1`, not global ranks) that are removed.', {
      type: 'integer',
      min: 0,
      doc: 'A local TP slot.',
    } as IntegerSpec),
    required: true,
  },
} as const;

const ntpKeys = {
  tp_base: count('Tensor-parallel size of healthy replicas.', undefined, 'tp'),
  tp_spares: {
    type: 'integer',
    min: 0,
    default: 0,
    doc: 'Local TP slots removed from each reduced replica; 0 switches nonuniform TP off.',
  },
  num_reduced_tp_dp_ranks: {
    ...count('How many data-parallel replicas, from dp 0, run with fewer TP ranks.'),
    default: 1,
  },
  non_active_ranks_per_dp: list(
    'Which slots are removed, replica by replica; left out, the last `tp_spares` slots of each.',
    map('One replica, or one slice of it.', slotEntryKeys),
  ),
  failed_ranks: list('Global ranks known to be broken; each must be non-active.', {
    type: 'integer',
    min: 0,
    doc: 'A global rank.',
  } as IntegerSpec),
  placement: options(
    '`nominal`: every slot is launched and spares exit; `packed`: only active slots are launched.',
    ['nominal', 'packed'],
    { default: 'nominal' },
  ),
} as const;

/** The versions of Megatron-LM whose rules are known. */
export const MEGATRON_VERSIONS = ['main', 'dev', 'core_r0.19', 'core_r0.18'] as const;

/** One phase of a reinforcement-learning job: a grid of its own over GPUs that phases share in turn. */
const phaseKeys = {
  engine: options('What runs the phase.', ['megatron', 'vllm', 'sglang'], { default: 'megatron' }),
  rank_offset: { type: 'integer', min: 0, default: 0, doc: 'The first global rank of the phase.' } as IntegerSpec,
  num_ranks: count('How many ranks the phase has.', undefined, 'world_size - rank_offset'),
  ...denseDegrees,
  dp: degree(
    'Replicas of the model. Derived; when written, it is checked.',
    undefined,
    'num_ranks / (tp * gtp_remat * cp * pp)',
  ),
  vpp: count('Virtual pipeline size.', '--num-virtual-stages-per-pipeline-rank', 'no interleaving'),
  ep: expertParallel,
  expt_tp: degree('Tensor-parallel size of the experts.', '--expert-tensor-parallel-size', 'tp'),
} as const;

/** The checks that a smoke job can run. */
const SMOKE_CHECKS = ['groups', 'collectives', 'bandwidth', 'ntp', 'sequence', 'all_gather_overlap'] as const;

const rootKeys = {
  layout: { type: 'integer', min: 1, doc: 'The version of the format: 1.', required: true },
  megatron: options(
    'The version of Megatron-LM that the job runs; rules, predicted errors and process groups follow it. A section that only `dev` has implies `dev`.',
    MEGATRON_VERSIONS,
    { default: 'main' },
  ),
  name: { type: 'string', doc: 'Shown in titles and reports.' },
  description: { type: 'string', doc: 'What the layout is for.' },
  world_size: count(
    'Ranks in the job: one rank is one process on one GPU.',
    '--nproc-per-node x --nnodes of torchrun',
    'cluster.nodes * cluster.gpus_per_node',
  ),
  cluster: map('Where ranks land: rank r runs on node floor(r / gpus_per_node).', {
    nodes: { ...count('Machines.', '--nnodes of torchrun'), required: true },
    gpus_per_node: { ...count('GPUs, and so ranks, a machine.', '--nproc-per-node of torchrun'), required: true },
    gpus_per_nvlink_domain: count(
      'GPUs that reach one another over NVLink: 72 on an NVL72 rack.',
      undefined,
      'gpus_per_node',
    ),
    gpu: text('The kind of GPU, such as `H100-80GB`.'),
    nvlink_bandwidth: {
      type: 'size',
      doc: 'Bytes a second that one GPU sends over NVLink, as the smoke job measures it: `268GB`. Left out: by the data sheet of `gpu`.',
    },
    network_bandwidth: {
      type: 'size',
      doc: 'Bytes a second that one GPU sends over the network, as the smoke job measures it: `46GB`. Left out: a network card a GPU, of 200 Gb/s beside an A100 and 400 Gb/s beside later GPUs.',
    },
    gpu_memory: { type: 'size', doc: 'Memory of one GPU, with a unit: `80GB`.' },
  }),
  launch: map('The launch files that this layout stands for.', {
    family: text('The kind of launch file, such as `megatron-args` or `verl`.'),
    files: list('The files, relative to this one.', text('A path.')),
  }),
  parallelism: map('One grid over the whole world (semantics of `initialize_model_parallel`).', parallelismKeys),
  modules: {
    type: 'record',
    doc: 'One grid a module (semantics of `ModuleGridSpec`): heterogeneous jobs such as an encoder beside a language model.',
    values: map('One module of a heterogeneous job.', moduleKeys),
  } as RecordSpec<MapSpec<typeof moduleKeys>>,
  model,
  sequence,
  batch: map('Batch sizes, in sequences.', {
    micro_batch_size: count('Sequences that one replica runs at a time.', '--micro-batch-size'),
    global_batch_size: count('Sequences in one optimizer step, over all replicas.', '--global-batch-size'),
    decrease_batch_size_if_needed: flagged(
      'Round the global batch down to what the replicas can share, in place of an error.',
      '--decrease-batch-size-if-needed',
    ),
    rampup_batch_size: list(
      'Start, increment and samples of a batch-size ramp; Megatron-LM ignores it since it has step schedules.',
      { type: 'any', doc: 'A whole number.' } as AnySpec,
      '--rampup-batch-size',
    ),
    step_batch_size_schedule: text(
      'Batch sizes by step: `0:8 64K:16`, threshold and batch size.',
      '--step-batch-size-schedule',
    ),
    eval_micro_batch_size: count(
      'Sequences that one replica evaluates at a time.',
      '--eval-micro-batch-size',
      'micro_batch_size',
    ),
    eval_global_batch_size: count(
      'Sequences of one step of evaluation.',
      '--eval-global-batch-size',
      'global_batch_size',
    ),
  }),
  optimizer: map('What the optimizer holds and when its communication runs.', {
    optimizer: open(
      'adam',
      text('The optimizer: `adam`, `sgd`, `lion`, `soap`, `muon`, `adaptive_muon` or `dist_muon`.', '--optimizer'),
    ),
    use_distributed_optimizer: flagged(
      'Shard the optimizer state over the data-parallel ranks.',
      '--use-distributed-optimizer',
    ),
    overlap_grad_reduce: flagged('Reduce gradients while the backward pass runs.', '--overlap-grad-reduce'),
    overlap_param_gather: flagged('Gather parameters while the forward pass runs.', '--overlap-param-gather'),
    overlap_param_gather_with_optimizer_step: flagged(
      'Gather the parameters of the first chunk while the optimizer steps.',
      '--overlap-param-gather-with-optimizer-step',
    ),
    use_precision_aware_optimizer: flagged(
      'Keep states and gradients in the types below.',
      '--use-precision-aware-optimizer',
    ),
    main_params_dtype: open(
      'fp32',
      options('Type of the main parameters.', ['fp32', 'fp16'], { flag: '--main-params-dtype' }),
    ),
    main_grads_dtype: open(
      'fp32',
      options('Type of the main gradients.', ['fp32', 'bf16'], { flag: '--main-grads-dtype' }),
    ),
    exp_avg_dtype: open(
      'fp32',
      options('Type of the first moment.', ['fp32', 'fp16', 'bf16', 'fp8'], { flag: '--exp-avg-dtype' }),
    ),
    exp_avg_sq_dtype: open(
      'fp32',
      options('Type of the second moment.', ['fp32', 'fp16', 'bf16', 'fp8'], {
        flag: '--exp-avg-sq-dtype',
      }),
    ),
    gradient_accumulation_fusion: open(true, {
      type: 'boolean',
      doc: 'Add weight gradients up inside the kernel of the product.',
      flag: '--no-gradient-accumulation-fusion',
    } as BooleanSpec),
    defer_embedding_wgrad_compute: flagged(
      'Compute the weight gradients of the embedding while the pipeline empties; needs `pp` above 1.',
      '--defer-embedding-wgrad-compute',
    ),
    grad_reduce_in_bf16: flagged('Reduce gradients in bf16.', '--grad-reduce-in-bf16'),
    optimizer_cpu_offload: flagged('Keep the optimizer state in host memory.', '--optimizer-cpu-offload'),
  }),
  precision: map('Types narrower than those of the parameters.', {
    fp8_format: options('The format of 8-bit matrix products.', ['e4m3', 'hybrid'], { flag: '--fp8-format' }),
    fp8_recipe: open(
      'delayed',
      options('How 8-bit values are scaled.', ['tensorwise', 'delayed', 'mxfp8', 'blockwise', 'custom'], {
        flag: '--fp8-recipe',
      }),
    ),
    fp8_param_gather: flagged('Keep and gather parameters in 8 bits.', '--fp8-param-gather'),
    fp4_format: options('The format of 4-bit matrix products.', ['e2m1'], { flag: '--fp4-format' }),
  }),
  recompute: map('Which activations are computed again in the backward pass.', {
    granularity: options('Whole layers, or parts of them.', ['full', 'selective'], { flag: '--recompute-granularity' }),
    method: options('Which layers, of whole ones.', ['uniform', 'block'], { flag: '--recompute-method' }),
    num_layers: {
      type: 'integer',
      min: 0,
      doc: 'Layers in one piece (`uniform`), or in all (`block`).',
      flag: '--recompute-num-layers',
    } as IntegerSpec,
    distribute_saved_activations: flagged(
      'Spread the saved activations of whole layers over the TP ranks; excludes `sequence_parallel`.',
      '--distribute-saved-activations',
    ),
    modules: list(
      'The parts, of selective recomputation.',
      text('Such as `core_attn`, `moe_act`, `layernorm`, `mla_up_proj`, `mlp`, `moe`, `shared_experts`.'),
      '--recompute-modules',
    ),
  }),
  moe: map('How MoE layers move their tokens.', {
    moe_token_dispatcher_type: open(
      'allgather',
      options('How tokens reach their experts.', ['allgather', 'alltoall', 'flex'], {
        flag: '--moe-token-dispatcher-type',
      }),
    ),
    moe_enable_deepep: flagged('The flex dispatcher uses DeepEP.', '--moe-enable-deepep'),
    overlap_moe_expert_parallel_comm: flagged(
      'Overlap the expert all-to-all with the computation of another micro-batch.',
      '--overlap-moe-expert-parallel-comm',
    ),
    delay_wgrad_compute: flagged('Compute weight gradients later, to overlap them.', '--delay-wgrad-compute'),
    moe_grouped_gemm: flagged('Run the experts of a rank as one grouped product.', '--moe-grouped-gemm'),
  }),
  cuda_graph: map('CUDA graphs, which replay a recorded step.', {
    cuda_graph_impl: options('What captures them.', ['none', 'local', 'transformer_engine', 'full_iteration'], {
      default: 'none',
      flag: '--cuda-graph-impl',
    }),
    enable_cuda_graph: flagged('The former way to write `cuda_graph_impl: local`.', '--enable-cuda-graph'),
  }),
  environment: map(
    'Environment variables of the ranks. Where the map is written, what it leaves out is known to be unset.',
    {
      CUDA_DEVICE_MAX_CONNECTIONS: {
        type: 'integer',
        min: 0,
        doc: 'Queues to a GPU. Before Blackwell, tensor and context parallelism need 1; FSDP needs more, or none written.',
      } as IntegerSpec,
    },
  ),
  checkpoint: map('How checkpoints are written.', {
    ckpt_format: open(
      'torch_dist',
      options(
        'The format of checkpoints; Megatron-FSDP needs `fsdp_dtensor`.',
        ['torch', 'torch_dist', 'torch_dcp', 'fsdp_dtensor'],
        { flag: '--ckpt-format' },
      ),
    ),
  }),
  ntp: map('Nonuniform tensor parallelism: go on with fewer TP ranks where GPUs failed.', ntpKeys),
  fsdp: map('Megatron-FSDP and its separate all-gather groups.', {
    enabled: flagged(
      'Shard parameters, gradients and optimizer state over data-parallel ranks.',
      '--use-megatron-fsdp',
    ),
    data_parallel_sharding_strategy: open(
      'optim_grads_params',
      options('What is sharded.', ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'], {
        flag: '--data-parallel-sharding-strategy',
      }),
    ),
    outer_dp_sharding_strategy: open(
      'no_shard',
      options(
        'What is sharded over the instances too (hybrid sharding, with `num_distributed_optimizer_instances`).',
        ['no_shard', 'optim'],
        { flag: '--outer-dp-sharding-strategy' },
      ),
    ),
    megatron_fsdp_version: open(1, {
      ...count('1, or 2: the rewrite, for data and expert parallelism only.', '--megatron-fsdp-version'),
      since: 'main',
    } as IntegerSpec),
    torch_fsdp2: flagged(
      "PyTorch's own fully sharded data parallelism in place of Megatron-FSDP.",
      '--use-torch-fsdp2',
    ),
    create_all_gather_group: flagged(
      'A second communicator with the ranks of `dp_cp`, so that all-gather overlaps reduce-scatter.',
      '--create-all-gather-group',
    ),
    create_expert_all_gather_group: {
      type: 'boolean',
      doc: 'The same for `expt_dp`.',
      derived: 'create_all_gather_group and ep > 1',
    },
  }),
  phases: {
    type: 'record',
    doc: 'The phases of a reinforcement-learning job (`train`, `reference`, `rollout`, ...) over the same GPUs, each with degrees of its own.',
    values: map('One phase.', phaseKeys),
  } as RecordSpec<MapSpec<typeof phaseKeys>>,
  communicators: map('Options of the communicators.', {
    fake_process_group: flagged(
      'No communication at all: one rank runs a job of many, to try it without GPUs.',
      '--fake-process-group',
    ),
    use_sharp: flagged('In-network reduction by SHARP.', '--use-sharp'),
    sharp_enabled_group: {
      type: 'string',
      doc: 'The group that uses SHARP: `dp` or `dp_replica`.',
      flag: '--sharp-enabled-group',
    },
    high_priority_stream_groups: list(
      'Process groups whose communicators run on high-priority streams.',
      { type: 'string', doc: 'The name of a process group, such as `dp_cp` or `ep`.' },
      '--high-priority-stream-groups',
    ),
  }),
  smoke: map('What the smoke job runs.', {
    checks: list('The checks to run.', options('A check of the smoke job.', SMOKE_CHECKS)),
    payload: { type: 'size', default: '64MiB', doc: 'Bytes that each timed collective moves, with a unit: `64MiB`.' },
    iterations: { ...count('Timed repetitions of each collective.'), default: 5 },
    timeout: { type: 'duration', default: '60s', doc: 'The longest that one step may take, with a unit: `60s`.' },
  }),
} as const;

/** The one description of the layout file: every reader, schema, hover and completion comes from here. */
export const FORMAT: MapSpec<typeof rootKeys> = map('A parallelism layout file.', rootKeys);

export type RootKeys = typeof rootKeys;
export type ModuleKeys = typeof moduleKeys;
export type ModelKeys = typeof modelKeys;
export type SequenceKeys = typeof sequenceKeys;
export type PhaseKeys = typeof phaseKeys;
export type NtpKeys = typeof ntpKeys;
export type SlotEntryKeys = typeof slotEntryKeys;
