import { hasFlag, type Job, startOf, type World } from '../launch/commands';
import type { LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { LayoutWriter } from '../launch/layoutWriter';
import { listUnmappedTree, type OptionRow, readRows } from '../launch/optionRows';
import { type Option, Options } from '../launch/options';
import { applyOverrides } from '../launch/sources/omegaconf';
import { CALLEE, FROM_HUGGING_FACE, pythonRecipes, RETURN } from '../launch/sources/python/module';
import { at, emptyMap, optionsOf, type Tree, type TreeMap } from '../launch/sources/tree';
import { Facts, type Reason } from '../launch/value';
import { coverGrids, deriveFromWorld, LAUNCHERS_WORLD, setWorld } from '../launch/world';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';
import { megatronOptions } from './megatronWrite';

/** A recipe in Python sets what is absent: there is no default that holds for all. */
const DIALECT: Dialect = {
  defaults: null,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  groupsAlone: true,
  keepsSequenceParallel: true,
};

const RECIPE = 'the Python recipe';

/** Megatron Bridge: overrides such as `model.tensor_model_parallel_size=2` over a Python recipe. */
export const megatronBridge: LaunchFamily<'megatron-bridge'> = {
  name: 'megatron-bridge',
  command: {
    evidence: (job) =>
      (/^train\.sh$/.test(job.program) && hasFlag(job, '--recipe', '--model') && hasFlag(job, '--gpus-per-node')) ||
      hasFlag(job, '--model_recipe_name', '--model-recipe-name') ||
      (job.program === 'python' &&
        (/(^|\/)(run_recipe|run_script|setup_experiment)\.py$/.test(job.script ?? '') || hasOverride(job)))
        ? 'entry'
        : null,
    read: readCommand,
  },
  /** `run_config.yaml` of a checkpoint, which is complete, and override files for a recipe, which are not. */
  document: {
    evidence: ({ tree }) => (isConfiguration(tree) ? 'configuration' : isOverride(tree) ? 'options' : null),
    read({ tree }) {
      const facts = new Facts();
      const isComplete = at(tree, '_target_') !== undefined || at(tree, 'model._target_') !== undefined;
      readBridge(tree, new Map(), isComplete ? null : RECIPE, facts);
      facts.set('world_size', LAUNCHERS_WORLD);
      listUnmappedTree(tree, '', MAPPED, facts);
      return facts;
    },
  },
  /** The recipes of a Python file by their functions' names: those that set degrees, sizes of a batch, or module grids. */
  python: {
    evidence: 'entry',
    read({ file, text }) {
      const recipes = pythonRecipes(file, text).flatMap(({ name, variables }) => {
        const facts = factsOf(variables);
        return facts ? [{ name: name === '' ? 'the file' : name, facts }] : [];
      });
      const ofUsers = recipes.filter(({ name }) => !name.startsWith('_'));
      return ofUsers.length > 0 ? ofUsers : recipes;
    },
  },
};

/** Whether a file has sections of a configuration alone, and of the model fields of Megatron Core alone. */
function isOverride(tree: TreeMap): boolean {
  const model = at(tree, 'model');
  return (
    model?.kind === 'map' &&
    model.entries.size > 0 &&
    [...model.entries.keys()].every((name) => MEGATRON_OPTIONS.has(name)) &&
    [...tree.entries.keys()].every((name) => name === 'model' || Object.hasOwn(SECTIONS, name))
  );
}

function readCommand(job: Job): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place, { overrides: true });
  const named = [...options.entries].map(([name, option]) => [SHORT_FLAGS[name] ?? name, option] as const);
  const flags = new Map(named.filter(([name]) => MEGATRON_OPTIONS.has(name)));
  const overrides = new Map([...options.entries].filter(([name]) => name.includes('.')));
  const tree = applyOverrides(emptyMap(job.place), overrides);
  readBridge(tree, flags, options.blocked ?? RECIPE, facts);
  setWorld(facts, isSubmission(job) ? resourcesOf(new Options(new Map(named), null)) : job.world);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', MAPPED, facts);
  return facts;
}

/** Whether a file has the sections of a configuration; overrides may be of the model alone, but with a trainer beside it, it is NeMo's. */
function isConfiguration(tree: TreeMap): boolean {
  const has = (path: string) => at(tree, path) !== undefined;
  const model = at(tree, 'model');
  return (
    model?.kind === 'map' && (has('train') || has('ddp') || has('dataset') || (hasDegree(model) && !has('trainer')))
  );
}

/** Whether a map sets a degree. */
function hasDegree({ entries }: TreeMap): boolean {
  const degree = /^((tensor|pipeline|context|expert)_model|context)_parallel_size$/;
  return [...entries.keys()].some((name) => degree.test(name));
}

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
  const [nodes, perNode, total] = ['nodes', 'gpus_per_node', 'num_gpus'].map((name) => options.given.integer(name));
  return { nodes, perNode, total };
}

function hasOverride({ args }: Job): boolean {
  return args.some((arg) => /^\+{0,2}(model\.(?=\w*parallel)\w+|train\.(micro|global)_batch_size)=/.test(startOf(arg)));
}

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
  const model = at(tree, 'model');
  const hasBatch =
    at(tree, 'train.micro_batch_size') !== undefined || at(tree, 'train.global_batch_size') !== undefined;
  if ((model?.kind === 'map' && hasDegree(model)) || hasBatch) {
    return tree;
  }
  return hasDegree(tree)
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
  }
  coverGrids(facts, [...grids.entries.keys()]);
}

/** The sections of a configuration that hold fields of other classes than the model's (src/megatron/bridge/training/config.py). */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  train: ['micro_batch_size', 'global_batch_size', 'decrease_batch_size_if_needed', 'rampup_batch_size'],
  validation: ['eval_micro_batch_size', 'eval_global_batch_size'],
  dist: [
    ...['use_tp_pp_dp_mapping', 'use_torch_fsdp2', 'use_sharp', 'sharp_enabled_group', 'high_priority_stream_groups'],
  ],
  checkpoint: ['ckpt_format', 'dist_ckpt_optim_fully_reshardable', 'fully_parallel_save'],
  dataset: ['dataloader_type'],
  mixed_precision: ['fp8_param_gather'],
  optimizer: [
    ...['optimizer', 'use_distributed_optimizer', 'overlap_param_gather_with_optimizer_step', 'optimizer_cpu_offload'],
    ...['use_precision_aware_optimizer', 'main_params_dtype', 'main_grads_dtype', 'exp_avg_dtype', 'exp_avg_sq_dtype'],
  ],
  ddp: [
    ...['use_distributed_optimizer', 'overlap_grad_reduce', 'overlap_param_gather', 'use_megatron_fsdp'],
    ...['num_distributed_optimizer_instances', 'data_parallel_sharding_strategy', 'outer_dp_sharding_strategy'],
    'megatron_fsdp_version',
  ],
};

/** Options of Megatron-LM's training script for which no section has a field. */
const WITHOUT_FIELD: ReadonlySet<string> = new Set([
  ...['dynamic_context_parallel', 'min_dynamic_context_parallel_size', 'encoder_num_layers', 'decoder_num_layers'],
  ...['max_position_embeddings', 'encoder_seq_length', 'decoder_seq_length', 'sequence_packing_scheduler'],
  ...['pad_packed_seq_alignment', 'step_batch_size_schedule', 'grad_reduce_in_bf16', 'create_all_gather_group'],
  ...['fake_process_group', 'fp4_param_gather'],
]);

/** Fields of models with latent attention (MLATransformerConfig); a recipe of another model refuses them. */
const LATENT_FIELDS: ReadonlySet<string> = new Set([
  'q_lora_rank',
  'kv_lora_rank',
  'qk_head_dim',
  'qk_pos_emb_head_dim',
  'v_head_dim',
]);

/** The length of the data's sequences, over which the model's wins. */
const OPTIONS: readonly OptionRow[] = [
  ['sequence.seq_length', 'dataset.sequence_length', 'integer'],
  ['sequence.seq_length', 'dataset.seq_length', 'integer'],
  ['sequence.seq_length', 'model.seq_length', 'integer'],
  ['model.from', `model.${FROM_HUGGING_FACE}`, 'text'],
];

const MAPPED: ReadonlySet<string> = new Set([...MEGATRON_OPTIONS, ...OPTIONS.map(([, path]) => path)]);

const UNLISTED: ReadonlySet<string> = new Set([...MAPPED, CALLEE]);

function readBridge(tree: Tree, flags: ReadonlyMap<string, Option>, blocked: Reason | null, facts: Facts): void {
  const ofSections = Object.entries(SECTIONS).flatMap(([section, names]) =>
    [...optionsOf(at(tree, section)).entries].filter(([name]) => names.includes(name)),
  );
  const entries = new Map([
    ...ofSections,
    ...optionsOf(at(tree, 'ddp')).entries,
    ...optionsOf(at(tree, 'model')).entries,
    ...flags,
  ]);
  const types = ['bf16', 'fp16', 'params_dtype'].filter((name) => entries.has(name));
  readMegatron(new Options(entries, blocked), { ...DIALECT, resolved: blocked === null }, facts);
  if (types.length === 0) {
    facts.delete('model.params_dtype');
  }
  readRows(tree, OPTIONS, facts);
}

/** Megatron Bridge's configuration as YAML overrides of a recipe. */
export function writeBridge(writer: LayoutWriter): string {
  const isLatent = writer.meant('model.multi_latent_attention') === true;
  const hasField = (name: string) => !WITHOUT_FIELD.has(name) && (isLatent || !LATENT_FIELDS.has(name));
  const options = megatronOptions(writer, 'field');
  for (const [key] of options.filter(([, name]) => !hasField(name))) {
    writer.used.delete(key);
  }
  const sectionOf = (name: string) =>
    Object.keys(SECTIONS).findLast((section) => SECTIONS[section]?.includes(name)) ?? 'model';
  const length = writer.written('sequence.seq_length');
  return writer.yaml([
    ...options.flatMap(([, name, value]) => (hasField(name) ? [[`${sectionOf(name)}.${name}`, value] as const] : [])),
    ...(length === undefined ? [] : [['dataset.sequence_length', length] as const]),
  ]);
}
