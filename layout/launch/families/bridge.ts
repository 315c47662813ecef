import { DEFAULTS } from '../defaults';
import type { CommandFamily, DocumentFamily, PythonFamily } from '../family';
import { readFlags } from '../flags';
import { derived, Facts, type Found, product } from '../foundValues';
import type { Job, World } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { applyOverrides } from '../omegaconf';
import { type Option, Options } from '../options';
import { CALLEE, pythonRecipes, RETURN } from '../python/module';
import { textOf } from '../shell/values';
import { at, emptyMap, optionsOf, type Tree, type TreeMap } from '../tree';
import { coverGrids, deriveFromWorld, LAUNCHERS_WORLD, setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';
import { hasFlag } from './megatron-lm';

const DIALECT: Dialect = {
  defaults: DEFAULTS.primus,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  groupsAlone: true,
  keepsSequenceParallel: true,
};

const RECIPE = 'the Python recipe';

/** Megatron Bridge's scripts: overrides such as `model.tensor_model_parallel_size=2` over a Python recipe. */
export const bridgeCommand: CommandFamily = {
  name: 'megatron-bridge',
  matches: (job) =>
    (/^train\.sh$/.test(job.program) && hasFlag(job, '--recipe', '--model') && hasFlag(job, '--gpus-per-node')) ||
    hasFlag(job, '--model_recipe_name', '--model-recipe-name') ||
    (job.program === 'python' &&
      (/(^|\/)(run_recipe|run_script|setup_experiment)\.py$/.test(job.script ?? '') || hasOverride(job)))
      ? 2.5
      : 0,
  read(job) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place, { overrides: true });
    const named = [...options.entries].map(([name, option]) => [SHORT_FLAGS[name] ?? name, option] as const);
    const flags = new Map(named.filter(([name]) => MEGATRON_OPTIONS.has(name)));
    const resources = new Options(new Map(named), null);
    const overrides = new Map([...options.entries].filter(([name]) => name.includes('.')));
    const tree = applyOverrides(emptyMap(job.place), overrides);
    readBridge(tree, flags, options.blocked ?? RECIPE, facts);
    setWorld(facts, isSubmission(job) ? resourcesOf(resources) : job.world);
    deriveFromWorld(facts);
    listUnmappedTree(tree, '', MAPPED, facts);
    return facts;
  },
};

/** The short flags of the performance scripts (scripts/performance/argument_parser.py). */
const SHORT_FLAGS: Readonly<Record<string, string>> = {
  tp: 'tensor_model_parallel_size',
  pp: 'pipeline_model_parallel_size',
  cp: 'context_parallel_size',
  vp: 'virtual_pipeline_model_parallel_size',
  ep: 'expert_model_parallel_size',
  et: 'expert_tensor_parallel_size',
  mb: 'micro_batch_size',
  gb: 'global_batch_size',
  sl: 'seq_length',
  ng: 'num_gpus',
  gn: 'gpus_per_node',
};

/** Whether a command submits the job, so that its flags say the resources. */
function isSubmission({ program, script }: Job): boolean {
  return /(^|\/)setup_experiment\.py$/.test(script ?? '') || /^train\.sh$/.test(program);
}

function resourcesOf(options: Options): World {
  const [nodes, perNode, total] = ['nodes', 'gpus_per_node', 'num_gpus'].map((name) =>
    options.has(name) ? options.integer(name) : undefined,
  );
  return { nodes, perNode, total };
}

function hasOverride({ args }: Job): boolean {
  return args.some((arg) =>
    /^\+{0,2}(model\.(?=\w*parallel)\w+|train\.(micro|global)_batch_size)=/.test(textOf(arg) ?? startText(arg)),
  );
}

function startText(arg: Job['args'][number]): string {
  const first = arg.kind === 'word' ? arg.text[0] : undefined;
  return first?.kind === 'text' ? first.text : '';
}

/** `run_config.yaml` of a checkpoint, which is complete, and override files for a recipe, which are not. */
export const bridgeDocument: DocumentFamily = {
  name: 'megatron-bridge',
  matches: ({ tree }) => {
    const has = (path: string) => at(tree, path) !== undefined;
    const hasDegree = ['tensor_model', 'pipeline_model', 'context', 'expert_model'].some((name) =>
      has(`model.${name}_parallel_size`),
    );
    // overrides of a recipe may be of the model alone; with a trainer beside it, the file is NeMo's
    return (
      at(tree, 'model')?.kind === 'map' &&
      (has('train') || has('ddp') || has('dataset') || (hasDegree && !has('trainer')))
    );
  },
  read({ tree }) {
    const facts = new Facts();
    const isComplete = at(tree, '_target_') !== undefined || at(tree, 'model._target_') !== undefined;
    readBridge(tree, new Map(), isComplete ? null : RECIPE, facts);
    facts.set('world_size', LAUNCHERS_WORLD);
    listUnmappedTree(tree, '', MAPPED, facts);
    return facts;
  },
};

/** The recipes of a Python file by their functions' names: those that set degrees, sizes of a batch, or module grids. */
export const bridgePython: PythonFamily = {
  name: 'megatron-bridge',
  read({ file, text }) {
    const recipes = pythonRecipes(file, text).flatMap(({ name, variables }) => {
      const facts = factsOf(variables);
      return facts ? [{ name: name === '' ? 'the file' : name, facts }] : [];
    });
    const ofUsers = recipes.filter(({ name }) => !name.startsWith('_'));
    return ofUsers.length > 0 ? ofUsers : recipes;
  },
};

/** What a function sets: of what it returns, or else of the first of its variables that is a configuration. */
function factsOf(variables: ReadonlyMap<string, Tree>): Facts | null {
  const returned = variables.get(RETURN);
  const trees = [
    ...(returned ? [returned] : []),
    ...[...variables].filter(([name]) => name !== RETURN).map(([, tree]) => tree),
  ];
  for (const tree of trees) {
    const grids = moduleGrids(tree, 0);
    const configuration = grids ? null : configurationOf(tree);
    if (grids || configuration) {
      const facts = new Facts();
      if (grids) {
        readModuleGrids(grids, facts);
      }
      if (configuration) {
        readBridge(configuration, new Map(), RECIPE_BASE, facts);
        facts.set('world_size', LAUNCHERS_WORLD);
        listUnmappedTree(configuration, '', UNLISTED, facts);
      }
      return facts;
    }
  }
  return null;
}

const RECIPE_BASE = 'the functions and classes that the recipe is made from';

/** A whole configuration, or the keyword arguments that make one. */
function configurationOf(tree: Tree): Tree | null {
  if (tree.kind !== 'map') {
    return null;
  }
  const isDegree = (name: string) =>
    /^(tensor|pipeline|context|expert)_model_parallel_size$|^context_parallel_size$/.test(name);
  const model = at(tree, 'model');
  const hasBatch =
    at(tree, 'train.micro_batch_size') !== undefined || at(tree, 'train.global_batch_size') !== undefined;
  if ((model?.kind === 'map' && [...model.entries.keys()].some(isDegree)) || hasBatch) {
    return tree;
  }
  const isFlat = [...tree.entries.keys()].some(isDegree);
  return isFlat
    ? {
        ...tree,
        entries: new Map([
          ['model', tree],
          ['train', tree],
        ]),
      }
    : null;
}

/** The grids of `MegatronMIMOParallelismConfig(module_parallelisms={...})`, wherever it stands in a value. */
function moduleGrids(tree: Tree, depth: number): TreeMap | null {
  if (tree.kind !== 'map' || depth > 4) {
    return null;
  }
  const grids = at(tree, 'module_parallelisms');
  if (grids?.kind === 'map') {
    return grids;
  }
  for (const inner of tree.entries.values()) {
    const found = moduleGrids(inner, depth + 1);
    if (found) {
      return found;
    }
  }
  return null;
}

/** The fields of `ModuleParallelismConfig` (megatron_mimo_config.py); the others have the default 1. */
const GRID_FIELDS = [
  ['tensor_model_parallel_size', 'tp', 1],
  ['pipeline_model_parallel_size', 'pp', 1],
  ['context_parallel_size', 'cp', 1],
  ['expert_model_parallel_size', 'ep', 1],
  ['expert_tensor_parallel_size', 'expt_tp', 1],
  ['data_parallel_size', 'dp', null],
  ['rank_offset', 'rank_offset', 0],
] as const;

function readModuleGrids(grids: TreeMap, facts: Facts): void {
  const ends: (Found<number> | undefined)[] = [];
  for (const [name, grid] of grids.entries) {
    const options = optionsOf(grid, grid.kind === 'map' ? null : 'the grid of the module');
    for (const [field, key, otherwise] of GRID_FIELDS) {
      const given = options.integer(field);
      facts.set(
        `modules.${name}.${key}`,
        given ??
          (otherwise === null
            ? { unknown: 'the data-parallel size, which follows from the world' }
            : { value: otherwise, source: 'default' }),
      );
    }
    const sizes = (['rank_offset', 'tp', 'cp', 'pp', 'dp'] as const).map((key) => facts.get(`modules.${name}.${key}`));
    ends.push(derived(sizes, (offset, ...degrees) => offset + product(degrees), 'world_size'));
  }
  coverGrids(facts, ends);
}

/** Batch sizes of `cfg.train` and `cfg.validation` (src/megatron/bridge/training/config.py). */
const BATCH_SIZES = [
  ['train.micro_batch_size', 'batch.micro_batch_size', 'integer'],
  ['train.global_batch_size', 'batch.global_batch_size', 'integer'],
  ['validation.eval_micro_batch_size', 'batch.eval_micro_batch_size', 'integer'],
  ['validation.eval_global_batch_size', 'batch.eval_global_batch_size', 'integer'],
] as const;

const MAPPED: ReadonlySet<string> = new Set([...MEGATRON_OPTIONS, ...BATCH_SIZES.map(([name]) => name)]);

const UNLISTED: ReadonlySet<string> = new Set([...MAPPED, CALLEE]);

function readBridge(tree: Tree, flags: ReadonlyMap<string, Option>, blocked: string | null, facts: Facts): void {
  const entries = new Map([...optionsOf(at(tree, 'ddp')).entries, ...optionsOf(at(tree, 'model')).entries, ...flags]);
  const types = ['bf16', 'fp16', 'params_dtype'].filter((name) => entries.has(name));
  readMegatron(new Options(entries, blocked), { ...DIALECT, resolved: blocked === null }, facts);
  if (types.length === 0) {
    facts.delete('model.params_dtype');
  }
  readKeys(
    tree,
    [
      ...BATCH_SIZES,
      ['dataset.sequence_length', 'sequence.seq_length', 'integer'],
      ['dataset.seq_length', 'sequence.seq_length', 'integer'],
      ['model.seq_length', 'sequence.seq_length', 'integer'],
      ['optimizer.use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
      ['ddp.use_distributed_optimizer', 'optimizer.use_distributed_optimizer', 'boolean'],
      ['optimizer.optimizer', 'optimizer.optimizer', 'text'],
    ],
    facts,
  );
}
