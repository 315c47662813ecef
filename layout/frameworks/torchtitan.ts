import { environmentOf, hasFlag, type Job, type World, worldByDefault } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { LayoutWriter } from '../launch/layoutWriter';
import {
  defaultsIn,
  defaultsOf,
  listUnmapped,
  listUnmappedTree,
  type OptionRow,
  pathsIn,
  readRows,
} from '../launch/optionRows';
import { type Option, Options } from '../launch/options';
import { CALLEE, pythonRecipes, RETURN } from '../launch/sources/python/module';
import { parseTomlTree } from '../launch/sources/toml';
import { at, type Copies, emptyMap, mergeTrees, optionsOf, setAt, type Tree, textAtPath } from '../launch/sources/tree';
import { derived, type FactPath, Facts, isKnown, mapFound, quotient, type Reason } from '../launch/value';
import { deriveSharded, setWorld } from '../launch/world';
import { EXPERTS, type Framework, parallelDegree, REPLICATE, shardDegree, sized } from './framework';

/** torchtitan: `ParallelDims` in torchtitan/distributed/parallel_dims.py. */
export const torchtitan: Framework = {
  name: 'torchtitan',
  title: 'torchtitan',
  revision: 'b5bcd76c66',
  source: 'pytorch/torchtitan',
  world: {
    degrees: [REPLICATE, shardDegree('rest'), parallelDegree('cp'), parallelDegree('tp'), parallelDegree('pp')],
    over: [EXPERTS],
    predicts: ({ dp_replicate, dp_shard = 1, cp, tp, pp }, world) =>
      dp_shard < 1
        ? // an assertion without a message, where nothing is left to shard over
          ''
        : `Invalid parallel dims: dp_replicate(${dp_replicate}) * dp_shard(${dp_shard}) * cp(${cp}) * tp(${tp}) * pp(${pp}) != WORLD_SIZE(${world})`,
    belowOne: (small) =>
      Object.keys(small).some((name) => name !== 'dp_shard')
        ? 'Parallelism degree should be >= 1, except for dp_shard'
        : 'dp_shard must -1 or >=1.',
    experts: {
      count: ({ dp_shard = 1, cp = 1, tp = 1 }) => dp_shard * cp * tp,
      axes: ['dp_shard', 'cp', 'tp'],
      predicts: (ep, ranks) => `expert_parallel_degree (${ep}) must divide dp_shard * cp * tp (${ranks})`,
    },
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp_shard', 'dp_replicate', 'pp'].map(sized),
      groups: [
        { name: 'pp', carries: 'activations and their gradients between stages' },
        { name: 'dp_replicate', carries: 'gradients of replicated parameters' },
        {
          name: 'dp_shard',
          carries: 'shards of parameters and gradients without context parallelism',
        },
        { name: 'fsdp', axes: ['dp_shard', 'cp'], carries: 'shards of parameters and gradients' },
        { name: 'cp', carries: 'keys and values of attention' },
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'batch', axes: ['dp_shard', 'dp_replicate'], carries: 'which ranks read which data' },
        { name: 'loss', axes: ['cp', 'dp_shard', 'dp_replicate'], carries: 'the loss' },
      ],
    },
    {
      axes: [
        ['ep', ({ ep = 1 }) => ep],
        ['efsdp', ({ dp_shard = 1, cp = 1, tp = 1, ep = 1 }) => (dp_shard * cp * tp) / ep],
        sized('dp_replicate'),
        sized('pp'),
      ],
      groups: [
        { name: 'ep', carries: 'tokens to their experts' },
        { name: 'efsdp', carries: 'shards of the parameters and gradients of experts' },
      ],
      exists: ({ ep = 1 }) => ep > 1,
    },
  ],
  heads: {
    // the configuration function may change those of the flavor that it starts from
    areNominal: true,
    heads: (heads, tp) => `tensor_parallel_degree (${tp}) must divide n_heads (${heads}).`,
    keyValueHeads: (heads, tp) => `tensor_parallel_degree (${tp}) must divide n_kv_heads (${heads}).`,
  },
  reads:
    'Commands that start `torchtitan.train` or `run_train.sh`, with their TOML file or the function of a `config_registry.py`, overridden by `--parallelism.*` flags: the degrees under `[parallelism]`, the schedule of the pipeline, lengths and batches under `[training]`, the flavor of the model. `NGPU` is the world of `run_train.sh`, 8 where it is not set.',
  notes: [
    'Before the check of heads existed, `tp` above the key-value heads failed in a reshape of the first layer.',
    'Fewer micro-batches than stages run, with a warning of torchtitan alone; the pipeline stands idle meanwhile.',
    '`expert_tensor_parallel_degree` of older versions is gone: experts have no tensor parallelism of their own, whatever a file says.',
  ],
  example:
    'layout: 1\nname: Llama 3 8B, hybrid sharding\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: torchtitan}\nparallelism: {tp: 2, cp: 2}\nfsdp: {data_parallel_replicate_degree: 2}\n',
  rules: {
    own: [
      ...['framework-world', 'framework-experts', 'framework-heads'],
      ...['torchtitan-sequence', 'torchtitan-pipeline', 'torchtitan-batch'],
    ],
    megatron: 'none',
  },
  checkpoint: [
    {
      parts: ['model', 'optimizer'],
      outcome: 'loads',
      because: 'torch.distributed.checkpoint reshards DTensors over any mesh.',
      source: 'pytorch/torchtitan docs/checkpoint.md',
    },
    {
      parts: ['data'],
      changed: ['dp'],
      outcome: 'lost',
      because: 'the state of the data loader belongs to the number of data-parallel ranks.',
      predicts: 'dp_degree is inconsistent before and after checkpoint, dataloader resharding is not supported yet.',
      ways: [
        {
          what: 'Leave the data loader out of what is loaded.',
          command: '--checkpoint.exclude_from_loading dataloader',
        },
      ],
      source: 'pytorch/torchtitan torchtitan/components/dataloader.py ParallelAwareDataloader',
    },
    {
      parts: ['data'],
      outcome: 'loads',
      because: 'every data-parallel rank goes on where it stopped.',
      source: 'pytorch/torchtitan torchtitan/components/dataloader.py ParallelAwareDataloader',
    },
    {
      parts: ['rng'],
      outcome: 'lost',
      because: 'torchtitan saves none.',
      source: 'pytorch/torchtitan torchtitan/components/checkpointer/dcp.py CheckpointManager._load',
    },
  ],
};

/** torchtitan's settings (torchtitan/config/configs.py, torchtitan/distributed/parallel_dims.py). */
const TITAN_OPTIONS: readonly OptionRow[] = [
  ['parallelism.tp', 'parallelism.tensor_parallel_degree', 'integer', 1],
  ['parallelism.pp', 'parallelism.pipeline_parallel_degree', 'integer', 1],
  ['parallelism.cp', 'parallelism.context_parallel_degree', 'integer', 1],
  ['parallelism.ep', 'parallelism.expert_parallel_degree', 'integer', 1],
  ['parallelism.expt_tp', 'parallelism.expert_tensor_parallel_degree', 'integer', null],
  ['fsdp.data_parallel_replicate_degree', 'parallelism.data_parallel_replicate_degree', 'integer', 1],
  ['fsdp.data_parallel_shard_degree', 'parallelism.data_parallel_shard_degree', 'integer', -1],
  ['sequence.sequence_parallel', 'parallelism.enable_sequence_parallel', 'boolean'],
  ['parallelism.pipeline_schedule', 'parallelism.pipeline_parallel_schedule', 'text'],
  ['sequence.seq_length', 'training.seq_len', 'integer', null],
  ['sequence.seq_length', 'training.max_context_length', 'integer', 2048],
  ['batch.pipeline_microbatches', 'parallelism.num_pp_microbatches', 'integer'],
  ['batch.micro_batch_size', 'training.local_batch_size', 'integer', null],
  ['batch.micro_batch_size', 'training.batch_size', 'integer', null],
  ['batch.global_batch_size', 'training.global_batch_size', 'integer', null],
];

/** Sizes that count tokens, of sequences of the layout's length, since its commit 73aed7f6c. */
const TOKENS = [
  ['batch.micro_batch_size', 'num_tokens_per_microbatch_per_dp_rank'],
  ['batch.global_batch_size', 'num_tokens_per_train_step'],
] as const;

const DEFAULTS = /* @__PURE__ */ defaultsOf(
  torchtitan,
  'torchtitan/config/configs.py, torchtitan/distributed/parallel_dims.py, run_train.sh',
  defaultsIn(TITAN_OPTIONS),
  { nodes: 1, perNode: 8 },
);

const LAYERS_PER_STAGE = 'pipeline_parallel_layers_per_stage';
const END_WEIGHTS = ['pipeline_parallel_first_stage_less_layers', 'pipeline_parallel_last_stage_less_layers'];

/** The paths that have a place in a layout; until 2025 the degrees stood under `training` and `experimental`. */
export const TITAN_MAPPED: ReadonlySet<string> = /* @__PURE__ */ pathsIn(
  TITAN_OPTIONS,
  ...[
    CALLEE,
    LAYERS_PER_STAGE,
    'pipeline_parallel_microbatch_size',
    'model.name',
    'model.flavor',
    ...TOKENS.map(([, name]) => `training.${name}`),
  ],
  ...TITAN_OPTIONS.flatMap(([, path]) => (path.startsWith('parallelism.') ? (path.split('.')[1] ?? []) : [])),
);

/**
 * torchtitan: a configuration function, or until its commit 9810191bb a TOML file, overridden by
 * `--parallelism.tensor_parallel_degree 8`.
 */
export const torchtitanLaunch: LaunchFamily<'torchtitan'> = {
  name: 'torchtitan',
  command: {
    evidence: (job) => (isTitan(job) ? (isLauncher(job) ? 'wrapper' : 'own') : null),
    read: readCommand,
  },
  document: {
    evidence: ({ tree, file }) =>
      /\.toml$/.test(file) && (at(tree, 'parallelism') || (at(tree, 'training') && at(tree, 'model'))) ? 'own' : null,
    read({ tree, job }) {
      const facts = new Facts();
      readSettings(tree, null, facts);
      setWorld(facts, job?.world ?? UNKNOWN_WORLD);
      deriveShards(facts);
      listUnmappedTree(tree, '', TITAN_MAPPED, facts);
      return facts;
    },
  },
  /** The functions of a `config_registry.py`, each of which returns the configuration of a trainer. */
  python: {
    evidence: 'own',
    read: ({ file, text }) =>
      pythonRecipes(file, text).flatMap(({ name, variables }) => {
        const tree = variables.get(RETURN);
        if (!tree || name.startsWith('_') || !['training', 'parallelism'].some((part) => at(trainerIn(tree), part))) {
          return [];
        }
        const facts = new Facts();
        readTitanTree(trainerIn(tree), blockOf(tree), facts);
        const generator = at(tree, 'generator.parallelism');
        facts.set('phases.rollout.tp', generator ? optionsOf(generator).integer('tensor_parallel_degree') : undefined);
        setWorld(facts, UNKNOWN_WORLD);
        deriveShards(facts);
        return [{ name, facts }];
      }),
  },
};

const UNKNOWN_WORLD: World = { total: { unknown: 'the world: NGPU of the launcher' } };

/** The launcher script, which hands on what its environment names. */
function isLauncher({ program }: Job): boolean {
  return /(^|\/)run_train\.sh$/.test(program);
}

/** `torchtitan.train`, `torchtitan/train.py`, and a `train` of a package in torchtitan such as `torchtitan.experiments.x.train`. */
function isTrainer(script: string): boolean {
  const parts = script.replace(/\.py$/, '').split(/[./]/);
  const root = parts.lastIndexOf('torchtitan');
  return root >= 0 && root < parts.length - 1 && parts.at(-1) === 'train' && !parts.slice(root).includes('');
}

function isTitan(job: Job): boolean {
  return (
    isTrainer(job.script ?? '') ||
    isLauncher(job) ||
    hasFlag(
      job,
      '--job.config_file',
      '--parallelism.tensor_parallel_degree',
      '--parallelism.data_parallel_shard_degree',
    )
  );
}

function readCommand(job: Job, context: LaunchContext): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place);
  const { base, blocked } = baseOf(job, options, context);
  let tree: Tree = base ?? emptyMap(job.place);
  const copies: Copies = new Map();
  for (const [name, option] of options.entries) {
    tree = name.includes('.') ? setSetting(tree, name, option, copies) : tree;
  }
  readTitanTree(tree, options.blocked ?? blocked, facts);
  setWorld(facts, worldOf(job));
  deriveShards(facts);
  const others = [...options.entries].filter(([name]) => !name.startsWith('parallelism.'));
  listUnmapped(new Options(new Map(others), null), TITAN_MAPPED, facts);
  return facts;
}

/** Sets what a flag says; a switch is on by its name alone, and off by `no_` before the last part of it (tyro). */
function setSetting(tree: Tree, name: string, option: Option, copies: Copies): Tree {
  const off = option.values.length === 0 ? /^(.*\.)no_([^.]+)$/.exec(name) : null;
  const value = scalarOption(off ? { ...option, values: ['false'] } : option);
  return setAt(tree, (off ? `${off[1]}${off[2]}` : name).split('.'), value, copies);
}

interface Base {
  readonly base: Tree | null;
  /** What may set the settings that are absent. */
  readonly blocked: Reason | null;
}

/** The configuration under a command's flags: a TOML file, or what a function of a `config_registry` returns. */
function baseOf(job: Job, options: Options, context: LaunchContext): Base {
  const file = optionOrVariable('job.config_file', 'CONFIG_FILE', job, options);
  if (file !== null) {
    const found = context.find(file);
    const base = found && parseTomlTree(found.file, found.text);
    return { base, blocked: base ? null : { missing: `file ${file}` } };
  }
  const [module, name] = ['module', 'config'].map((one) => optionOrVariable(one, one.toUpperCase(), job, options));
  const folders = MODULES.map((folder) => `${folder}/${module}`);
  const paths = [...folders, module?.replaceAll('.', '/')].map((path) => `${path}/config_registry.py`);
  for (const path of module && name ? paths : []) {
    const found = context.find(path);
    const recipe = found && pythonRecipes(found.file, found.text).find((one) => one.name === name);
    const base = recipe?.variables.get(RETURN) ?? null;
    if (base) {
      return { base, blocked: blockOf(base) };
    }
  }
  return { base: null, blocked: `the configuration function${name ? ` ${name}` : ''}` };
}

/** Where a module's short name is looked for (torchtitan/config/manager.py). */
const MODULES = ['torchtitan/models', 'torchtitan/experiments', 'torchtitan/experiments/rl/examples'];

/** What an option says, or else the variable that the launcher script hands on. */
function optionOrVariable(flag: string, variable: string, job: Job, options: Options): string | null {
  const given = options.given.string(flag);
  return isKnown(given) ? given.value : (environmentOf(job).get(variable)?.values[0] ?? null);
}

/** The trainer of a configuration: of reinforcement learning it is a part. */
function trainerIn(tree: Tree): Tree {
  return at(tree, 'trainer') ?? tree;
}

/** A configuration that was made as a whole has the defaults of its classes; one that was made elsewhere is not known. */
function blockOf(tree: Tree): string | null {
  const [trainer, parallelism] = [trainerIn(tree), at(trainerIn(tree), 'parallelism')];
  const isWhole = /(^|\.)Config$/.test(textAtPath(trainer, CALLEE) ?? '') && parallelism?.kind !== 'scalar';
  return isWhole ? null : 'the functions that the configuration is made from';
}

/** torchtitan's launcher starts NGPU (8) processes. */
function worldOf(job: Job): World {
  const { nodes, perNode } = worldByDefault(DEFAULTS);
  return isLauncher(job) ? { nodes, perNode: environmentOf(job).integer('NGPU') ?? perNode } : job.world;
}

function scalarOption({ values, places, place, unknown }: Option): Tree {
  const [text = 'true'] = values;
  return {
    kind: 'scalar',
    value: text,
    place: places[0] ?? place,
    ...(text === null && { unknown: unknown ?? 'its value' }),
  };
}

/** Reads torchtitan's settings; `blocked` says what may set those that are absent. */
export function readTitanTree(tree: Tree, blocked: Reason | null, facts: Facts): void {
  const section = readSettings(tree, blocked, facts);
  listUnmappedTree(section, 'parallelism', TITAN_MAPPED, facts);
}

/** Reads the settings, and returns the section of the degrees. */
function readSettings(tree: Tree, blocked: Reason | null, facts: Facts): Tree {
  const parallelism = parallelismOf(tree);
  readRows(setAt(tree, ['parallelism'], parallelism), TITAN_OPTIONS, facts, blocked);
  readSchedule(optionsOf(parallelism, blocked), facts);
  const [name, flavor] = ['name', 'flavor'].map((one) => textAtPath(tree, `model.${one}`));
  const place = at(tree, 'model.flavor')?.place;
  if (name && flavor && place) {
    facts.set('model.from', { value: `torchtitan/${name}-${flavor}`, source: place });
  }
  const global = facts.number('batch.global_batch_size');
  if (global !== null && global < 0) {
    facts.delete('batch.global_batch_size');
  }
  if (blocked === null) {
    facts.takeDefaults(DEFAULTS);
  }
  readTokens(optionsOf(at(tree, 'training')), facts);
  setMicroBatches(optionsOf(parallelism), facts);
  return parallelism;
}

/** A batch of whole sequences; -1 tokens a step are what the micro-batches make. */
function readTokens(training: Options, facts: Facts): void {
  for (const [key, name] of TOKENS) {
    const tokens = training.given.integer(name);
    const size = derived(
      [tokens, facts.get('sequence.seq_length')],
      (count, length) => (count > 0 && count % length === 0 ? count / length : null),
      name,
    );
    facts.set(key, isKnown(size) && isKnown(tokens) ? { value: size.value, source: tokens.source } : undefined);
  }
}

const MICRO_BATCH = 'pipeline_parallel_microbatch_size';

/** A pipeline was fed parts of the local batch before it had a number of micro-batches; none matter without a pipeline. */
function setMicroBatches(parallelism: Options, facts: Facts): void {
  const local = facts.get('batch.micro_batch_size');
  if ((facts.number('parallelism.pp') ?? 1) === 1) {
    facts.delete('batch.pipeline_microbatches');
    return;
  }
  if (parallelism.has('num_pp_microbatches') || !isKnown(local)) {
    return;
  }
  const each = parallelism.has(MICRO_BATCH) ? parallelism.integer(MICRO_BATCH) : { value: 1, source: local.source };
  const count = derived([local, each], (all, size) => Math.floor(all / size), MICRO_BATCH);
  facts.set('batch.pipeline_microbatches', isKnown(count) ? count : undefined);
}

/** Pipeline schedules with several stages a rank. */
const MULTI_STAGE = /^(interleaved|looped|zbv|dualpipe)/i;

/**
 * A schedule of several stages a rank has two of them, unless the layers of a stage are given: their number then follows from
 * the model (torchtitan/distributed/pipeline_parallel.py).
 */
function readSchedule(options: Options, facts: Facts): void {
  const schedule = options.given.string('pipeline_parallel_schedule');
  // the weights of embedding and output are 1 each where nothing else is said
  if (!END_WEIGHTS.some((name) => options.has(name))) {
    const perStage = options.given.integer(LAYERS_PER_STAGE);
    facts.set('parallelism.num_layers_per_virtual_pipeline_stage', perStage);
  }
  if (facts.number('parallelism.pp') === 1 || (isKnown(schedule) && !MULTI_STAGE.test(schedule.value))) {
    return;
  }
  const byLayers = options.has(LAYERS_PER_STAGE);
  facts.set('parallelism.vpp', byLayers ? { unknown: 'the layers of the model' } : mapFound(schedule, () => 2));
}

/** The section of the degrees, which commits before 2025 wrote under `training` and `experimental`. */
function parallelismOf(tree: Tree): Tree {
  const degrees = [...optionsIn(at(tree, 'training'))].filter(([name]) => name.endsWith('_degree'));
  const training: Tree = { kind: 'map', entries: new Map(degrees), place: tree.place };
  return [at(tree, 'experimental'), at(tree, 'parallelism')].reduce<Tree>(
    (merged, section) => (section ? mergeTrees(merged, section) : merged),
    training,
  );
}

function optionsIn(tree: Tree | undefined): Iterable<[string, Tree]> {
  return tree?.kind === 'map' ? tree.entries : [];
}

/** The degree over which weights are sharded: -1 is what the world leaves (torchtitan/distributed/parallel_dims.py). */
export function deriveShards(facts: Facts): void {
  const shard = facts.get('fsdp.data_parallel_shard_degree');
  const keys: readonly FactPath[] = [
    'fsdp.data_parallel_replicate_degree',
    'parallelism.cp',
    'parallelism.tp',
    'parallelism.pp',
  ];
  if (isKnown(shard) && shard.value === -1) {
    const sizes = [facts.get('world_size'), ...keys.map((key) => facts.get(key))];
    const rest = derived(sizes, quotient, 'the ranks that are left to shard over');
    facts.set('fsdp.data_parallel_shard_degree', isKnown(rest) ? { value: rest.value, source: 'default' } : rest);
  }
  deriveSharded(facts);
}

/** torchtitan's command with its settings as flags. */
export function writeTorchtitan(writer: LayoutWriter): string {
  writer.requireHomogeneous('flags of torchtitan');
  writer.engine = 'torchtitan';
  const length = writer.written('sequence.seq_length');
  const options = [
    ...writer.rows(TITAN_OPTIONS),
    ...TOKENS.flatMap(([key, name]) => {
      const size = length === undefined ? undefined : writer.written(key);
      return size === undefined ? [] : [[`training.${name}`, Number(size) * Number(length)] as const];
    }),
  ];
  writer.derives('parallelism.dp');
  writer.notes.push('torchtitan needs --module and --config, its configuration of the model: set MODULE and CONFIG.');
  return writer.command(
    `${writer.torchrun('-m torchtitan.train')} --module "\${MODULE:?such as llama3}" --config "\${CONFIG:?such as llama3_8b}"`,
    options.map(([name, value]) =>
      typeof value === 'boolean' ? [switchOf(name, value)] : [`--${name}`, String(value)],
    ),
  );
}

/** A switch as tyro reads it. */
function switchOf(name: string, isOn: boolean): string {
  const last = name.lastIndexOf('.') + 1;
  return isOn ? `--${name}` : `--${name.slice(0, last)}no_${name.slice(last)}`;
}
