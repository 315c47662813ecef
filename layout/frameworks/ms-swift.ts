import { environmentOf, type Job, type World, worldByDefault } from '../launch/commands';
import type { LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { defaultsIn, defaultsOf, listUnmapped, type OptionRow, pathsIn, readOptions } from '../launch/optionRows';
import { isOn, Options } from '../launch/options';
import { textOf } from '../launch/sources/shell/words';
import { at, optionsOf, type TreeMap } from '../launch/sources/tree';
import { Facts, isKnown } from '../launch/value';
import { deriveFromWorld, setWorld } from '../launch/world';
import { type Framework, REPLICATE, shardDegree, sized } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { DEGREES } from './megatronDefaults';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';
import { engineOptions, readEngine } from './serving';

const SWIFT = { name: 'ms-swift', title: 'ms-swift', revision: '3602360a56', source: 'modelscope/ms-swift' } as const;

/** ms-swift on Megatron Core: swift/megatron/arguments/megatron_args.py. */
export const swift: Framework = {
  ...SWIFT,
  ...MEGATRON_RANKS,
  core: { version: 'core_r0.16', source: 'requirements/megatron.txt, which takes later ones too' },
  rules: { own: ['swift-batch'], megatron: 'core' },
  checkpoint: [
    {
      parts: ['rerun'],
      outcome: 'lost',
      because: 'ms-swift saves none.',
      source: 'modelscope/ms-swift swift/megatron/utils/megatron_lm_utils.py load_mcore_checkpoint',
    },
  ],
  checkpointOptions: {
    '--dist-ckpt-optim-fully-reshardable': '--dist_ckpt_optim_fully_reshardable true',
    '--no-load-optim': '--no_load_optim true',
    '--no-load-rng': '--no_load_rng true',
  },
  optimizerMismatch: () => 'not supported for DistributedOptimizer',
  reads:
    "Commands `megatron sft`, `pt`, `rlhf` with flags or a YAML file: Megatron-LM's options under their names, `NNODES` and `NPROC_PER_NODE` of the environment, the degrees of vLLM or SGLang beside it.",
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: ms-swift}\nparallelism: {tp: 2, ep: 4, expt_tp: 1}\n',
};

/** ms-swift on the trainer of transformers, over torch DDP, FSDP or DeepSpeed: every rank is a replica or a shard. */
export const swiftTransformers: Framework = {
  ...SWIFT,
  engine: 'transformers',
  world: {
    degrees: [REPLICATE, shardDegree('rest')],
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['dp_shard', 'dp_replicate'].map(sized),
      groups: [{ name: 'dp', axes: ['dp_shard', 'dp_replicate'], carries: 'gradients, and shards of parameters' }],
    },
  ],
  rules: { own: ['framework-world', 'swift-batch'], megatron: 'none' },
  reads:
    'Commands `swift sft`, `pt`, `rlhf` with flags or a YAML file: the micro-batch, and `NNODES` and `NPROC_PER_NODE` of the environment.',
  notes: ['What is sharded over the ranks stands in a configuration of FSDP or DeepSpeed, which is not read.'],
  example: 'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: ms-swift, engine: transformers}\n',
};

const DEFAULTS = /* @__PURE__ */ defaultsOf(
  SWIFT,
  'swift/megatron/arguments/megatron_args.py',
  {
    ...DEGREES,
    'parallelism.expt_tp': 1,
    'optimizer.use_distributed_optimizer': true,
    'batch.micro_batch_size': 1,
    'batch.global_batch_size': 16,
    'sequence.sequence_parallel': false,
    'sequence.tp_comm_overlap': false,
    'optimizer.overlap_grad_reduce': false,
    'optimizer.overlap_param_gather': false,
    'optimizer.optimizer': 'adam',
    'recompute.granularity': 'selective',
    'fsdp.enabled': false,
  },
  // swift/cli/main.py
  { nodes: 1, perNode: null },
);

/** Options of Hugging Face's trainer. */
const TRANSFORMERS_OPTIONS: readonly OptionRow[] = [
  ['batch.micro_batch_size', 'per_device_train_batch_size', 'integer', 1],
  ['batch.gradient_accumulation_steps', 'gradient_accumulation_steps', 'integer'],
];

const TRANSFORMERS = /* @__PURE__ */ defaultsOf(SWIFT, 'swift/trainers/arguments.py', defaultsIn(TRANSFORMERS_OPTIONS));

const DIALECT: Dialect = { defaults: DEFAULTS, switches: 'value', expertTpIsTp: false, modelElsewhere: true };

/** Options beside Megatron's; seq_length is the packing length, or else the longest sample (swift/megatron/arguments/megatron_base_args.py). */
const OPTIONS: readonly OptionRow[] = [
  ['model.params_dtype', 'torch_dtype', 'type'],
  ['model.from', 'model', 'text'],
  ['sequence.seq_length', 'max_length', 'integer'],
  ['sequence.seq_length', 'packing_length', 'integer'],
  ['rl.samples_per_prompt', 'num_generations', 'integer'],
  ['rl.generation_batch_size', 'generation_batch_size', 'integer'],
  ['rl.updates_per_step', 'steps_per_generation', 'integer'],
  ['rl.max_response_length', 'max_completion_length', 'integer'],
];

const COMMANDS = /^(sft|pt|rlhf|gkd|grpo)$/;

/** How a command of ms-swift trains: on Megatron, or on Hugging Face's trainer. */
type Trainer = 'megatron' | 'transformers';

function trainerOf({ program, script, args }: Job): Trainer | null {
  const isCommand = COMMANDS.test(textOf(args[0]) ?? '');
  if ((program === 'megatron' && isCommand) || /swift\/cli\/_megatron\/\w+\.py$/.test(script ?? '')) {
    return 'megatron';
  }
  const isPlain = (program === 'swift' && isCommand) || /swift\/cli\/(sft|pt|rlhf)\.py$/.test(script ?? '');
  return isPlain ? 'transformers' : null;
}

/** ms-swift's commands (`megatron sft`, `swift sft`, `pt`, `rlhf`), with flags that take `true` and `false`, over a YAML file. */
export const swiftLaunch: LaunchFamily<'ms-swift'> = {
  name: 'ms-swift',
  command: {
    evidence: (job) => (({ megatron: 'own', transformers: 'entry', none: null }) as const)[trainerOf(job) ?? 'none'],
    read(job, context) {
      const args = job.script === null ? job.args.slice(1) : job.args;
      const { options, positional } = readFlags(args, job.place);
      const path = positional[0]?.text ?? options.get('config')?.values[0];
      const found = path ? (context.findTree(path)?.tree ?? null) : null;
      const flags = new Options(options.entries, path && !found ? { missing: `file ${path}` } : options.blocked);
      return readSwift(found, flags, trainerOf(job) ?? 'megatron', environmentOf(job), job.world);
    },
  },
  /** The YAML file of a Megatron command; with Ray, the trainer's settings stand under `train`. */
  document: {
    evidence: ({ tree }) =>
      at(tree, 'model')?.kind === 'scalar' &&
      at(tree, 'dataset') &&
      [tree, at(tree, 'train')].some((map) =>
        [...optionsOf(map).entries.keys()].some((name) => /^micro_batch_size$|_model_parallel_size$/.test(name)),
      )
        ? 'entry'
        : null,
    read: ({ tree }) => readSwift(tree, new Options(new Map(), null), 'megatron', new Options(new Map(), null)),
  },
};

/**
 * @param environment the variables that the command sets
 * @param launched the world of a launcher in front of the trainer's own script
 */
function readSwift(
  tree: TreeMap | null,
  flags: Options,
  trainer: Trainer,
  environment: Options,
  launched: World = {},
): Facts {
  const facts = new Facts();
  const [train, rollout, own] = ['train', 'rollout', 'ENV'].map((name) => optionsOf(tree ? at(tree, name) : undefined));
  const entries = [optionsOf(tree ?? undefined), train, flags].flatMap((one) => [...(one?.entries ?? [])]);
  const options = new Options(new Map(entries), flags.blocked);
  if (trainer === 'megatron') {
    readMegatron(options, DIALECT, facts);
  } else {
    facts.engine = 'transformers';
    readOptions(options, TRANSFORMERS_OPTIONS, facts);
    if (options.blocked === null) {
      facts.takeDefaults(TRANSFORMERS);
    }
  }
  readOptions(options, OPTIONS, facts);
  readAdapters(options, facts);
  const count = (name: string) => environment.integer(name) ?? own?.integer(name);
  const gpus = isOn(options.boolean('use_ray')) || train?.has('gpus') ? train?.integer('gpus') : undefined;
  const isLaunched = Object.values(launched).some((found) => found !== undefined);
  const counted: World = {
    nodes: count('NNODES') ?? worldByDefault(DEFAULTS).nodes,
    perNode: count('NPROC_PER_NODE') ?? { unknown: { variable: 'NPROC_PER_NODE' } },
  };
  setWorld(facts, gpus ? { total: gpus } : isLaunched ? launched : counted);
  if (trainer === 'megatron') {
    deriveFromWorld(facts);
  }
  readRollout(new Options(new Map([...options.entries, ...(rollout?.entries ?? [])]), null), facts);
  listUnmapped(options, MAPPED, facts);
  return facts;
}

/** `tuner_type` was `train_type`; adapters are 8 wide unless it is said (swift/arguments/tuner_args.py). */
function readAdapters(options: Options, facts: Facts): void {
  const type = ['tuner_type', 'train_type'].find((name) => options.has(name));
  const found = type === undefined ? undefined : options.string(type);
  if (isKnown(found) && found.value === 'lora') {
    facts.set('lora.rank', options.has('lora_rank') ? options.integer('lora_rank') : { value: 8, source: 'default' });
  }
}

const ENGINES = ['vllm', 'sglang'] as const;

/** What an engine may take: its share of the memory, and the longest sequence. */
const ENGINE_OPTIONS: readonly OptionRow[] = [
  ['phases.rollout.memory_share', 'vllm_gpu_memory_utilization', 'number'],
  ['phases.rollout.memory_share', 'sglang_mem_fraction_static', 'number'],
  ['phases.rollout.max_model_len', 'vllm_max_model_len', 'integer'],
  ['phases.rollout.max_model_len', 'sglang_context_length', 'integer'],
];

const MAPPED: ReadonlySet<string> = new Set([
  ...MEGATRON_OPTIONS,
  ...pathsIn([...OPTIONS, ...TRANSFORMERS_OPTIONS, ...ENGINE_OPTIONS]),
  ...['lora_rank', 'tuner_type', 'train_type', 'gpus', 'use_ray'],
  ...ENGINES.flatMap((engine) => engineOptions(`${engine}_`)),
]);

function readRollout(options: Options, facts: Facts): void {
  for (const engine of ENGINES) {
    if (engineOptions(`${engine}_`).some((name) => options.has(name))) {
      facts.set('phases.rollout.engine', { value: engine, source: 'default' });
      readEngine(options, 'rollout', facts, `${engine}_`);
      readOptions(options, ENGINE_OPTIONS, facts);
    }
  }
}
