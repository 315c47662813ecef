import { FORMAT } from '../format/keys';
import type { KeySpec, Keys } from '../format/spec';
import { type Defaults, derived, type Facts, type FactValue, type Found, isKnown } from './facts';
import { firstOf, isOn, type Options } from './options';

/** How a framework that builds on Megatron-LM spells its options. */
export interface Dialect {
  readonly defaults: Defaults;
  /** `bare`: a switch is on where it is given; `value`: it takes `true` or `false`. */
  readonly switches: 'bare' | 'value';
  /** Whether experts default to the dense tensor-parallel size (Megatron) or to a default of the table. */
  readonly expertTpIsTp: boolean;
  /** Whether the values are those after validation: the absent ones have no default, and none is derived. */
  readonly resolved?: boolean;
  /** Whether the model's sizes come from elsewhere (a checkpoint), so that absent ones are not known. */
  readonly modelElsewhere?: boolean;
  /** Whether sequence parallelism stays on with tp 1, where Megatron-LM's own arguments switch it off. */
  readonly keepsSequenceParallel?: boolean;
  /** Whether `num_query_groups` holds by itself, as in configurations; on the command line it needs its switch. */
  readonly groupsAlone?: boolean;
}

type Kind = 'integer' | 'switch' | 'off' | 'text' | 'texts' | 'integers' | 'expression' | 'number';

/** The keys that an option becomes as it is: names of the option, the key, how its value is read. */
const PLAIN: readonly (readonly [names: string, key: string, kind: Kind])[] = [
  ['tensor_model_parallel_size', 'parallelism.tp', 'integer'],
  ['pipeline_model_parallel_size', 'parallelism.pp', 'integer'],
  ['context_parallel_size', 'parallelism.cp', 'integer'],
  ['expert_model_parallel_size', 'parallelism.ep', 'integer'],
  ['expert_tensor_parallel_size', 'parallelism.expt_tp', 'integer'],
  ['tensor_parallel_num_weight_shards', 'parallelism.num_weight_shards', 'integer'],
  ['expert_tensor_parallel_num_weight_shards', 'parallelism.expt_num_weight_shards', 'integer'],
  ['num_distributed_optimizer_instances', 'parallelism.num_distributed_optimizer_instances', 'integer'],
  ['hierarchical_context_parallel_sizes', 'parallelism.hierarchical_context_parallel_sizes', 'integers'],
  [
    'microbatch_group_size_per_virtual_pipeline_stage microbatch_group_size_per_vp_stage',
    'parallelism.microbatch_group_size_per_vp_stage',
    'integer',
  ],
  ['pipeline_model_parallel_layout', 'parallelism.pipeline_model_parallel_layout', 'text'],
  ['account_for_embedding_in_pipeline_split', 'parallelism.account_for_embedding_in_pipeline_split', 'switch'],
  ['account_for_loss_in_pipeline_split', 'parallelism.account_for_loss_in_pipeline_split', 'switch'],
  ['hybrid_context_parallel', 'parallelism.hybrid_context_parallel', 'switch'],
  ['dynamic_context_parallel', 'parallelism.dynamic_context_parallel', 'switch'],
  ['min_dynamic_context_parallel_size', 'parallelism.min_dynamic_context_parallel_size', 'integer'],
  ['num_layers', 'model.num_layers', 'integer'],
  [
    'decoder_first_pipeline_num_layers num_layers_in_first_pipeline_stage',
    'model.num_layers_in_first_pipeline_stage',
    'integer',
  ],
  [
    'decoder_last_pipeline_num_layers num_layers_in_last_pipeline_stage',
    'model.num_layers_in_last_pipeline_stage',
    'integer',
  ],
  ['encoder_num_layers', 'model.encoder_num_layers', 'integer'],
  ['decoder_num_layers', 'model.decoder_num_layers', 'integer'],
  ['num_attention_heads', 'model.num_attention_heads', 'integer'],
  ['hidden_size', 'model.hidden_size', 'integer'],
  ['ffn_hidden_size', 'model.ffn_hidden_size', 'integer'],
  ['moe_ffn_hidden_size', 'model.moe_ffn_hidden_size', 'integer'],
  ['kv_channels', 'model.kv_channels', 'integer'],
  ['num_experts num_moe_experts', 'model.num_experts', 'integer'],
  ['moe_router_topk', 'model.moe_router_topk', 'integer'],
  ['moe_router_score_function', 'model.moe_router_score_function', 'text'],
  ['moe_router_pre_softmax', 'model.moe_router_pre_softmax', 'switch'],
  ['moe_router_num_groups', 'model.moe_router_num_groups', 'integer'],
  ['moe_router_group_topk', 'model.moe_router_group_topk', 'integer'],
  ['moe_layer_freq', 'model.moe_layer_freq', 'expression'],
  ['moe_shared_expert_intermediate_size', 'model.moe_shared_expert_intermediate_size', 'integer'],
  ['vocab_size', 'model.vocab_size', 'integer'],
  ['make_vocab_size_divisible_by', 'model.make_vocab_size_divisible_by', 'integer'],
  ['mtp_num_layers', 'model.mtp_num_layers', 'integer'],
  ['hybrid_layer_pattern hybrid_override_pattern', 'model.hybrid_layer_pattern', 'text'],
  ['mamba_num_heads', 'model.mamba_num_heads', 'integer'],
  ['mamba_num_groups', 'model.mamba_num_groups', 'integer'],
  ['multi_latent_attention', 'model.multi_latent_attention', 'switch'],
  ['untie_embeddings_and_output_weights', 'model.untie_embeddings_and_output_weights', 'switch'],
  ['seq_length', 'sequence.seq_length', 'integer'],
  ['max_position_embeddings', 'sequence.max_seq_len', 'integer'],
  ['encoder_seq_length', 'sequence.encoder_seq_length', 'integer'],
  ['decoder_seq_length', 'sequence.decoder_seq_length', 'integer'],
  ['sequence_parallel', 'sequence.sequence_parallel', 'switch'],
  ['tp_comm_overlap', 'sequence.tp_comm_overlap', 'switch'],
  ['cp_comm_type', 'sequence.cp_comm_type', 'texts'],
  ['micro_batch_size', 'batch.micro_batch_size', 'integer'],
  ['global_batch_size', 'batch.global_batch_size', 'integer'],
  ['rampup_batch_size', 'batch.rampup_batch_size', 'integers'],
  ['eval_micro_batch_size', 'batch.eval_micro_batch_size', 'integer'],
  ['eval_global_batch_size', 'batch.eval_global_batch_size', 'integer'],
  ['use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'switch'],
  ['overlap_grad_reduce', 'optimizer.overlap_grad_reduce', 'switch'],
  ['overlap_param_gather', 'optimizer.overlap_param_gather', 'switch'],
  ['optimizer', 'optimizer.optimizer', 'text'],
  ['recompute_granularity', 'recompute.granularity', 'text'],
  ['recompute_method', 'recompute.method', 'text'],
  ['recompute_num_layers', 'recompute.num_layers', 'integer'],
  ['recompute_modules', 'recompute.modules', 'texts'],
  ['moe_token_dispatcher_type', 'moe.moe_token_dispatcher_type', 'text'],
  ['overlap_moe_expert_parallel_comm', 'moe.overlap_moe_expert_parallel_comm', 'switch'],
  ['use_megatron_fsdp use_custom_fsdp', 'fsdp.enabled', 'switch'],
  ['use_torch_fsdp2', 'fsdp.torch_fsdp2', 'switch'],
  ['data_parallel_sharding_strategy', 'fsdp.data_parallel_sharding_strategy', 'text'],
  ['outer_dp_sharding_strategy', 'fsdp.outer_dp_sharding_strategy', 'text'],
  ['create_all_gather_group', 'fsdp.create_all_gather_group', 'switch'],
  ['use_sharp', 'communicators.use_sharp', 'switch'],
  ['sharp_enabled_group', 'communicators.sharp_enabled_group', 'text'],
  ['high_priority_stream_groups', 'communicators.high_priority_stream_groups', 'texts'],
];

/** Options that are read together with others, not as a key of their own. */
const JOINT = [
  'num_query_groups',
  'group_query_attention',
  'bf16',
  'fp16',
  'swiglu',
  'quick_geglu',
  'gated_linear_unit',
  'use_tp_pp_dp_mapping',
  'num_virtual_stages_per_pipeline_rank',
  'num_layers_per_virtual_pipeline_stage',
  'virtual_pipeline_model_parallel_size',
  'world_size',
  'data_parallel_size',
  'params_dtype',
];

type PlainOption = (typeof PLAIN)[number];

/** The sections of a layout whose keys are options of Megatron-LM. */
const SECTIONS = [
  ...['parallelism', 'model', 'sequence', 'batch', 'optimizer', 'precision', 'recompute', 'moe', 'checkpoint', 'fsdp'],
  'communicators',
];

/** The further keys of the format that name their flag. */
function flaggedKeys(): readonly PlainOption[] {
  const derivedOnly = ['gtp_weight_remat_size', 'expert_gtp_weight_remat_size'];
  const known = new Set([...PLAIN.flatMap(([names]) => names.split(' ')), ...JOINT, ...derivedOnly]);
  return SECTIONS.flatMap((section) => {
    const keys = (FORMAT.keys as Keys)[section];
    return Object.entries(keys?.type === 'map' ? (keys.keys as Keys) : {}).flatMap(([key, spec]): PlainOption[] => {
      const name = /^--([\w-]+)$/.exec(spec.flag ?? '')?.[1]?.replaceAll('-', '_') ?? null;
      const kind = name !== null && !known.has(name) ? kindOf(spec) : null;
      const isInverted = kind === 'switch' && /^(no|disable)_/.test(name ?? '') && !/^(no|disable)_/.test(key);
      if (name !== null && isInverted) {
        return [[name, `${section}.${key}`, 'off']];
      }
      return name !== null && kind !== null ? [[name, `${section}.${key}`, kind]] : [];
    });
  });
}

function kindOf(spec: KeySpec): Kind | null {
  switch (spec.type) {
    case 'integer':
      return 'integer';
    case 'share':
      return 'number';
    case 'boolean':
      return 'switch';
    case 'string':
    case 'enum':
      return 'text';
    case 'either':
      return 'expression';
    case 'list':
      return spec.items.type === 'integer' || spec.items.type === 'any' ? 'integers' : 'texts';
    default:
      return null;
  }
}

/** Every option that becomes a key as it is: its names, the key, and how its value is read. */
export const PLAIN_OPTIONS: readonly PlainOption[] = [...PLAIN, ...flaggedKeys()];

/** Every option that has a place in a layout. */
export const MEGATRON_OPTIONS: ReadonlySet<string> = new Set([
  ...PLAIN_OPTIONS.flatMap(([names]) => names.split(' ')),
  ...JOINT,
]);

/** Megatron-LM's switches that scripts use most: what follows one is not its value. */
export const MEGATRON_SWITCHES: ReadonlySet<string> = new Set([
  ...PLAIN_OPTIONS.flatMap(([names, , kind]) => (kind === 'switch' ? names.split(' ') : [])),
  ...['group_query_attention', 'bf16', 'fp16', 'swiglu', 'quick_geglu', 'use_tp_pp_dp_mapping', 'use_mcore_models'],
  ...['use_flash_attn', 'no_masked_softmax_fusion', 'disable_bias_linear', 'normalization_zero_centered', 'mock_data'],
]);

/**
 * Reads the options of Megatron-LM, however a framework passes them on. What is absent has the dialect's default unless
 * something that is not known could have set it.
 */
export function readMegatron(options: Options, dialect: Dialect, facts: Facts): void {
  for (const [names, key, kind] of PLAIN_OPTIONS) {
    facts.set(key, readOption(options, names.split(' '), kind, dialect));
  }
  readJoint(options, dialect, facts);
  if (dialect.resolved) {
    return;
  }
  setDefaults(options, dialect, facts);
  applyValidation(options, dialect, facts);
}

function readOption(options: Options, names: readonly string[], kind: Kind, dialect: Dialect): Found | undefined {
  if (!names.some((name) => options.has(name)) && (options.blocked !== null || dialect.resolved)) {
    // many options exist: that an absent one is not known is said once, for the keys that matter
    return undefined;
  }
  switch (kind) {
    case 'integer':
      return options.integer(...names);
    case 'number':
      return options.number(...names);
    case 'switch':
      return onOff(options, names, dialect);
    case 'off':
      return inverted(onOff(options, names, dialect));
    case 'text':
      return options.string(...names);
    case 'integers':
      return options.list(true, ...names);
    case 'texts':
      return names[0] === 'cp_comm_type' ? oneOrMore(options, names) : options.list(false, ...names);
    case 'expression':
      return numberOrText(options, names);
  }
}

function onOff(options: Options, names: readonly string[], { switches }: Dialect): Found<boolean> | undefined {
  return switches === 'bare' ? options.flag(...names) : options.boolean(...names);
}

/** What a switch that turns something off leaves of it. */
function inverted(found: Found<boolean> | undefined): Found<boolean> | undefined {
  return isKnown(found) ? { value: !found.value, source: found.source } : found;
}

/** Several values as a list, one value as it is. */
function oneOrMore(options: Options, names: readonly string[]): Found | undefined {
  const found = options.list(false, ...names);
  return isKnown(found) && found.value.length === 1 ? { value: found.value[0] ?? '', source: found.source } : found;
}

function numberOrText(options: Options, names: readonly string[]): Found | undefined {
  const number = options.integer(...names);
  return isKnown(number) ? number : options.string(...names);
}

function readJoint(options: Options, dialect: Dialect, facts: Facts): void {
  readVirtualPipeline(options, facts);
  readGroups(options, dialect, facts);
  readType(options, dialect, facts);
  const gated = firstOf(
    ...['swiglu', 'quick_geglu', 'gated_linear_unit'].map((name) =>
      options.has(name) ? onOff(options, [name], dialect) : undefined,
    ),
  );
  facts.set('model.gated_linear_unit', gated);
  if (options.has('use_tp_pp_dp_mapping')) {
    const mapping = onOff(options, ['use_tp_pp_dp_mapping'], dialect);
    facts.set(
      'parallelism.order',
      isKnown(mapping)
        ? { value: mapping.value ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp', source: mapping.source }
        : mapping,
    );
  }
}

/** Key/value heads are in force only with `--group-query-attention` (argument_utils.py, core_transformer_config_from_args). */
function readGroups(options: Options, dialect: Dialect, facts: Facts): void {
  const grouped = options.has('group_query_attention') ? onOff(options, ['group_query_attention'], dialect) : undefined;
  const groups = options.has('num_query_groups') ? options.integer('num_query_groups') : undefined;
  if (isOn(grouped) || (dialect.groupsAlone && groups)) {
    facts.set(
      'model.num_query_groups',
      groups ?? (options.blocked === null ? { value: 1, source: 'default' } : undefined),
    );
  } else if (grouped && !isKnown(grouped)) {
    facts.set('model.num_query_groups', grouped);
  } else if (groups && options.blocked !== null) {
    facts.set('model.num_query_groups', { unknown: options.blocked });
  } else if (groups && isKnown(groups)) {
    facts.note(
      `--num-query-groups ${groups.value} means nothing without --group-query-attention: every head has its own keys and values.`,
    );
  }
}

function readType(options: Options, dialect: Dialect, facts: Facts): void {
  for (const name of ['bf16', 'fp16'] as const) {
    const found = options.has(name) ? onOff(options, [name], dialect) : undefined;
    if (isOn(found) && isKnown(found)) {
      facts.set('model.params_dtype', { value: name, source: found.source });
      return;
    }
    if (found && !isKnown(found)) {
      facts.set('model.params_dtype', found);
    }
  }
  const type = options.has('params_dtype') ? options.string('params_dtype') : undefined;
  const names: Readonly<Record<string, string>> = {
    'torch.bfloat16': 'bf16',
    'torch.float16': 'fp16',
    'torch.half': 'fp16',
    'torch.float32': 'fp32',
    'torch.float': 'fp32',
    bf16: 'bf16',
    fp16: 'fp16',
    fp32: 'fp32',
    bfloat16: 'bf16',
    float16: 'fp16',
    float32: 'fp32',
  };
  if (type && isKnown(type)) {
    const value = names[type.value];
    facts.set(
      'model.params_dtype',
      value === undefined ? { unknown: `the type ${type.value}` } : { value, source: type.source },
    );
  }
}

/** The four spellings of the virtual pipeline size (arguments.py, validate_args), of which at most one is given. */
function readVirtualPipeline(options: Options, facts: Facts): void {
  const pp =
    facts.get('parallelism.pp') ?? (options.blocked === null ? { value: 1, source: 'default' as const } : undefined);
  const direct = firstOf(
    ...['num_virtual_stages_per_pipeline_rank', 'virtual_pipeline_model_parallel_size'].map((name) =>
      options.has(name) ? options.integer(name) : undefined,
    ),
  );
  const found = direct ?? fromLayers(options, pp, facts) ?? fromLayout(pp, facts) ?? fromPattern(pp, facts);
  if (isKnown(found) ? found.value > 1 : found) {
    facts.set('parallelism.vpp', found);
  }
}

function fromLayers(options: Options, pp: Found | undefined, facts: Facts): Found<number> | undefined {
  if (!options.has('num_layers_per_virtual_pipeline_stage')) {
    return undefined;
  }
  const perStage = options.integer('num_layers_per_virtual_pipeline_stage');
  const layers = facts.get('model.num_layers') ?? facts.get('model.decoder_num_layers') ?? { unknown: 'num_layers' };
  const extra = ['embedding', 'loss'].filter((what) =>
    isOn(facts.get(`parallelism.account_for_${what}_in_pipeline_split`)),
  );
  const found = derived(
    [perStage, layers, pp ?? { unknown: 'pipeline_model_parallel_size' }],
    (size, count, stages) => {
      const vpp = (count + extra.length) / stages / size;
      return Number.isInteger(vpp) && vpp >= 1 ? vpp : null;
    },
    'vpp: the layers do not divide evenly',
  );
  return isKnown(found) && isKnown(perStage) ? { value: found.value, source: perStage.source } : found;
}

function fromLayout(pp: Found | undefined, facts: Facts): Found<number> | undefined {
  const layout = facts.get('parallelism.pipeline_model_parallel_layout');
  if (!layout || !isKnown(layout)) {
    return layout && { unknown: layout.unknown };
  }
  const stages = typeof layout.value === 'string' ? layoutStages(layout.value) : null;
  return stagesOver(stages, pp, layout.source === 'default' ? undefined : layout);
}

function fromPattern(pp: Found | undefined, facts: Facts): Found<number> | undefined {
  const pattern = facts.get('model.hybrid_layer_pattern');
  if (!pattern || !isKnown(pattern) || typeof pattern.value !== 'string') {
    return undefined;
  }
  // what follows `/` are the layers of multi-token prediction
  const segments = pattern.value.split('/')[0]?.split('|').length ?? 1;
  return segments > 1 ? stagesOver(segments, pp, pattern) : undefined;
}

function stagesOver(
  stages: number | null,
  pp: Found | undefined,
  origin: Found | undefined,
): Found<number> | undefined {
  if (stages === null || !isKnown(origin)) {
    return { unknown: 'the number of pipeline stages' };
  }
  const found = derived(
    [pp],
    (size) => (stages % size === 0 ? stages / size : null),
    'vpp: pp does not divide the stages',
  );
  return isKnown(found)
    ? { value: found.value, source: origin.source }
    : (found ?? { unknown: 'pipeline_model_parallel_size' });
}

/** The longest pipeline layout that is unrolled, in characters. */
const MAX_LAYOUT = 20_000;

/**
 * The number of stages of a pipeline layout such as `Et*3|(tt|)*6L`: parentheses are unrolled before single letters
 * (PipelineParallelLayerLayout.get_num_stages_from_str); null where it is too long.
 */
function layoutStages(layout: string): number | null {
  const unroll = (text: string, pattern: RegExp): string | null => {
    let length = text.length;
    const unrolled = text.replace(pattern, (_, body: string, count: string) => {
      length += body.length * Number(count);
      return length > MAX_LAYOUT ? '' : body.repeat(Number(count));
    });
    return length > MAX_LAYOUT ? null : unrolled;
  };
  const plain = layout.replaceAll(',', '');
  const groups = unroll(plain, /\(([^()]+)\)\*(\d+)/g);
  const letters = groups === null ? null : unroll(groups, /(.)\*(\d+)/g);
  return letters === null ? null : letters.split('|').length;
}

const IMPORTANT = ['parallelism.tp', 'parallelism.pp', 'parallelism.cp', 'parallelism.ep'];

function setDefaults(options: Options, { defaults, modelElsewhere }: Dialect, facts: Facts): void {
  if (options.blocked !== null) {
    for (const key of IMPORTANT.filter((one) => !facts.get(one))) {
      facts.set(key, { unknown: options.blocked });
    }
    return;
  }
  facts.defaults = defaults;
  for (const [key, value] of Object.entries(defaults.values)) {
    if (!modelElsewhere || !key.startsWith('model.')) {
      facts.setDefault(key, value);
    }
  }
  if (!modelElsewhere && facts.get('model.num_experts')) {
    for (const [key, value] of Object.entries(defaults.withExperts ?? {})) {
      facts.setDefault(key, value);
    }
  }
}

/** What Megatron-LM's validate_args makes of the options: sizes that follow others, switches that others turn on or off. */
function applyValidation(options: Options, dialect: Dialect, facts: Facts): void {
  const tp = facts.get('parallelism.tp');
  if (options.blocked === null && dialect.expertTpIsTp && !facts.get('parallelism.expt_tp')) {
    facts.set('parallelism.expt_tp', asDefault(tp));
  }
  const parallel = facts.get('sequence.sequence_parallel');
  if (!dialect.keepsSequenceParallel && isOn(parallel) && isKnown(parallel) && facts.number('parallelism.tp') === 1) {
    facts.set('sequence.sequence_parallel', { value: false, source: parallel.source });
    facts.note(
      'Sequence parallelism is switched off: it needs tp > 1 (megatron/training/arguments.py, validate_args).',
    );
  }
  const sharded = facts.get('fsdp.enabled');
  if (isOn(sharded)) {
    facts.set('optimizer.use_distributed_optimizer', sharded);
  } else if (isKnown(sharded)) {
    // without Megatron-FSDP the strategy means nothing
    facts.delete('fsdp.data_parallel_sharding_strategy');
  }
  if (!dialect.modelElsewhere && options.blocked === null) {
    deriveSizes(facts, options.has('swiglu'));
  }
}

/** Sizes that validate_args computes; only `--swiglu` makes the feed-forward layer narrower. */
function deriveSizes(facts: Facts, swiglu: boolean): void {
  const hidden = facts.get('model.hidden_size');
  const gated = facts.get('model.gated_linear_unit');
  if (!facts.get('model.num_query_groups')) {
    facts.set('model.num_query_groups', asDefault(facts.get('model.num_attention_heads')));
  }
  if (!facts.get('model.ffn_hidden_size') && isKnown(gated)) {
    const width = (size: number) => (swiglu && gated.value ? Math.trunc((4 * size * 2) / 3 / 64) * 64 : 4 * size);
    facts.set('model.ffn_hidden_size', asDefault(derived([hidden], width, 'hidden_size')));
  }
  if (!facts.get('model.kv_channels')) {
    const channels = (size: number, heads: number) => Math.floor(size / heads);
    facts.set(
      'model.kv_channels',
      asDefault(derived([hidden, facts.get('model.num_attention_heads')], channels, 'hidden_size')),
    );
  }
  if (facts.get('model.num_experts') && !facts.get('model.moe_ffn_hidden_size')) {
    facts.set('model.moe_ffn_hidden_size', asDefault(facts.get('model.ffn_hidden_size')));
  }
}

/** The same value as the framework's own choice: nothing in the file says it for this key. */
function asDefault<T extends FactValue>(found: Found<T> | undefined): Found<T> | undefined {
  return isKnown(found) ? { value: found.value, source: 'default' } : found;
}
