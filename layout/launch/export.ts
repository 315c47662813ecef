import { stringify } from 'yaml';
import type { Diagnostic } from '..';
import { jsonText, shellWord } from '../escape';
import { isModelPath } from '../format/keyPath';
import type { KeyPath } from '../format/keys';
import { type FactValue, product } from './foundValues';
import { effectiveValue, type LayoutValues, layoutFileValues, worldOf } from './layout-values';
import { PLAIN_OPTIONS } from './megatron';
import { underRecorder } from './record';

/** What a layout can be written as. */
export const EXPORT_TARGETS = [
  'megatron-args',
  'model-config',
  'bridge',
  'torchrun',
  'sbatch',
  'mimo-args',
  'module-grid-spec',
  'ntp-config',
  'verl',
  'nemo-rl',
  'torchtitan',
] as const;

export type ExportTarget = (typeof EXPORT_TARGETS)[number];

/** A layout in another form. */
export interface Exported {
  readonly text: string;
  /** Keys of the layout that the form cannot hold. */
  readonly left: readonly string[];
  /** Sentences on what the layout does not say and the form needs: what was chosen, and what is left out. */
  readonly notes: readonly string[];
}

/** What the settings of a cluster add to the lines that start a job; a target that has no place for them ignores them. */
export interface LauncherSettings {
  /** Options of sbatch by their long names, such as `partition`. */
  readonly sbatch?: Readonly<Record<string, string | number>>;
  /** Options of the srun that starts the ranks. */
  readonly srun?: Readonly<Record<string, string>>;
  /** Lines of bash that run before the ranks start. */
  readonly setup?: readonly string[];
  /** The ranks' interpreter. */
  readonly python?: string;
  /** Whether the run is recorded for `verify`: for the targets of `RECORDED_TARGETS`. */
  readonly record?: boolean;
}

/** Keys that no launch file has a place for: they are the layout's own. */
const OWN = /^(layout|name|description|megatron|launch|smoke)(\.|$)/;

/**
 * Writes a layout in the form that a framework or launcher reads. Keys that the form cannot hold are listed.
 * @param text the layout file
 * @throws Error where the layout is no map, or of a kind that the form cannot hold at all
 */
export function exportLayout(text: string, target: ExportTarget, settings: LauncherSettings = {}): Exported {
  const values = layoutFileValues('', text);
  if (!values) {
    throw new Error('The layout cannot be read.');
  }
  const writer = new Writer(values, settings);
  const written = WRITERS[target](writer);
  const left = [...values.keys()].filter((key) => !writer.used.has(key) && !OWN.test(key));
  return { text: written, left, notes: notesOf(writer, target) };
}

/** A layout that leaves a key open, such as one that was imported, is exported as far as it goes. */
const INCOMPLETE = 'missing-key';

/** The errors for which a layout is not exported unless that is asked for. */
export function exportErrors(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.filter(({ severity, code }) => severity === 'error' && code !== INCOMPLETE);
}

interface Nodes {
  readonly nodes: number;
  readonly perNode: number;
}

/** Nodes and GPUs a node; a world alone is one row of nodes with 8 GPUs where that divides it, and one node otherwise. */
function nodesOf(values: LayoutValues): Nodes | null {
  const keys = ['cluster.nodes', 'cluster.gpus_per_node'] as const;
  const [nodes, each] = keys.map((key) => values.get(key)?.value);
  const world = worldOf(values)?.value;
  if (typeof nodes === 'number' && typeof each === 'number') {
    return { nodes, perNode: each };
  }
  if (typeof world !== 'number') {
    return null;
  }
  return world > 8 && world % 8 === 0 ? { nodes: world / 8, perNode: 8 } : { nodes: 1, perNode: world };
}

/** Forms that say how many nodes a job has. */
const WITH_NODES: ReadonlySet<ExportTarget> = new Set(['torchrun', 'sbatch', 'mimo-args', 'verl', 'nemo-rl']);

/** The settings of a Slurm cluster that a batch script takes. */
const CLUSTER_SETTINGS = 'partition, account, time, container_image and setup';

function notesOf({ values, settings, notes }: Writer, target: ExportTarget): string[] {
  const found = WITH_NODES.has(target) ? nodesOf(values) : null;
  const { nodes, perNode } = found ?? { nodes: 1, perNode: 1 };
  const isChosen = found !== null && !values.has('cluster.nodes');
  const needsHost = nodes > 1 && (target === 'torchrun' || target === 'mimo-args');
  return [
    ...notes,
    ...(isChosen
      ? [
          `The layout has no cluster; its ${nodes * perNode} ranks are written as ${nodes} x ${perNode}. Write cluster to choose.`,
        ]
      : []),
    ...(needsHost ? ['The command leaves out --rdzv-endpoint, which several nodes need: a layout names no host.'] : []),
    ...(target === 'sbatch' && settings.sbatch === undefined
      ? [`The script leaves out ${CLUSTER_SETTINGS}: they come from the settings of a Slurm cluster.`]
      : []),
  ];
}

const WRITERS: Readonly<Record<ExportTarget, (writer: Writer) => string>> = {
  'megatron-args': (writer) => lines(megatronFlags(writer)),
  'model-config': modelConfig,
  bridge,
  torchrun: (writer) => torchrun(writer, 'pretrain_gpt.py', megatronFlags(writer)),
  sbatch,
  'mimo-args': mimoArguments,
  'module-grid-spec': moduleGridSpecs,
  'ntp-config': ntpConfiguration,
  verl,
  'nemo-rl': nemoRl,
  torchtitan,
};

/** Reads the values of a layout, and records which were used. */
class Writer {
  readonly used = new Set<KeyPath>();
  /** Where the exported form differs from the layout. */
  readonly notes: string[] = [];

  constructor(
    readonly values: LayoutValues,
    readonly settings: LauncherSettings,
  ) {}

  /** The value that the layout writes. */
  written(key: KeyPath): FactValue | undefined {
    const value = this.values.get(key)?.value;
    if (value !== undefined) {
      this.used.add(key);
    }
    return value;
  }

  /** The value that the layout means, by default where it does not write it. */
  meant(key: KeyPath): FactValue | undefined {
    return this.written(key) ?? effectiveValue(this.values, key);
  }

  /** The options for those of some keys that the layout writes. */
  renamed(names: readonly (readonly [key: KeyPath, option: string])[]): [option: string, value: FactValue][] {
    return names.flatMap(([key, option]): [string, FactValue][] => {
      const value = this.written(key);
      return value === undefined ? [] : [[option, value]];
    });
  }

  /** Marks keys as used for which the form needs no option, as it derives them. */
  derives(...keys: readonly KeyPath[]): void {
    for (const key of keys) {
      this.written(key);
    }
  }

  /** The nodes of the world. Throws where the layout has none. */
  world(): Nodes {
    const cluster = this.cluster();
    if (!cluster) {
      throw new Error('The layout has no world: write world_size, or cluster.');
    }
    return cluster;
  }

  /** The nodes of the world; null where the layout has none. Marks the keys as used. */
  cluster(): Nodes | null {
    this.derives('cluster.nodes', 'cluster.gpus_per_node', 'world_size');
    return nodesOf(this.values);
  }

  /** The names of the layout's modules. */
  modules(): string[] {
    return [...new Set([...this.values.keys()].flatMap((key) => /^modules\.([^.]+)\./.exec(key)?.[1] ?? []))];
  }

  requireHomogeneous(form: string): void {
    if (this.modules().length > 0) {
      throw new Error(`A layout with modules has no form as ${form}. Use mimo-args or module-grid-spec.`);
    }
  }
}

/** One flag with its values, as words. */
type Flag = readonly [flag: string, ...values: string[]];

/** The options of Megatron-LM that a layout sets, in the order of the format; names have underscores. */
function megatronOptions(writer: Writer): [name: string, value: FactValue][] {
  writer.requireHomogeneous('flags of Megatron-LM');
  const options: [string, FactValue][] = [];
  for (const option of PLAIN_OPTIONS) {
    const value = writer.written(option.key);
    if (value !== undefined) {
      options.push([option.names[0], optionValue(option, value)]);
    }
  }
  return [...options, ...jointOptions(writer)];
}

/** The value of an option; one that turns something off is on where its key is false. */
function optionValue({ kind, choice }: (typeof PLAIN_OPTIONS)[number], value: FactValue): FactValue {
  if (kind === 'choice') {
    return value === choice?.on;
  }
  return kind === 'off' ? value !== true : value;
}

/** An option as a flag with its words: none for a switch that is off. */
function flagsOf([name, value]: [name: string, value: FactValue]): Flag[] {
  const flag = wordOf(`--${name.replaceAll('_', '-')}`);
  if (typeof value === 'boolean') {
    return value ? [[flag]] : [];
  }
  return [[flag, ...(Array.isArray(value) ? value : [value]).map(wordOf)]];
}

/** Keys that Megatron-LM spells differently. */
function jointOptions(writer: Writer): [string, FactValue][] {
  const options: [string, FactValue][] = [];
  const vpp = writer.written('parallelism.vpp');
  const hasStages = writer.values.has('parallelism.pipeline_model_parallel_layout');
  if (typeof vpp === 'number' && !hasStages) {
    options.push(['num_virtual_stages_per_pipeline_rank', vpp]);
  }
  options.push(...shardOptions(writer, 'tp', 'gtp_remat', 'tensor_parallel_num_weight_shards'));
  options.push(...shardOptions(writer, 'expt_tp', 'expt_gtp_remat', 'expert_tensor_parallel_num_weight_shards'));
  if (
    writer.values.get('parallelism.order')?.value === 'tp-cp-ep-pp-dp' ||
    writer.values.get('parallelism.order')?.value === 'tp-cp-ep-dp-pp'
  ) {
    options.push(['use_tp_pp_dp_mapping', writer.written('parallelism.order') === 'tp-cp-ep-pp-dp']);
  }
  const groups = writer.written('model.num_query_groups');
  if (groups !== undefined) {
    options.push(['group_query_attention', true], ['num_query_groups', groups]);
  }
  if (writer.written('model.gated_linear_unit') === true) {
    options.push(['swiglu', true]);
  }
  const type = writer.written('model.params_dtype') ?? 'bf16';
  if (type !== 'fp32') {
    options.push([String(type), true]);
  }
  if (writer.used.has('world_size') || writer.used.has('cluster.nodes')) {
    // data parallelism is never an option: it follows from the world
    writer.derives('parallelism.dp', 'parallelism.expt_dp');
  }
  return options;
}

function shardOptions(
  writer: Writer,
  tp: 'tp' | 'expt_tp',
  remat: 'gtp_remat' | 'expt_gtp_remat',
  name: string,
): [string, FactValue][] {
  const degree = writer.written(`parallelism.${remat}`);
  const size = writer.meant(`parallelism.${tp}`);
  const isWritten = writer.values.has(
    `parallelism.${remat === 'gtp_remat' ? 'num_weight_shards' : 'expt_num_weight_shards'}`,
  );
  return typeof degree === 'number' && typeof size === 'number' && !isWritten ? [[name, degree * size]] : [];
}

function megatronFlags(writer: Writer): Flag[] {
  return megatronOptions(writer).flatMap(flagsOf);
}

/** A value as a word of a shell command, whatever the layout holds. */
function wordOf(value: FactValue): string {
  return shellWord(String(value));
}

function lines(flags: readonly Flag[]): string {
  return `${flags.map((flag) => flag.join(' ')).join(' \\\n')}\n`;
}

function modelConfig(writer: Writer): string {
  // the shell that reads the form splits values at blanks (tests/functional_tests/shell_test_utils/_run_training.sh)
  const held = megatronFlags(writer).filter(([flag]) => flag !== '--step-batch-size-schedule');
  writer.used.delete('batch.step_batch_size_schedule');
  const entries = held.map(([flag, ...values]): [string, FactValue] => {
    const [only] = values;
    return [
      flag,
      values.length === 0 ? true : values.length > 1 ? `[${values.join(', ')}]` : number(unquoted(only ?? '')),
    ];
  });
  return stringify({ MODEL_ARGS: Object.fromEntries(entries) }, { lineWidth: 0 });
}

function unquoted(text: string): string {
  return text.startsWith("'") ? text.slice(1, -1).replaceAll(`'\\''`, "'") : text;
}

function number(text: string): FactValue {
  return /^-?\d+$/.test(text) ? Number(text) : text;
}

/** The command that starts a program with torchrun, recorded where that is wanted. */
function torchrun(writer: Writer, script: string, flags: readonly Flag[]): string {
  const { lines: before, program } = underRecorder(script, writer.settings.record === true);
  return before + command(launcher(writer, program), flags);
}

function launcher(writer: Writer, program: string): string {
  const { nodes, perNode } = writer.world();
  return `torchrun --nnodes ${nodes} --nproc-per-node ${perNode} ${program}`;
}

function sbatch(writer: Writer): string {
  const { nodes, perNode } = writer.world();
  const head = [
    '#!/bin/bash',
    `#SBATCH --nodes=${nodes}`,
    `#SBATCH --ntasks-per-node=${perNode}`,
    `#SBATCH --gpus-per-node=${perNode}`,
    ...Object.entries(writer.settings.sbatch ?? {}).map(
      ([name, value]) => `#SBATCH --${name}=${shellWord(String(value))}`,
    ),
  ];
  const domain = writer.written('cluster.gpus_per_nvlink_domain');
  const variables = typeof domain === 'number' ? [`export NVLINK_DOMAIN_SIZE=${domain}`] : [];
  const { srun = {}, setup = [], python = 'python', record = false } = writer.settings;
  const { lines: before, program } = underRecorder('pretrain_gpt.py', record);
  const options = Object.entries(srun).map(([name, value]) => ` --${name}=${shellWord(value)}`);
  const start = `srun${options.join('')} ${shellWord(python)} ${program}`;
  return [...head, '', ...setup, ...variables, before + command(start, megatronFlags(writer))].join('\n');
}

/** The sections of Megatron Bridge's configuration that are not `model`. */
const BRIDGE_SECTIONS: Readonly<Record<string, string>> = { batch: 'train', optimizer: 'optimizer' };

const DDP = [
  'use_distributed_optimizer',
  'overlap_grad_reduce',
  'overlap_param_gather',
  'num_distributed_optimizer_instances',
];

const BRIDGE_NAMES: Readonly<Record<string, string>> = {
  num_experts: 'num_moe_experts',
  decoder_first_pipeline_num_layers: 'num_layers_in_first_pipeline_stage',
  decoder_last_pipeline_num_layers: 'num_layers_in_last_pipeline_stage',
  num_virtual_stages_per_pipeline_rank: 'virtual_pipeline_model_parallel_size',
  swiglu: 'gated_linear_unit',
};

/** The option that Megatron Bridge's configuration has no field for. */
const MEGATRON_LM_ALONE = 'step_batch_size_schedule';

function sectionOfBridge(name: string, key = ''): string {
  if (DDP.includes(name)) {
    return 'ddp';
  }
  return name.startsWith('eval_') ? 'validation' : (BRIDGE_SECTIONS[key.split('.')[0] ?? ''] ?? 'model');
}

/** Megatron Bridge's configuration as YAML overrides of a recipe. */
function bridge(writer: Writer): string {
  const sections: Record<string, Record<string, FactValue>> = {};
  const byName = new Map<string, string>(PLAIN_OPTIONS.map(({ names, key }) => [names[0], key]));
  for (const [name, value] of megatronOptions(writer).filter(([name]) => name !== MEGATRON_LM_ALONE)) {
    const section = sectionOfBridge(name, byName.get(name));
    if (name !== 'group_query_attention') {
      sections[section] = { ...sections[section], [BRIDGE_NAMES[name] ?? name]: value };
    }
  }
  writer.used.delete(`batch.${MEGATRON_LM_ALONE}`);
  const length = sections.model?.seq_length;
  return stringify(
    { ...sections, ...(length !== undefined && { dataset: { sequence_length: length } }) },
    { lineWidth: 0 },
  );
}

type ModuleDegree = 'tp' | 'cp' | 'pp' | 'ep' | 'expt_tp';

/** The degrees that make up one replica. */
const REPLICA = ['tp', 'gtp_remat', 'cp', 'pp'] as const;

function mimoArguments(writer: Writer): string {
  const others = writer.modules().filter((name) => name !== 'language');
  const [encoder] = others;
  if (!writer.modules().includes('language') || others.length > 1) {
    throw new Error('The MIMO example has a language module and at most one encoder; the layout has others.');
  }
  const flags: Flag[] = [];
  const size = (module: string, key: ModuleDegree) => writer.meant(`modules.${module}.${key}`) ?? 1;
  if (encoder !== undefined) {
    requireOnes(writer, encoder);
    if (encoder !== 'encoder') {
      writer.notes.push(`The flags of the MIMO example have no name for ${encoder}: it is their encoder.`);
    }
    flags.push(['--encoder-tp', wordOf(size(encoder, 'tp'))], ['--encoder-dp', String(replicas(writer, encoder))]);
  } else {
    flags.push(['--llm-only']);
  }
  flags.push(['--llm-offset', wordOf(writer.meant('modules.language.rank_offset') ?? 0)]);
  for (const key of ['tp', 'cp', 'pp', 'ep', 'expt_tp'] as const) {
    flags.push([`--llm-${key.replaceAll('_', '-')}`, wordOf(size('language', key))]);
  }
  flags.push(['--llm-dp', String(replicas(writer, 'language'))]);
  flags.push(...moduleShards(writer));
  for (const option of PLAIN_OPTIONS) {
    const { key, names } = option;
    const ofModule = isModelPath(key) ? (`modules.language.${key}` as const) : null;
    const value = ofModule !== null || key.startsWith('batch.') ? writer.written(ofModule ?? key) : undefined;
    if (value !== undefined) {
      flags.push(...flagsOf([names[0], optionValue(option, value)]));
    }
  }
  const groups = writer.written('modules.language.model.num_query_groups');
  flags.push(
    ...(groups === undefined ? [] : ([['--group-query-attention'], ['--num-query-groups', wordOf(groups)]] as const)),
  );
  const type = writer.written('modules.language.model.params_dtype') ?? 'bf16';
  flags.push(...(type === 'fp32' ? [] : ([[wordOf(`--${String(type)}`)]] as const)));
  return torchrun(writer, 'examples/mimo/train.py', flags);
}

/** The encoder of the example has tp and dp alone. */
function requireOnes(writer: Writer, module: string): void {
  for (const key of ['cp', 'pp', 'ep', 'gtp_remat', 'expt_tp', 'expt_gtp_remat'] as const) {
    const value = writer.meant(`modules.${module}.${key}`) ?? 1;
    if (value !== 1) {
      throw new Error(`The encoder of the MIMO example has no ${key}; ${module} has ${key} ${String(value)}.`);
    }
  }
  if ((writer.meant(`modules.${module}.rank_offset`) ?? 0) !== 0) {
    throw new Error('The encoder of the MIMO example begins at rank 0.');
  }
}

/** The data-parallel size of a module: written, or what its ranks leave. */
function replicas(writer: Writer, module: string): number {
  const dp = writer.written(`modules.${module}.dp`);
  const ranks = writer.written(`modules.${module}.num_ranks`);
  writer.written(`modules.${module}.expt_dp`);
  const degrees = REPLICA.map((key) => Number(writer.meant(`modules.${module}.${key}`) ?? 1));
  const size = typeof dp === 'number' ? dp : Number(ranks) / product(degrees);
  if (!degrees.every(Number.isInteger) || !Number.isInteger(size) || size < 1) {
    throw new Error(`The data-parallel size of ${module} is not known: write dp or num_ranks.`);
  }
  return size;
}

function moduleShards(writer: Writer): Flag[] {
  const flags: Flag[] = [];
  for (const [tp, remat, shards, flag] of [
    ['tp', 'gtp_remat', 'num_weight_shards', '--tensor-parallel-num-weight-shards'],
    ['expt_tp', 'expt_gtp_remat', 'expt_num_weight_shards', '--expert-tensor-parallel-num-weight-shards'],
  ] as const) {
    const degree = writer.written(`modules.language.${remat}`);
    const total =
      writer.written(`modules.language.${shards}`) ??
      (typeof degree === 'number' ? degree * Number(writer.meant(`modules.language.${tp}`) ?? 1) : undefined);
    if (total !== undefined) {
      flags.push([flag, wordOf(total)]);
    }
  }
  return flags;
}

const SPEC_KEYS = ['tp', 'cp', 'pp', 'ep', 'gtp_remat', 'rank_offset', 'expt_tp', 'expt_gtp_remat'] as const;

/** The arguments of `create_topology` (examples/mimo/training/topology.py). */
function moduleGridSpecs(writer: Writer): string {
  const names = writer.modules();
  if (names.length === 0) {
    throw new Error('A layout without modules has no module grids. Use megatron-args.');
  }
  const specs = names.map((name) => {
    const degrees = REPLICA.map((key) => Number(writer.meant(`modules.${name}.${key}`) ?? 1));
    const ranks = replicas(writer, name) * product(degrees);
    const rest = SPEC_KEYS.flatMap((key) => {
      const value = writer.meant(`modules.${name}.${key}`);
      return value === undefined ? [] : [`${key}=${pythonValue(value)}`];
    });
    return `    ModuleGridSpec(name=${pythonText(name)}, num_ranks=${ranks}, ${rest.join(', ')}),`;
  });
  writer.cluster();
  return `specs = [\n${specs.join('\n')}\n]\n`;
}

function pythonValue(value: FactValue): string {
  return typeof value === 'number' ? String(value) : pythonText(String(value));
}

/** A string of JSON is one of Python too. */
function pythonText(text: string): string {
  return jsonText(text);
}

/** `NonuniformTPConfig` (megatron/core/distributed/nonuniform_tp.py on heads/dev). */
function ntpConfiguration(writer: Writer): string {
  const [spares, reduced] = [writer.meant('ntp.tp_spares'), writer.meant('ntp.num_reduced_tp_dp_ranks')];
  if (spares === undefined) {
    throw new Error('The layout has no ntp.');
  }
  const base = writer.written('ntp.tp_base') ?? writer.meant('parallelism.tp') ?? 1;
  const removed = nonActiveRanks(writer);
  const fields = [
    `tp_base=${pythonValue(base)}`,
    `tp_spares=${pythonValue(spares)}`,
    `num_reduced_tp_dp_ranks=${pythonValue(reduced ?? 1)}`,
    ...(removed === null ? [] : [`non_active_ranks_per_dp=${removed}`]),
  ];
  return `ntp_config = NonuniformTPConfig(${fields.join(', ')})\n`;
}

const NON_ACTIVE = 'ntp.non_active_ranks_per_dp';

/**
 * The removed slots as Python's dict: keys are `dp`, or `(dp, cp, pp)` for one slice. Null where there are none, and where an
 * entry names only one of cp and pp, for which the dict has no key.
 */
function nonActiveRanks({ values, used }: Writer): string | null {
  const list = values.get(NON_ACTIVE)?.value;
  const entries = Array.isArray(list) ? list.map(nonActiveEntry) : [];
  if (!list || entries.includes(null)) {
    return null;
  }
  used.add(NON_ACTIVE);
  return `{${entries.join(', ')}}`;
}

function nonActiveEntry(entry: FactValue): string | null {
  const fields = new Map<string, FactValue>(typeof entry === 'object' ? Object.entries(entry) : []);
  const [dp, cp, pp] = ['dp', 'cp', 'pp'].map((name) => fields.get(name));
  const ranks = fields.get('local_ranks');
  const isSlice = Number.isInteger(cp) && Number.isInteger(pp);
  const isReplica = cp === undefined && pp === undefined;
  if (!Number.isInteger(dp) || !Array.isArray(ranks) || !ranks.every(Number.isInteger) || (!isSlice && !isReplica)) {
    return null;
  }
  return `${isSlice ? `(${dp}, ${cp}, ${pp})` : dp}: [${ranks.join(', ')}]`;
}

const VERL = 'actor_rollout_ref';

/** Degrees that verl takes under their Megatron names, for the actor and again for the reference model. */
const ROLE_OPTIONS = [
  ['tp', 'tensor_model_parallel_size'],
  ['pp', 'pipeline_model_parallel_size'],
  ['vpp', 'virtual_pipeline_model_parallel_size'],
  ['cp', 'context_parallel_size'],
  ['ep', 'expert_model_parallel_size'],
  ['expt_tp', 'expert_tensor_parallel_size'],
] as const;

/** verl's command with Hydra overrides; the reference model's block repeats the actor's unless the layout has its own. */
function verl(writer: Writer): string {
  writer.requireHomogeneous('overrides of verl');
  const cluster = writer.cluster();
  const hasReference = [...writer.values.keys()].some((key) => key.startsWith('phases.reference.'));
  const degrees = (section: 'parallelism' | 'phases.reference', role: string) =>
    writer.renamed(
      ROLE_OPTIONS.map(([key, option]) => [`${section}.${key}`, `${VERL}.${role}.megatron.${option}`] as const),
    );
  const overrides: [string, FactValue][] = [
    [`${VERL}.actor.strategy`, 'megatron'],
    ...degrees('parallelism', 'actor'),
    ...degrees(hasReference ? 'phases.reference' : 'parallelism', 'ref'),
    [`${VERL}.actor.megatron.sequence_parallel`, writer.written('sequence.sequence_parallel') ?? false],
    ...writer.renamed([
      ['optimizer.use_distributed_optimizer', `${VERL}.actor.megatron.use_distributed_optimizer`],
      ['batch.micro_batch_size', `${VERL}.actor.ppo_micro_batch_size_per_gpu`],
      ...VERL_ROLLOUT.map(([key, option]) => [`phases.rollout.${key}`, `${VERL}.rollout.${option}`] as const),
    ]),
    ...(cluster ? Object.entries({ 'trainer.nnodes': cluster.nodes, 'trainer.n_gpus_per_node': cluster.perNode }) : []),
  ];
  writer.derives('phases.reference.engine', 'parallelism.dp', 'parallelism.expt_dp');
  const words = overrides.map(([name, value]) =>
    wordOf(`${name}=${value === true ? 'True' : value === false ? 'False' : String(value)}`),
  );
  return `${['python3 -m verl.trainer.main_ppo --config-path=config --config-name=ppo_megatron_trainer', ...words].join(' \\\n    ')}\n`;
}

const VERL_ROLLOUT = [
  ['engine', 'name'],
  ['tp', 'tensor_model_parallel_size'],
  ['dp', 'data_parallel_size'],
  ['ep', 'expert_parallel_size'],
  ['pp', 'pipeline_model_parallel_size'],
] as const;

/** A NeMo-RL recipe with the Megatron engine. */
function nemoRl(writer: Writer): string {
  writer.requireHomogeneous('a recipe of NeMo-RL');
  // the recipe's default is 1, not tp
  const expertTp = writer.meant('parallelism.expt_tp');
  const megatron = Object.fromEntries([
    ['enabled', true],
    ...writer.renamed(ROLE_OPTIONS.map(([key, option]) => [`parallelism.${key}`, option] as const)),
    ...(expertTp === undefined ? [] : [['expert_tensor_parallel_size', expertTp]]),
    ...writer.renamed([
      ['sequence.sequence_parallel', 'sequence_parallel'],
      ['model.num_layers_in_first_pipeline_stage', 'num_layers_in_first_pipeline_stage'],
      ['model.num_layers_in_last_pipeline_stage', 'num_layers_in_last_pipeline_stage'],
      ['moe.moe_token_dispatcher_type', 'moe_token_dispatcher_type'],
    ]),
  ]);
  const policy = writer.renamed([
    ['batch.micro_batch_size', 'train_micro_batch_size'],
    ['batch.global_batch_size', 'train_global_batch_size'],
    ['sequence.seq_length', 'max_total_sequence_length'],
  ]);
  const backend = writer.renamed([['phases.rollout.engine', 'backend']]);
  const engine = writer.renamed([
    ['phases.rollout.tp', 'tensor_parallel_size'],
    ['phases.rollout.pp', 'pipeline_parallel_size'],
    ['phases.rollout.ep', 'expert_parallel_size'],
  ]);
  const section = backend[0]?.[1] === 'sglang' ? 'sglang_cfg' : 'vllm_cfg';
  const generation = { ...Object.fromEntries(backend), [section]: Object.fromEntries(engine) };
  const cluster = writer.cluster();
  writer.derives('parallelism.dp');
  return stringify(
    {
      policy: {
        ...Object.fromEntries(policy),
        megatron_cfg: megatron,
        ...(backend.length + engine.length > 0 && { generation }),
      },
      ...(cluster && { cluster: { num_nodes: cluster.nodes, gpus_per_node: cluster.perNode } }),
    },
    { lineWidth: 0 },
  );
}

function torchtitan(writer: Writer): string {
  writer.requireHomogeneous('flags of torchtitan');
  const options = writer.renamed([
    ['parallelism.tp', 'parallelism.tensor_parallel_degree'],
    ['parallelism.pp', 'parallelism.pipeline_parallel_degree'],
    ['parallelism.cp', 'parallelism.context_parallel_degree'],
    ['parallelism.ep', 'parallelism.expert_parallel_degree'],
    ['sequence.seq_length', 'training.seq_len'],
    ['batch.micro_batch_size', 'training.local_batch_size'],
    ['batch.global_batch_size', 'training.global_batch_size'],
  ]);
  writer.derives('parallelism.dp');
  return command(
    launcher(writer, '-m torchtitan.train'),
    options.map(([name, value]) => [`--${name}`, wordOf(value)]),
  );
}

/** A command with its flags, one a line. */
function command(start: string, flags: readonly Flag[]): string {
  return `${[start, ...flags.map((flag) => flag.join(' '))].join(' \\\n    ')}\n`;
}
