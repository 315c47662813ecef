import { environmentOf, type Job, type World } from '../launch/commands';
import type { LaunchContext, LaunchDocument, LaunchFamily } from '../launch/family';
import { listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import { textOf } from '../launch/sources/shell/words';
import { at, optionsOf, type TreeMap } from '../launch/sources/tree';
import { type Defaults, Facts, ONE } from '../launch/value';
import { deriveFromWorld, LAUNCHERS_WORLD, setAccumulatedBatch, setWorld } from '../launch/world';
import { configurationsOf, readConfigured } from './configured';
import type { Framework } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { DEGREES } from './megatronDefaults';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';

/** LLaMA-Factory on Megatron Core, through mcore_adapter of ROLL (`USE_MCA=1`) or Megatron Bridge. */
export const llamaFactory: Framework = {
  ...MEGATRON_RANKS,
  name: 'llama-factory',
  title: 'LLaMA-Factory',
  revision: 'ff6d4d12e',
  source: 'hiyouga/LLaMA-Factory',
  // mcore_adapter recomputes all layers where no method is given
  rules: { own: [], megatron: 'core', except: ['recompute-options'] },
  reads:
    "Configurations in YAML with degrees of Megatron Core, alone or behind `llamafactory-cli train`: Megatron Core's fields under their names, `NNODES` and `NPROC_PER_NODE` of the environment.",
  notes: [
    'Degrees take effect with `USE_MCA=1` or `USE_MEGATRON_BRIDGE=1` alone; a checkpoint of mcore_adapter holds degrees of its own, which a configuration without them takes.',
  ],
  example: 'layout: 1\nworld_size: 8\nlaunch: {family: llama-factory}\nparallelism: {pp: 4, ep: 2, expt_tp: 1}\n',
};

/** Options beside Megatron Core's fields (src/llamafactory/hparams). */
const OPTIONS: readonly OptionRow[] = [
  ['model.from', 'model_name_or_path', 'text'],
  ['sequence.seq_length', 'cutoff_len', 'integer'],
  ['batch.micro_batch_size', 'per_device_train_batch_size', 'integer'],
];

const DEFAULTS: Defaults = {
  framework: 'mcore_adapter of ROLL',
  version: '1bc12057ef',
  source: 'mcore_adapter/src/mcore_adapter/training_args.py',
  values: {
    ...DEGREES,
    'parallelism.expt_tp': 1,
    'sequence.sequence_parallel': false,
    'moe.moe_token_dispatcher_type': 'allgather',
  },
};

const DIALECT: Dialect = { defaults: DEFAULTS, switches: 'value', expertTpIsTp: false, modelElsewhere: true };

const DOCUMENT = {
  evidence: ({ tree }: LaunchDocument) =>
    at(tree, 'model_name_or_path') && [...tree.entries.keys()].some((name) => name.endsWith('_model_parallel_size'))
      ? ('own' as const)
      : null,
  read: ({ tree, job }: LaunchDocument) => readConfiguration(tree, job),
};

/** LLaMA-Factory's configurations for Megatron Core; its launcher starts NNODES x NPROC_PER_NODE ranks (src/llamafactory/launcher.py). */
export const llamaFactoryLaunch: LaunchFamily<'llama-factory'> = {
  name: 'llama-factory',
  document: DOCUMENT,
  command: {
    evidence: (job, context) => (isTraining(job) && isOnMegatron(job, context) ? 'own' : null),
    read: (job, context) => readConfigured(job, context, DOCUMENT),
  },
};

function isTraining({ program, script, args }: Job): boolean {
  return (
    (/^(llamafactory-cli|lmf)$/.test(program) && textOf(args[0]) === 'train') ||
    /(^|\/)llamafactory\/(launcher|cli)\.py$|^llamafactory\.(launcher|cli)$/.test(script ?? '')
  );
}

/** Whether a command trains on Megatron Core: its environment says so, or its configuration has degrees. */
function isOnMegatron(job: Job, context: LaunchContext): boolean {
  const environment = environmentOf(job);
  const switches = ['USE_MCA', 'USE_MEGATRON_BRIDGE'].map((name) => environment.get(name)?.values[0]);
  return (
    switches.some((value) => /^(1|true|y)$/i.test(value ?? '')) ||
    configurationsOf(job).some((path) => {
      const found = context.findTree(path);
      return found !== null && DOCUMENT.evidence({ ...found, job }) !== null;
    })
  );
}

function readConfiguration(tree: TreeMap, job: Job | null): Facts {
  const facts = new Facts();
  readMegatron(optionsOf(tree), DIALECT, facts);
  readRows(tree, OPTIONS, facts);
  setWorld(facts, job ? worldOf(job) : { total: LAUNCHERS_WORLD });
  deriveFromWorld(facts);
  setAccumulatedBatch(facts, optionsOf(tree).integer('gradient_accumulation_steps') ?? ONE);
  listUnmappedTree(tree, '', pathsIn(OPTIONS, 'gradient_accumulation_steps', ...MEGATRON_OPTIONS), facts);
  return facts;
}

function worldOf(job: Job): World {
  const environment = environmentOf(job);
  return job.launchers.length > 0
    ? job.world
    : {
        nodes: environment.integer('NNODES') ?? ONE,
        perNode: environment.integer('NPROC_PER_NODE') ?? { unknown: { variable: 'NPROC_PER_NODE' } },
      };
}
