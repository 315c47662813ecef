import { isModelPath } from '../format/keyPath';
import type { KeyPath } from '../format/keys';
import type { Flag, LayoutWriter } from '../launch/layoutWriter';
import type { FactValue } from '../launch/value';
import { megatronName, PLAIN_OPTIONS, type PlainOption } from './megatronOptions';

/** How an option is spelled: as a flag of the training script, or as a field of Megatron Core's configurations. */
type Spelling = 'flag' | 'field';

/** An option that a layout sets, with the key that says so. */
type WrittenOption = readonly [key: KeyPath, name: string, value: FactValue];

/** The flags of Megatron-LM that a layout sets, in the order of the format. */
export function megatronFlags(writer: LayoutWriter): Flag[] {
  return startable(writer, megatronOptions(writer, 'flag').flatMap(flagsOf));
}

/** The flags without which Megatron-LM does not start (megatron/training/arguments.py, validate_args). */
const REQUIRED = [
  ...['--num-layers', '--hidden-size', '--num-attention-heads', '--seq-length', '--max-position-embeddings'],
  '--micro-batch-size',
];

/** Flags with the one that follows from another; those that the layout leaves open are named in a note. */
function startable(writer: LayoutWriter, written: readonly Flag[], required = REQUIRED): Flag[] {
  const lengthOf = (name: string) => written.find(([flag]) => flag === name)?.[1];
  const length = lengthOf('--max-position-embeddings') === undefined ? lengthOf('--seq-length') : undefined;
  const flags: Flag[] = [...written, ...(length === undefined ? [] : [['--max-position-embeddings', length] as const])];
  const names = new Set(flags.map(([flag]) => flag));
  const open = required.filter(
    (flag) => !names.has(flag) && !(flag === '--num-layers' && names.has('--hybrid-layer-pattern')),
  );
  if (open.length > 0) {
    writer.notes.push(`Megatron-LM also needs ${open.join(', ')}, which the layout does not say.`);
  }
  return flags;
}

/** The flags for the model of one module, and those that all modules share; the example starts with this optimizer alone. */
export function moduleFlags(writer: LayoutWriter, module: string): Flag[] {
  const prefix = `modules.${module}.` as const;
  const plain = plainOptions(writer, 'flag', (key) =>
    isModelPath(key) ? `${prefix}${key}` : /^(batch|optimizer|recompute|moe)\./.test(key) ? key : null,
  );
  const flags = [...plain, ...modelOptions(writer, 'flag', prefix)].flatMap(flagsOf);
  return startable(writer, flags, [...REQUIRED, '--use-distributed-optimizer']);
}

/** The options of Megatron that a layout sets. */
export function megatronOptions(writer: LayoutWriter, spelling: Spelling): WrittenOption[] {
  writer.requireHomogeneous('flags of Megatron-LM');
  const options = [
    ...plainOptions(writer, spelling, (key) => key),
    ...gridOptions(writer, spelling),
    ...modelOptions(writer, spelling, ''),
  ];
  if (writer.used.has('world_size') || writer.used.has('cluster.nodes')) {
    // data parallelism is never an option: it follows from the world
    writer.derives('parallelism.dp', 'parallelism.expt_dp');
  }
  return options;
}

/** The options that become keys as they are. */
function plainOptions(
  writer: LayoutWriter,
  spelling: Spelling,
  keyOf: (key: KeyPath) => KeyPath | null,
): WrittenOption[] {
  return PLAIN_OPTIONS.flatMap((option): WrittenOption[] => {
    // ZeRO is an option of Megatron-DeepSpeed alone
    const key = option.key === 'optimizer.zero_stage' ? null : keyOf(option.key);
    // a flag takes at least one value: an empty list, which is the default of all that take lists, cannot be said
    const isEmpty = spelling === 'flag' && key !== null && isEmptyList(writer.values.get(key)?.value);
    const value = key === null || isEmpty ? undefined : writer.written(key);
    return key === null || value === undefined ? [] : [[key, ...spelled(option, value, spelling)]];
  });
}

const isEmptyList = (value: FactValue | undefined): boolean => Array.isArray(value) && value.length === 0;

/** The name and value of an option; the flag that turns something off is on where its key is false. */
function spelled({ names, field, kind, opposite, choice }: PlainOption, value: FactValue, spelling: Spelling) {
  const isOpposite = (spelling === 'field' && opposite !== null) !== (kind === 'off');
  const said = choice ? value === choice.on : isOpposite && typeof value === 'boolean' ? !value : value;
  return [spelling === 'flag' ? names[0] : field, said] as const;
}

/** Sizes of the grid that Megatron-LM spells differently. */
function gridOptions(writer: LayoutWriter, spelling: Spelling): WrittenOption[] {
  const options: WrittenOption[] = [];
  const vpp = writer.written('parallelism.vpp');
  if (typeof vpp === 'number' && !writer.values.has('parallelism.pipeline_model_parallel_layout')) {
    const name = spelling === 'flag' ? 'num_virtual_stages_per_pipeline_rank' : megatronName('parallelism.vpp');
    options.push(['parallelism.vpp', name, vpp]);
  }
  options.push(
    ...shardOptions(writer, 'parallelism.gtp_remat', 'parallelism.num_weight_shards'),
    ...shardOptions(writer, 'parallelism.expt_gtp_remat', 'parallelism.expt_num_weight_shards'),
  );
  const order = writer.values.get('parallelism.order')?.value;
  if (order === 'tp-cp-ep-pp-dp' || order === 'tp-cp-ep-dp-pp') {
    writer.derives('parallelism.order');
    options.push(['parallelism.order', 'use_tp_pp_dp_mapping', order === 'tp-cp-ep-pp-dp']);
  }
  return options;
}

/** The total of weight shards, which a layout may write as a degree beside tp. */
function shardOptions(writer: LayoutWriter, remat: KeyPath, shards: KeyPath): WrittenOption[] {
  const isDegree = writer.written(remat) !== undefined && !writer.values.has(shards);
  const total = isDegree ? writer.meant(shards) : undefined;
  return total === undefined ? [] : [[remat, megatronName(shards), total]];
}

/** Options of the model that are spelled differently. */
function modelOptions(writer: LayoutWriter, spelling: Spelling, prefix: '' | `modules.${string}.`): WrittenOption[] {
  const options: WrittenOption[] = [];
  const groups = writer.written(`${prefix}model.num_query_groups`);
  if (groups !== undefined) {
    const key = `${prefix}model.num_query_groups` as const;
    options.push(...(spelling === 'flag' ? [[key, 'group_query_attention', true] as const] : []));
    options.push([key, 'num_query_groups', groups]);
  }
  if (writer.written(`${prefix}model.gated_linear_unit`) === true) {
    const name = spelling === 'flag' ? 'swiglu' : megatronName('model.gated_linear_unit');
    options.push([`${prefix}model.gated_linear_unit`, name, true]);
  }
  const type = writer.written(`${prefix}model.params_dtype`) ?? 'bf16';
  if (type !== 'fp32') {
    options.push([`${prefix}model.params_dtype`, String(type), true]);
  }
  return options;
}

/** An option as a flag with its words: none for a switch that is off. */
function flagsOf([, name, value]: WrittenOption): Flag[] {
  const flag = `--${name.replaceAll('_', '-')}`;
  if (typeof value === 'boolean') {
    return value ? [[flag]] : [];
  }
  return [[flag, ...(Array.isArray(value) ? value : [value]).map(String)]];
}
