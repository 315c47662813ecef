import { hasFlag, type Job } from '../launch/commands';
import type { Evidence, LaunchContext, LaunchDocument, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import type { Options } from '../launch/options';
import { at, type Tree, textAtPath } from '../launch/sources/tree';
import { derived, type FactPath, Facts, ONE, quotient } from '../launch/value';
import { setWorld } from '../launch/world';
import { type CheckpointFact, EXPERTS, type Framework, isUlysses, parallelDegree, sized, ULYSSES } from './framework';

const UNIVERSAL = {
  what: 'Convert it to a universal checkpoint, and load that with `checkpoint.load_universal` (Megatron-DeepSpeed: `--universal-checkpoint`).',
  command: 'python -m deepspeed.checkpoint.ds_to_universal --input_folder CKPT/TAG --output_folder CKPT/TAG_universal',
};

const ENGINE = 'deepspeedai/DeepSpeed deepspeed/runtime/engine.py';

/** What becomes of a checkpoint that DeepSpeed's engine saves. */
const ZERO_CHECKPOINT: readonly CheckpointFact[] = [
  {
    parts: ['model', 'optimizer'],
    changed: ['tp', 'pp'],
    outcome: 'after',
    because: 'every rank of tp and pp reads a file of its own.',
    ways: [UNIVERSAL],
    source: `${ENGINE} load_checkpoint`,
  },
  {
    parts: ['optimizer'],
    changed: ['dp'],
    when: ({ zeroStage }) => zeroStage > 0,
    outcome: 'after',
    because: 'ZeRO shards them over the data-parallel ranks.',
    predicts: (saved, now) =>
      `The checkpoint being loaded used a DP world size of ${saved.dp} but the current world size is ${now.dp}. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported.`,
    ways: [
      UNIVERSAL,
      {
        what: 'Start with fresh optimizer states.',
        command: 'engine.load_checkpoint(..., load_optimizer_states=False)',
      },
    ],
    source: `${ENGINE} _load_zero_checkpoint`,
  },
  {
    parts: ['model'],
    changed: ['dp'],
    when: ({ zeroStage }) => zeroStage === 3,
    outcome: 'after',
    because: 'stage 3 of ZeRO shards them over the data-parallel ranks.',
    ways: [UNIVERSAL],
    source: `${ENGINE} load_checkpoint`,
  },
  {
    parts: ['model', 'optimizer'],
    outcome: 'loads',
    because: 'no size changes that their files are cut by.',
    source: `${ENGINE} load_checkpoint`,
  },
];

/**
 * Megatron-DeepSpeed, Microsoft's fork of Megatron-LM: `validate_args` in megatron/arguments.py and `initialize_model_parallel` in megatron/core/parallel_state.py;
 * the groups of experts are DeepSpeed's (`_get_expert_parallel_ranks` in deepspeed/utils/groups.py at edaa722126).
 */
export const megatronDeepspeed: Framework = {
  name: 'megatron-lm',
  engine: 'deepspeed',
  title: 'Megatron-DeepSpeed',
  revision: '4efb479d53',
  source: 'deepspeedai/Megatron-DeepSpeed',
  world: {
    degrees: [parallelDegree('tp'), ULYSSES, parallelDegree('dp', 'rest'), parallelDegree('pp')],
    over: [EXPERTS],
    predicts: ({ tp = 1, pp = 1, sp = 1 }, world) => {
      // larger sizes are silently lowered to what the world has
      if (tp > world || (world % tp === 0 && pp > world / tp)) {
        return null;
      }
      return world % tp === 0
        ? `world size (${world}) is not divisible by tensor parallel size (${tp}) times pipeline parallel size (${pp}) times seqence parallel size (${sp})`
        : `world size (${world}) is not divisible by tensor model parallel size (${tp})`;
    },
    experts: {
      count: ({ dp = 1, sp = 1 }) => dp * sp,
      axes: ['dp', 'sp'],
      predicts: (ep, ranks) => `${ranks} is not divisible by ${ep}`,
    },
    expertTp: 'tp',
  },
  meshes: [
    {
      axes: ['tp', 'dp', 'pp'].map(sized),
      groups: [
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'dp', carries: 'gradients, and with ZeRO their shards' },
        { name: 'pp', carries: 'activations and their gradients between stages' },
        { name: 'mp', axes: ['tp', 'pp'], carries: 'the norm of gradients' },
      ],
      exists: (sizes) => !isUlysses(sizes),
    },
    {
      axes: ['sp', 'dp'].map(sized),
      groups: [
        { name: 'sp', carries: 'queries, keys, values and outputs of attention: all-to-all' },
        { name: 'dp', carries: 'which ranks read which data' },
        { name: 'sp_dp', axes: ['sp', 'dp'], carries: 'gradients, and with ZeRO their shards' },
      ],
      exists: isUlysses,
    },
    {
      axes: [sized('tp'), sized('ep'), ['ep_dp', ({ dp = 1, sp = 1, ep = 1 }) => (dp * sp) / ep], sized('pp')],
      groups: [
        { name: 'ep', carries: 'tokens to their experts' },
        { name: 'ep_dp', carries: 'gradients of experts' },
      ],
    },
  ],
  ulysses: {
    heads: (heads, sp) => `Number of heads (${heads}) must be divisible by the sequence parallel size (${sp})!`,
    keyValueHeads: null,
    // get_batch in pretrain_gpt.py, an assertion without words
    cutsSequences: true,
  },
  heads: { heads: (heads, tp) => `${heads} is not divisible by ${tp}`, keyValueHeads: null },
  reads:
    "Commands of Megatron-LM's scripts with flags of Megatron-DeepSpeed (`--deepspeed`, `--zero-stage`, `--ds-sequence-parallel-size`, `--moe-expert-parallel-size`), and `zero_optimization.stage` of the file that `--deepspeed_config` names. `deepspeed --num_nodes --num_gpus` gives the world.",
  notes: [
    '`tp` and `pp` that are larger than the world are lowered to it without a word: the job trains with other sizes than its script says.',
    '`deepspeed` without `--num_gpus` takes what the file of `--hostfile` says; without both, the world is unknown.',
  ],
  example:
    'layout: 1\nworld_size: 16\nlaunch: {family: megatron-lm, engine: deepspeed}\nparallelism: {tp: 2, pp: 2, ep: 2}\noptimizer: {zero_stage: 1}\n',
  rules: {
    own: [
      'framework-world',
      'framework-experts',
      'framework-heads',
      'ulysses-size',
      'deepspeed-pipeline',
      'deepspeed-batch',
    ],
    megatron: 'none',
    also: ['global-batch'],
  },
  checkpoint: ZERO_CHECKPOINT,
};

/** DeepSpeed under a training script of the user's own. */
export const deepspeed: Framework = {
  name: 'deepspeed',
  title: 'DeepSpeed',
  revision: 'edaa722126',
  source: 'deepspeedai/DeepSpeed',
  world: {
    degrees: [parallelDegree('tp'), ULYSSES, parallelDegree('dp', 'rest')],
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['tp', 'sp', 'dp'].map(sized),
      groups: [
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'sp', carries: 'queries, keys, values and outputs of attention: all-to-all' },
        { name: 'dp', carries: 'gradients, and with ZeRO their shards' },
      ],
    },
  ],
  ulysses: {
    heads: (heads, sp) => `Attention head count ${heads} is not divisible by SP size ${sp}`,
    keyValueHeads: (heads, sp) => `KV attention head count ${heads} is not divisible by SP size ${sp} or vice versa`,
  },
  reads:
    "Commands that hand a script DeepSpeed's configuration (`--deepspeed`, `--deepspeed_config`): the stage of ZeRO, the batch and its parts, `sequence_parallel_size`, `tensor_parallel.autotp_size`. What the configuration leaves to transformers (`auto`) is taken from the script's `--per_device_train_batch_size` and `--gradient_accumulation_steps`. `deepspeed --num_nodes --num_gpus`, `--hostfile` or torchrun give the world.",
  notes: [
    'A script that calls `deepspeed.initialize` before the process group exists has a world of 1 in the comparison of batches.',
  ],
  example:
    'layout: 1\nworld_size: 8\nlaunch: {family: deepspeed}\nbatch: {micro_batch_size: 2, gradient_accumulation_steps: 4, global_batch_size: 64}\noptimizer: {zero_stage: 3}\n',
  rules: { own: ['framework-world', 'ulysses-size', 'deepspeed-batch'], megatron: 'none' },
  checkpoint: ZERO_CHECKPOINT,
};

/** DeepSpeed's configuration (deepspeed/runtime/config.py). */
const OPTIONS: readonly OptionRow[] = [
  ['optimizer.zero_stage', 'zero_optimization.stage', 'integer'],
  ['batch.global_batch_size', 'train_batch_size', 'integer'],
  ['batch.micro_batch_size', 'train_micro_batch_size_per_gpu', 'integer'],
  ['batch.gradient_accumulation_steps', 'gradient_accumulation_steps', 'integer'],
  ['parallelism.ulysses', 'sequence_parallel_size', 'integer'],
  ['parallelism.tp', 'tensor_parallel.autotp_size', 'integer'],
];

/** What transformers fills in for `auto` (src/transformers/integrations/deepspeed.py). */
const OF_TRANSFORMERS: readonly (readonly [key: FactPath, flag: string])[] = [
  ['batch.micro_batch_size', 'per_device_train_batch_size'],
  ['batch.gradient_accumulation_steps', 'gradient_accumulation_steps'],
];

/** A training script of the user's own that is handed DeepSpeed's configuration. */
export const deepspeedLaunch: LaunchFamily<'deepspeed'> = {
  name: 'deepspeed',
  command: {
    evidence: evidenceOf,
    read: readCommand,
  },
  document: {
    evidence: ({ tree }: LaunchDocument) =>
      at(tree, 'zero_optimization') && (at(tree, 'train_batch_size') || at(tree, 'train_micro_batch_size_per_gpu'))
        ? 'configuration'
        : null,
    read({ tree, job }) {
      const facts = new Facts();
      readConfiguration(tree, facts);
      setWorld(facts, job?.world ?? {});
      return facts;
    },
  },
};

/** A script of any name that is handed a configuration is DeepSpeed's, unless it takes Megatron-LM's sizes. */
function evidenceOf(job: Job): Evidence | null {
  if (job.program !== 'python') {
    return null;
  }
  if (!readFlags(job.args, job.place).options.has('deepspeed_config') && configurationOf(job) === null) {
    // `deepspeed.add_config_arguments` gives scripts that write their configuration themselves this switch
    return job.launchers.includes('deepspeed') && hasFlag(job, '--deepspeed') ? 'launcher' : null;
  }
  return hasFlag(job, '--num-layers', '--micro-batch-size', '--tensor-model-parallel-size')
    ? 'launcher'
    : 'configuration';
}

/** The path of the configuration that a command hands to its script; null where it is unknown. */
function configurationOf(job: Job): string | null {
  const { options } = readFlags(job.args, job.place);
  const path = options.get('deepspeed_config', 'deepspeed')?.values[0] ?? null;
  return path !== null && /\.json$/.test(path) ? path : null;
}

function readCommand(job: Job, context: LaunchContext): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place);
  const path = configurationOf(job);
  const found = path === null ? null : context.findTree(path);
  if (found) {
    readConfiguration(found.tree, facts);
    readAutomatic(found.tree, options, facts);
  } else {
    facts.noteMissing({ missing: path === null ? 'the configuration' : `file ${path}` });
  }
  facts.set('model.from', options.given.string('model_name_or_path'));
  setWorld(facts, job.world);
  if (path === null) {
    return facts;
  }
  const sizes = (['parallelism.tp', 'parallelism.ulysses'] as const).map((key) => facts.get(key) ?? ONE);
  facts.derive('parallelism.dp', derived([facts.get('world_size'), ...sizes], quotient, 'dp'));
  return facts;
}

function readConfiguration(tree: Tree, facts: Facts): void {
  readRows(tree, OPTIONS, facts);
  for (const [key, path] of OPTIONS) {
    if (textAtPath(tree, path) === 'auto') {
      facts.delete(key);
    }
  }
  listUnmappedTree(tree, '', pathsIn(OPTIONS), facts);
}

/** Sets what the configuration leaves to transformers, where the script's flags say it. */
function readAutomatic(tree: Tree, options: Options, facts: Facts): void {
  for (const [key, flag] of OF_TRANSFORMERS) {
    const path = OPTIONS.find(([one]) => one === key)?.[1] ?? '';
    if (textAtPath(tree, path) === 'auto' && options.has(flag)) {
      facts.set(key, options.integer(flag));
    }
  }
}
