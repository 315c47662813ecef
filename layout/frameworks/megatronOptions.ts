import { isKeyPath, mapOf, specOf } from '../format/keyPath';
import type { KeyPath } from '../format/keys';
import type { KeySpec } from '../format/spec';
import { firstOf, isOn, type Options, typeOf } from '../launch/options';
import {
  type Defaults,
  derived,
  entriesOf,
  type Facts,
  type FactValue,
  type Found,
  isKnown,
  mapFound,
  ONE,
} from '../launch/value';
import { defaultFfnHiddenSize } from '../topology/feedForward';

/** How a framework that builds on Megatron-LM spells its options. */
export interface Dialect {
  /** Null where a recipe in code sets what is absent. */
  readonly defaults: Defaults | null;
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

type Kind =
  | 'integer'
  | 'switch'
  | 'off'
  | 'choice'
  | 'text'
  | 'texts'
  | 'oneOrMore'
  | 'integers'
  | 'expression'
  | 'number'
  | 'type';

/** An option that becomes a key as it is. */
export interface PlainOption {
  readonly key: KeyPath;
  /** How the value of the flag is read. */
  readonly kind: Kind;
  /** The names, the flag's first, then that of the field of Megatron Core's configuration and former ones. */
  readonly names: readonly [string, ...string[]];
  /** The name of the field. */
  readonly field: string;
  /** The name of the field where it says the opposite of the flag. */
  readonly opposite: string | null;
  /** Of the kind `choice`: the values that a switch stands for where it is on and where it is off. */
  readonly choice?: { readonly on: string; readonly off: string };
}

/** Fields of Megatron Core's configurations that have another name than the flag. */
const FIELDS: { readonly [P in KeyPath]?: string } = {
  'parallelism.microbatch_group_size_per_vp_stage': 'microbatch_group_size_per_vp_stage',
  'model.num_layers_in_first_pipeline_stage': 'num_layers_in_first_pipeline_stage',
  'model.num_layers_in_last_pipeline_stage': 'num_layers_in_last_pipeline_stage',
  'model.num_experts': 'num_moe_experts',
  'precision.fp8_format': 'fp8',
  'precision.fp4_format': 'fp4',
};

/** Fields that say the opposite of the flag. */
const OPPOSITES: { readonly [P in KeyPath]?: string } = {
  'parallelism.overlap_p2p_comm': 'overlap_p2p_comm',
  'model.add_bias_linear': 'add_bias_linear',
  'model.untie_embeddings_and_output_weights': 'share_embeddings_and_output_weights',
  'optimizer.gradient_accumulation_fusion': 'gradient_accumulation_fusion',
  'checkpoint.fully_parallel_save': 'fully_parallel_save',
};

/** Names that options had in former versions. */
const FORMER: { readonly [P in KeyPath]?: string } = {
  'cuda_graph.cuda_graph_modules': 'cuda_graph_scope',
  'model.hybrid_layer_pattern': 'hybrid_override_pattern',
  'fsdp.enabled': 'use_custom_fsdp',
};

/** The names beside the flags, some of which are flags of their own. */
const OTHER_NAMES: readonly string[] = [FIELDS, FORMER].flatMap((names) =>
  entriesOf(names).flatMap(([, name]) => name ?? []),
);

/** Fields of keys that are read together with others. */
const JOINT_FIELDS: { readonly [P in KeyPath]?: string } = {
  'parallelism.vpp': 'virtual_pipeline_model_parallel_size',
  'model.num_query_groups': 'num_query_groups',
  'model.gated_linear_unit': 'gated_linear_unit',
};

/** How the value of a key is read, by the key's type. */
const KINDS: Readonly<Record<string, Kind>> = {
  integer: 'integer',
  share: 'number',
  boolean: 'switch',
  string: 'text',
  enum: 'text',
  either: 'expression',
  'list of integer': 'integers',
  'list of any': 'integers',
  'list of string': 'texts',
  'list of enum': 'texts',
};

/** How values are read where the type of their key does not say it. */
const OTHER_KINDS: { readonly [P in KeyPath]?: Kind } = {
  'parallelism.pipeline_model_parallel_layout': 'text',
  'sequence.cp_comm_type': 'oneOrMore',
  'moe.moe_expert_capacity_factor': 'number',
  'moe.moe_router_load_balancing_type': 'oneOrMore',
  'optimizer.main_params_dtype': 'type',
  'optimizer.main_grads_dtype': 'type',
  'optimizer.exp_avg_dtype': 'type',
  'optimizer.exp_avg_sq_dtype': 'type',
};

/** Options that are read together with others, not as a key of their own. */
const JOINT = [
  ...['num_query_groups', 'group_query_attention', 'use_tp_pp_dp_mapping', 'world_size', 'data_parallel_size'],
  ...['bf16', 'fp16', 'params_dtype', 'swiglu', 'quick_geglu', 'gated_linear_unit'],
  ...['num_virtual_stages_per_pipeline_rank', 'num_layers_per_virtual_pipeline_stage'],
  ...['virtual_pipeline_model_parallel_size', 'recompute_activations'],
];

/** The sections of a layout whose keys are options of Megatron-LM. */
const SECTIONS: readonly KeyPath[] = [
  ...(['parallelism', 'model', 'sequence', 'batch', 'optimizer', 'precision', 'recompute', 'moe'] as const),
  ...(['checkpoint', 'fsdp', 'communicators', 'cuda_graph'] as const),
];

/** Every option that becomes a key as it is, in the order of the format, which names the flag of each key. */
export const PLAIN_OPTIONS: readonly PlainOption[] = SECTIONS.flatMap((section) => {
  return Object.entries<KeySpec>(mapOf(specOf(section))?.keys ?? {}).flatMap(([name, spec]) => {
    const key = `${section}.${name}`;
    return isKeyPath(key) ? plainOption(key, name, spec) : [];
  });
});

function plainOption(key: KeyPath, name: string, spec: KeySpec): PlainOption[] {
  const flag = /^--([\w-]+)$/.exec(spec.flag ?? '')?.[1]?.replaceAll('-', '_');
  const kind = OTHER_KINDS[key] ?? KINDS[spec.type === 'list' ? `list of ${spec.items.type}` : spec.type];
  const [known, former, opposite = null] = [FIELDS[key], FORMER[key], OPPOSITES[key]];
  if (flag === undefined || kind === undefined || JOINT.includes(flag) || OTHER_NAMES.includes(flag)) {
    return [];
  }
  const isInverted = kind === 'switch' && /^(no|disable)_/.test(flag) && !/^(no|disable)_/.test(name);
  const choice =
    spec.type === 'enum' && spec.whenOn !== undefined ? { on: spec.whenOn, off: String(spec.default) } : null;
  return [
    {
      names: [flag, ...[known, former].flatMap((other) => other ?? [])],
      key,
      kind: choice ? 'choice' : isInverted ? 'off' : kind,
      field: known ?? opposite ?? flag,
      opposite,
      ...(choice && { choice }),
    },
  ];
}

/**
 * The field of Megatron Core's configurations that a key becomes: frameworks on Megatron Core take it by this name.
 * @throws Error where there is none
 */
export function megatronName(key: KeyPath): string {
  const name = JOINT_FIELDS[key] ?? PLAIN_OPTIONS.find((option) => option.key === key)?.field;
  if (name === undefined) {
    throw new Error(`Megatron Core has no field for ${key}.`);
  }
  return name;
}

/** Every option that has a place in a layout. */
export const MEGATRON_OPTIONS: ReadonlySet<string> = new Set([
  ...PLAIN_OPTIONS.flatMap(({ names, opposite }) => [...names, ...(opposite === null ? [] : [opposite])]),
  ...JOINT,
]);

/** Megatron-LM's switches that scripts use most: what follows one is not its value. */
export const MEGATRON_SWITCHES: ReadonlySet<string> = new Set([
  ...PLAIN_OPTIONS.flatMap(({ names, kind }) => (['switch', 'off', 'choice'].includes(kind) ? names : [])),
  ...['group_query_attention', 'bf16', 'fp16', 'swiglu', 'quick_geglu', 'use_tp_pp_dp_mapping', 'use_mcore_models'],
  ...['use_flash_attn', 'no_masked_softmax_fusion', 'disable_bias_linear', 'normalization_zero_centered', 'mock_data'],
]);

/**
 * Reads the options of Megatron-LM, however a framework passes them on. What is absent has the dialect's default unless
 * something that is not known could have set it.
 */
export function readMegatron(options: Options, dialect: Dialect, facts: Facts): void {
  for (const option of PLAIN_OPTIONS) {
    facts.set(option.key, readOption(options, option, dialect));
  }
  readJoint(options, dialect, facts);
  if (dialect.resolved) {
    return;
  }
  setDefaults(options, dialect, facts);
  applyValidation(options, dialect, facts);
}

function readOption(options: Options, option: PlainOption, dialect: Dialect): Found | undefined {
  const { names, kind, opposite, choice } = option;
  // an absent option is reported as unknown for the important keys alone (`setDefaults`)
  const { given } = options;
  if (opposite !== null && dialect.switches === 'value' && options.has(opposite)) {
    return mapFound(options.boolean(opposite), (isSet) => isSet === (kind === 'off'));
  }
  switch (kind) {
    case 'integer':
      return given.integer(...names);
    case 'number':
      return given.number(...names);
    case 'switch':
      return onOff(options, names, dialect);
    case 'off':
      return mapFound(onOff(options, names, dialect), (isOn) => !isOn);
    case 'choice':
      return mapFound(onOff(options, names, dialect), (isOn) => (isOn ? choice?.on : choice?.off) ?? '');
    case 'text':
      return given.string(...names);
    case 'type':
      return typeOf(given.string(...names), ['fp8']);
    case 'integers':
      return given.list(true, ...names);
    case 'texts':
      return given.list(false, ...names);
    case 'oneOrMore':
      return oneOrMore(given, names);
    case 'expression':
      return numberOrText(given, names);
  }
}

function onOff({ given }: Options, names: readonly string[], { switches }: Dialect): Found<boolean> | undefined {
  return switches === 'bare' ? given.flag(...names) : given.boolean(...names);
}

/** Several values as a list, one value as it is. */
function oneOrMore(options: Options, names: readonly string[]): Found | undefined {
  return mapFound(options.list(false, ...names), (values) => (values.length === 1 ? (values[0] ?? '') : values));
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
    ...['swiglu', 'quick_geglu', 'gated_linear_unit'].map((name) => onOff(options, [name], dialect)),
  );
  facts.set('model.gated_linear_unit', gated);
  if (options.has('recompute_activations')) {
    // wins over the granularity (validate_args)
    const recomputed = onOff(options, ['recompute_activations'], dialect);
    facts.set(
      'recompute.granularity',
      isKnown(recomputed) && recomputed.value
        ? { value: 'selective', source: recomputed.source }
        : (facts.get('recompute.granularity') ?? (isKnown(recomputed) ? undefined : recomputed)),
    );
  }
  facts.set('parallelism.order', mapFound(onOff(options, ['use_tp_pp_dp_mapping'], dialect), orderOf));
}

/** The order of the ranks, with and without `--use-tp-pp-dp-mapping`. */
export function orderOf(isMapped: boolean): string {
  return isMapped ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp';
}

/** Key/value heads are in force only with `--group-query-attention` (argument_utils.py, core_transformer_config_from_args). */
function readGroups(options: Options, dialect: Dialect, facts: Facts): void {
  const grouped = onOff(options, ['group_query_attention'], dialect);
  const groups = options.given.integer('num_query_groups');
  if (isOn(grouped) || (dialect.groupsAlone && groups)) {
    facts.set('model.num_query_groups', groups ?? (options.blocked === null ? ONE : undefined));
  } else if (dialect.resolved && isKnown(grouped)) {
    facts.set('model.num_query_groups', asDefault(facts.get('model.num_attention_heads')));
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
    const found = onOff(options, [name], dialect);
    if (isOn(found) && isKnown(found)) {
      facts.set('model.params_dtype', { value: name, source: found.source });
      return;
    }
    if (found && !isKnown(found)) {
      facts.set('model.params_dtype', found);
    }
  }
  if (options.has('params_dtype')) {
    facts.set('model.params_dtype', typeOf(options.string('params_dtype')) ?? facts.get('model.params_dtype'));
  }
}

/**
 * The four spellings of the virtual pipeline size (arguments.py, validate_args), of which at most one is given. Layers a virtual
 * stage stay what they are where no size follows from them: what they say of the layers is then to be judged.
 */
function readVirtualPipeline(options: Options, facts: Facts): void {
  const pp = facts.get('parallelism.pp') ?? (options.blocked === null ? ONE : undefined);
  const direct = firstOf(
    ...['num_virtual_stages_per_pipeline_rank', 'virtual_pipeline_model_parallel_size'].map((name) =>
      options.given.integer(name),
    ),
  );
  const ends = ['model.num_layers_in_first_pipeline_stage', 'model.num_layers_in_last_pipeline_stage'] as const;
  const byLayers = direct ? undefined : fromLayers(options, pp, facts);
  if (byLayers && (!isKnown(byLayers) || ends.some((end) => facts.get(end)))) {
    facts.set(
      'parallelism.num_layers_per_virtual_pipeline_stage',
      options.integer('num_layers_per_virtual_pipeline_stage'),
    );
    facts.set('parallelism.vpp', isKnown(byLayers) ? undefined : byLayers);
    return;
  }
  const found = direct ?? byLayers ?? fromLayout(pp, facts) ?? fromPattern(pp, facts);
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
  const extra = (['embedding', 'loss'] as const).filter((what) =>
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

const IMPORTANT = ['parallelism.tp', 'parallelism.pp', 'parallelism.cp', 'parallelism.ep'] as const;

function setDefaults(options: Options, { defaults, modelElsewhere }: Dialect, facts: Facts): void {
  if (options.blocked !== null) {
    for (const key of IMPORTANT.filter((one) => !facts.get(one))) {
      facts.set(key, { unknown: options.blocked });
    }
    return;
  }
  if (defaults) {
    facts.takeDefaults(defaults, !modelElsewhere);
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
  // validate_args looks at the overlap with the optimizer's step before Megatron-FSDP switches its optimizer on
  if (isOn(sharded) && !isOn(facts.get('optimizer.overlap_param_gather_with_optimizer_step'))) {
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
    const width = (size: number) => defaultFfnHiddenSize(size, swiglu && gated.value === true);
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
