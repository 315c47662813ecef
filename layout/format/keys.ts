import type { BooleanSpec, EnumSpec, IntegerSpec, KeySpec, Keys, ListSpec, MapSpec, RecordSpec } from './spec';

/** The newest version of the format. */
export const FORMAT_VERSION = 1;

/** The dimensions that a rank order may name. */
export const ORDER_TOKENS = ['tp', 'cp', 'ep', 'dp', 'pp', 'gtp_remat'] as const;

/** Megatron's default rank order. */
export const DEFAULT_ORDER = 'tp-cp-ep-dp-pp';

const degree = (doc: string, flag: string, derived?: string): IntegerSpec =>
  derived === undefined
    ? { type: 'integer', min: 1, default: 1, doc, flag }
    : { type: 'integer', min: 1, doc, flag, derived };

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

function list<I extends KeySpec>(doc: string, items: I, flag?: string): ListSpec<I> {
  return { type: 'list', items, doc, ...(flag && { flag }) };
}

function map<K extends Keys>(doc: string, keys: K): MapSpec<K> {
  return { type: 'map', keys, doc };
}

const denseDegrees = {
  tp: degree(
    'Tensor-parallel size: over how many ranks each weight matrix is cut. TP talks most, so keep it inside one NVLink domain.',
    '--tensor-model-parallel-size',
  ),
  gtp_remat: degree(
    'Generalized tensor parallelism: weights are cut `tp * gtp_remat` ways and gathered again before use.',
    '--gtp-weight-remat-size',
  ),
  num_weight_shards: count(
    'The total number of weight shards, `tp * gtp_remat`: another way to write `gtp_remat`.',
    '--tensor-parallel-num-weight-shards',
    'tp * gtp_remat',
  ),
  cp: degree(
    'Context-parallel size: over how many ranks the tokens of one sequence are spread.',
    '--context-parallel-size',
  ),
  pp: degree('Pipeline-parallel size: in how many stages the layers are laid.', '--pipeline-model-parallel-size'),
} as const;

const expertParallel = degree(
  'Expert-parallel size: over how many ranks the experts of an MoE layer are spread.',
  '--expert-model-parallel-size',
);

const expertWeightShards = {
  expt_gtp_remat: degree(
    'Generalized tensor parallelism of expert weights: the twin of `gtp_remat` in the expert grid.',
    '--expert-gtp-weight-remat-size',
  ),
  expt_num_weight_shards: count(
    'The total number of shards of an expert weight, `expt_tp * expt_gtp_remat`.',
    '--expert-tensor-parallel-num-weight-shards',
    'expt_tp * expt_gtp_remat',
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
  params_dtype: options('Type of the parameters.', ['bf16', 'fp16', 'fp32'], { default: 'bf16' }),
} as const;

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
  cp_comm_type: options(
    'How context-parallel ranks exchange keys and values.',
    ['p2p', 'all_gather', 'a2a', 'a2a+p2p'],
    { default: 'p2p', flag: '--cp-comm-type' },
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
  microbatch_group_size_per_vp_stage: count(
    'Micro-batches that one virtual stage runs in a row.',
    '--microbatch-group-size-per-virtual-pipeline-stage',
    'pp',
  ),
  dp: degree(
    'Data-parallel size. Derived from the others; when written, it is checked.',
    '',
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
    '',
    'world_size / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
  order: {
    type: 'string',
    default: DEFAULT_ORDER,
    doc: 'Rank order: the leftmost dimension varies fastest. `gtp_remat` is placed after `tp` (dense) and after `ep` (expert).',
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
} as const;

const moduleKeys = {
  rank_offset: {
    type: 'integer',
    min: 0,
    default: 0,
    doc: 'The first global rank of the module.',
  },
  num_ranks: count('How many ranks the module has.', '', 'tp * gtp_remat * cp * pp * dp, when dp is written'),
  ...denseDegrees,
  dp: degree(
    'Data-parallel size: how many replicas of the module there are. Derived; when written, it is checked.',
    '',
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
    '',
    'num_ranks / (expt_tp * ep * expt_gtp_remat * pp)',
  ),
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

/** The checks that a smoke job can run. */
export const SMOKE_CHECKS = ['groups', 'collectives', 'bandwidth', 'ntp', 'sequence', 'all_gather_overlap'] as const;

const rootKeys = {
  layout: { type: 'integer', min: 1, doc: 'The version of the format: 1.', required: true },
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
  }),
  ntp: map('Nonuniform tensor parallelism: go on with fewer TP ranks where GPUs failed.', ntpKeys),
  fsdp: map('Megatron-FSDP and its separate all-gather groups.', {
    enabled: flagged(
      'Shard parameters, gradients and optimizer state over data-parallel ranks.',
      '--use-megatron-fsdp',
    ),
    data_parallel_sharding_strategy: options(
      'What is sharded.',
      ['no_shard', 'optim', 'optim_grads', 'optim_grads_params'],
      { flag: '--data-parallel-sharding-strategy' },
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
  communicators: map('Options of the communicators.', {
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
export type ParallelismKeys = typeof parallelismKeys;
export type ModuleKeys = typeof moduleKeys;
export type ModelKeys = typeof modelKeys;
export type SequenceKeys = typeof sequenceKeys;
export type NtpKeys = typeof ntpKeys;
export type SlotEntryKeys = typeof slotEntryKeys;
