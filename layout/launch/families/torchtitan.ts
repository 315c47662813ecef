import { DEFAULTS, worldByDefault } from '../defaults';
import type { CommandFamily, LaunchContext, PythonFamily } from '../family';
import { readFlags } from '../flags';
import { derived, Facts, isKnown, mapFound, notFound, product } from '../foundValues';
import { environmentOption, type Job } from '../launchers';
import { type Option, Options } from '../options';
import { CALLEE, pythonRecipes, RETURN } from '../python/module';
import { parseTomlTree } from '../toml';
import { at, type Copies, emptyMap, mergeTrees, optionsOf, setAt, type Tree, textAtPath } from '../tree';
import { setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';
import { hasFlag, listUnmapped } from './megatron-lm';
import { environmentCount } from './ms-swift';

const DEGREES = {
  tensor_parallel_degree: 'parallelism.tp',
  pipeline_parallel_degree: 'parallelism.pp',
  context_parallel_degree: 'parallelism.cp',
  expert_parallel_degree: 'parallelism.ep',
  expert_tensor_parallel_degree: 'parallelism.expt_tp',
} as const;

const SECTION = 'parallelism.';

/** torchtitan: a configuration function or TOML file, overridden by `--parallelism.tensor_parallel_degree 8`. */
export const torchtitanCommand: CommandFamily = {
  name: 'torchtitan',
  // what the launcher script starts says more than the call of it
  matches: (job) => (isTitan(job) ? (/run_train\.sh$/.test(job.program) ? 2.9 : 3) : 0),
  read(job, context) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place);
    const { base, blocked } = baseOf(job, options, context);
    let tree: Tree = base ?? emptyMap(job.place);
    const copies: Copies = new Map();
    for (const [name, option] of options.entries) {
      tree = name.includes('.') ? setAt(tree, name.split('.'), scalarOption(option), copies) : tree;
    }
    readTitanTree(tree, options.blocked ?? blocked, facts);
    setWorld(facts, worldOf(job));
    deriveShards(facts);
    listUnmapped(
      new Options(new Map([...options.entries].filter(([name]) => !name.startsWith(SECTION))), null),
      new Set(),
      facts,
    );
    return facts;
  },
};

/** `torchtitan.train`, `torchtitan/train.py`, and a `train` of a package in torchtitan such as `torchtitan.experiments.x.train`. */
function isTrainer(script: string): boolean {
  const parts = script.replace(/\.py$/, '').split(/[./]/);
  const root = parts.lastIndexOf('torchtitan');
  return root >= 0 && root < parts.length - 1 && parts.at(-1) === 'train' && !parts.slice(root).includes('');
}

function isTitan(job: Job): boolean {
  return (
    isTrainer(job.script ?? '') ||
    /(^|\/)run_train\.sh$/.test(job.program) ||
    hasFlag(
      job,
      '--job.config_file',
      '--parallelism.tensor_parallel_degree',
      '--parallelism.data_parallel_shard_degree',
    )
  );
}

interface Base {
  readonly base: Tree | null;
  /** What may set the settings that are absent. */
  readonly blocked: string | null;
}

/** The configuration under a command's flags: a TOML file, or what a function of a `config_registry` returns. */
function baseOf(job: Job, options: Options, context: LaunchContext): Base {
  const file = optionOrVariable('job.config_file', 'CONFIG_FILE', job, options);
  if (file !== null) {
    const found = context.find(file);
    const base = found && parseTomlTree(found.file, found.text);
    return { base, blocked: base ? null : notFound(`file ${file}`) };
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
const MODULES = ['models', 'experiments', 'experiments/rl/examples'].map((folder) => `torchtitan/${folder}`);

/** What an option says, or else the variable that the launcher script hands on. */
function optionOrVariable(flag: string, variable: string, job: Job, options: Options): string | null {
  const given = options.has(flag) ? options.string(flag) : undefined;
  return isKnown(given) ? given.value : (environmentOption(job, variable)?.values[0] ?? null);
}

/** The functions of a `config_registry.py`, each of which returns the configuration of a trainer. */
export const torchtitanPython: PythonFamily = {
  name: 'torchtitan',
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
      setWorld(facts, { total: { unknown: 'the world: NGPU of the launcher' } });
      deriveShards(facts);
      return [{ name, facts }];
    }),
};

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
function worldOf(job: Job): Parameters<typeof setWorld>[1] {
  if (/run_train\.sh$/.test(job.program)) {
    const { nodes, perNode } = worldByDefault(DEFAULTS.torchtitan);
    return { nodes, perNode: environmentCount(job, 'NGPU', perNode) };
  }
  return job.world;
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
export function readTitanTree(tree: Tree, blocked: string | null, facts: Facts): void {
  const section = parallelismOf(tree);
  const options = optionsOf(section, blocked);
  for (const [name, key] of Object.entries(DEGREES)) {
    facts.set(key, options.integer(name));
  }
  if (!options.has('expert_tensor_parallel_degree')) {
    facts.delete('parallelism.expt_tp');
  }
  readSchedule(options, facts);
  const isSequenceParallel = options.has('enable_sequence_parallel')
    ? options.boolean('enable_sequence_parallel')
    : undefined;
  facts.set('sequence.sequence_parallel', isSequenceParallel);
  for (const name of ['data_parallel_replicate_degree', 'data_parallel_shard_degree'] as const) {
    facts.set(`fsdp.${name}`, options.integer(name));
  }
  readKeys(
    tree,
    [
      ['training.seq_len', 'sequence.seq_length', 'integer'],
      ['training.max_context_length', 'sequence.seq_length', 'integer'],
      ['training.local_batch_size', 'batch.micro_batch_size', 'integer'],
      ['training.batch_size', 'batch.micro_batch_size', 'integer'],
      ['training.global_batch_size', 'batch.global_batch_size', 'integer'],
    ],
    facts,
  );
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
    facts.takeDefaults(DEFAULTS.torchtitan);
  }
  listUnmappedTree(section, 'parallelism', TITAN_MAPPED, facts);
}

const LAYERS_PER_STAGE = 'pipeline_parallel_layers_per_stage';
const END_WEIGHTS = ['first', 'last'].map((end) => `pipeline_parallel_${end}_stage_less_layers`);

/** Pipeline schedules with several stages a rank. */
const MULTI_STAGE = /^(interleaved|looped|zbv|dualpipe)/i;

/**
 * A schedule of several stages a rank has two of them, unless the layers of a stage are given: their number then follows from
 * the model (torchtitan/distributed/pipeline_parallel.py).
 */
function readSchedule(options: Options, facts: Facts): void {
  const schedule = options.has('pipeline_parallel_schedule') ? options.string('pipeline_parallel_schedule') : undefined;
  facts.set('parallelism.pipeline_schedule', schedule);
  // the weights of embedding and output are 1 each where nothing else is said
  if (!END_WEIGHTS.some((name) => options.has(name))) {
    const perStage = options.has(LAYERS_PER_STAGE) ? options.integer(LAYERS_PER_STAGE) : undefined;
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

/** The settings that have a place in a layout, of the section by their names alone. */
export const TITAN_MAPPED: ReadonlySet<string> = new Set([
  ...[CALLEE, ...Object.keys(DEGREES), 'data_parallel_replicate_degree', 'data_parallel_shard_degree'],
  ...['pipeline_parallel_schedule', LAYERS_PER_STAGE, 'enable_sequence_parallel'],
  ...['seq_len', 'max_context_length', 'local_batch_size', 'batch_size', 'global_batch_size'].map(
    (name) => `training.${name}`,
  ),
  ...['model.name', 'model.flavor'],
]);

/** The degree over which weights are sharded: -1 is what the world leaves (torchtitan/distributed/parallel_dims.py). */
export function deriveShards(facts: Facts): void {
  const shard = facts.get('fsdp.data_parallel_shard_degree');
  const keys = ['fsdp.data_parallel_replicate_degree', 'parallelism.cp', 'parallelism.tp', 'parallelism.pp'] as const;
  const degrees = keys.map((key) => facts.get(key));
  if (isKnown(shard) && shard.value === -1) {
    const rest = derived(
      [facts.get('world_size'), ...degrees],
      (world, ...sizes) => {
        const left = world / product(sizes);
        return Number.isInteger(left) && left >= 1 ? left : null;
      },
      'the ranks that are left to shard over',
    );
    facts.set('fsdp.data_parallel_shard_degree', isKnown(rest) ? { value: rest.value, source: 'default' } : rest);
  }
  const dp = derived(
    [facts.get('fsdp.data_parallel_replicate_degree'), facts.get('fsdp.data_parallel_shard_degree')],
    (a, b) => (b > 0 ? a * b : null),
    'dp',
  );
  if (isKnown(dp)) {
    facts.setDefault('parallelism.dp', dp.value);
  }
}
