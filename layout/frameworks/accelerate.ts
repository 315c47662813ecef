import type { LaunchDocument, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import {
  defaultsIn,
  defaultsOf,
  listUnmappedTree,
  type OptionRow,
  pathsIn,
  readOptions,
  readRows,
} from '../launch/optionRows';
import { isOn, Options } from '../launch/options';
import { at, optionsOf, textAtPath } from '../launch/sources/tree';
import { derived, Facts, isKnown, mapFound } from '../launch/value';
import { deriveSharded, setWorld } from '../launch/world';
import { readConfigured } from './configured';
import {
  type Framework,
  isUlysses,
  parallelDegree,
  REPLICATE,
  type Sizes,
  shardDegree,
  sized,
  ULYSSES,
  ULYSSES_MESH,
} from './framework';

/** Whether no degree is above 1: the world is replicated, whatever its size. */
const isPlain = ({ dp_replicate, dp_shard, cp, sp, tp }: Sizes): boolean =>
  [dp_replicate, dp_shard, cp, sp, tp].every((size) => size === 1);

/** Hugging Face accelerate: `ParallelismConfig` in src/accelerate/parallelism_config.py. */
export const accelerate: Framework = {
  name: 'accelerate',
  title: 'accelerate',
  revision: '16cb6eb80d',
  source: 'huggingface/accelerate',
  world: {
    degrees: [REPLICATE, shardDegree(1), parallelDegree('tp'), parallelDegree('cp'), ULYSSES],
    predicts: ({ dp_replicate = 1, dp_shard = 1, cp = 1, sp = 1, tp = 1 }, world) =>
      `ParallelismConfig total_size (${dp_replicate * dp_shard * cp * sp * tp}) does not match num_processes (${world}). Please adjust dp_replicate_size/ dp_shard_size/tp_size/cp_size/sp_size.`,
    belowOne: (small) => {
      const [first] = Object.entries(small);
      return first ? `${first[0]}_size must be at least 1, but got ${first[1]}` : null;
    },
    isOpen: (sizes) => isUlysses(sizes) || isPlain(sizes),
    expertTp: 1,
  },
  meshes: [
    {
      axes: [
        ...['tp', 'cp', 'dp_shard'].map(sized),
        ['dp_replicate', (sizes) => (isPlain(sizes) ? sizes.world : sizes.dp_replicate) ?? 1],
      ],
      exists: (sizes) => !isUlysses(sizes),
      groups: [
        { name: 'dp_replicate', carries: 'gradients of replicated parameters' },
        {
          name: 'dp_shard',
          carries: 'shards of parameters and gradients without context parallelism',
        },
        { name: 'dp_shard_cp', axes: ['dp_shard', 'cp'], carries: 'shards of parameters and gradients' },
        { name: 'cp', carries: 'keys and values of attention' },
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'dp', axes: ['dp_shard', 'dp_replicate'], carries: 'which ranks read which data' },
        { name: 'dp_cp', axes: ['cp', 'dp_shard', 'dp_replicate'], carries: 'the loss' },
      ],
    },
    // `initialize_sequence_parallel` in deepspeed/runtime/sequence_parallel/parallel_state_sp.py
    ULYSSES_MESH,
  ],
  reads:
    "A configuration YAML (`accelerate config`), alone or behind `accelerate launch`, and the launcher's `--parallelism_config_*` flags: `num_processes` is the world, `num_machines` the nodes, `parallelism_config` the degrees.",
  notes: [
    'With every degree 1, accelerate replicates the model over `num_processes` without a word.',
    'With `sp_size` above 1 the product is not compared with the world: DeepSpeed makes the groups, and stops later where `sp` does not divide the world.',
    'Tensor parallelism of transformers cuts key-value heads without a check: where `tp` does not divide them, a reshape fails in the first layer.',
  ],
  example:
    'layout: 1\nworld_size: 16\nlaunch: {family: accelerate}\nparallelism: {tp: 2, cp: 2}\nfsdp: {data_parallel_shard_degree: 4}\n',
  heads: { heads: () => null, keyValueHeads: () => null },
  ulysses: {
    heads: (heads, sp) => `Attention head count ${heads} is not divisible by SP size ${sp}`,
    keyValueHeads: (heads, sp) => `KV attention head count ${heads} is not divisible by SP size ${sp} or vice versa`,
  },
  rules: {
    own: ['framework-world', 'framework-heads', 'ulysses-size', 'accelerate-combination'],
    megatron: 'none',
  },
};

/** The sizes of `parallelism_config`, and flags of the same names (src/accelerate/parallelism_config.py). */
const SIZES: readonly OptionRow[] = [
  ['parallelism.tp', 'parallelism_config.parallelism_config_tp_size', 'integer', 1],
  ['parallelism.cp', 'parallelism_config.parallelism_config_cp_size', 'integer', 1],
  ['parallelism.ulysses', 'parallelism_config.parallelism_config_sp_size', 'integer'],
  ['fsdp.data_parallel_replicate_degree', 'parallelism_config.parallelism_config_dp_replicate_size', 'integer', 1],
  ['fsdp.data_parallel_shard_degree', 'parallelism_config.parallelism_config_dp_shard_size', 'integer', 1],
];

/** What accelerate hands to Megatron-LM. */
const MEGATRON: readonly OptionRow[] = [
  ['parallelism.tp', 'megatron_lm_config.megatron_lm_tp_degree', 'integer'],
  ['parallelism.pp', 'megatron_lm_config.megatron_lm_pp_degree', 'integer'],
  ['sequence.sequence_parallel', 'megatron_lm_config.megatron_lm_sequence_parallelism', 'boolean'],
  ['optimizer.use_distributed_optimizer', 'megatron_lm_config.megatron_lm_use_distributed_optimizer', 'boolean'],
];

const DEFAULTS = /* @__PURE__ */ defaultsOf(accelerate, 'src/accelerate/parallelism_config.py', defaultsIn(SIZES));

const DOCUMENT = {
  evidence: ({ tree }: LaunchDocument) =>
    at(tree, 'distributed_type') || at(tree, 'parallelism_config') ? ('own' as const) : null,
  read: readAccelerate,
};

/** Hugging Face accelerate: `num_processes` is the world, `parallelism_config` the degrees; its own flags win over its configuration. */
export const accelerateLaunch: LaunchFamily<'accelerate'> = {
  name: 'accelerate',
  document: DOCUMENT,
  command: {
    evidence: (job) => (job.launchers.includes('accelerate') ? 'launcher' : null),
    read(job, context) {
      const facts = readConfigured(job, context, DOCUMENT);
      const own = job.launcherOptions ?? new Options(new Map(), null);
      readOptions(
        own,
        [...SIZES, ...MEGATRON].map(([key, path, kind]): OptionRow => [key, path.split('.')[1] ?? '', kind]),
        facts,
      );
      readRecomputed(own, facts);
      if (own.has('use_megatron_lm')) {
        facts.engine = 'megatron';
      }
      setProcesses(facts);
      const { options } = readFlags(job.args, job.place);
      facts.set('model.from', options.given.string('model_name_or_path'));
      return facts;
    },
  },
};

/**
 * Sets the processes of each machine: the launcher starts `num_processes // num_machines` (src/accelerate/utils/launch.py), and
 * so fewer than it is told where that does not come out even.
 */
function setProcesses(facts: Facts): void {
  const [nodes, world] = [facts.get('cluster.nodes'), facts.get('world_size')];
  const each = derived([world, nodes], (total, machines) => Math.floor(total / machines), 'num_processes');
  if (!isKnown(each) || !isKnown(nodes) || !isKnown(world) || Number(world.value) % Number(nodes.value) === 0) {
    return;
  }
  facts.note(
    `accelerate starts num_processes ${world.value} // num_machines ${nodes.value} = ${each.value} processes a machine; num_processes counts those of all machines.`,
  );
  facts.set('cluster.gpus_per_node', each.value > 0 ? { value: each.value, source: nodes.source } : undefined);
}

const RECOMPUTED = 'megatron_lm_recompute_activations';

/** Megatron-LM's `--recompute-activations`, which recomputes parts of a layer. */
function readRecomputed(options: Options, facts: Facts): void {
  const found = options.given.boolean(RECOMPUTED);
  if (isOn(found)) {
    facts.set(
      'recompute.granularity',
      mapFound(found, () => 'selective'),
    );
  }
}

function readAccelerate({ tree }: LaunchDocument): Facts {
  const facts = new Facts();
  readRows(tree, SIZES, facts);
  readRows(tree, MEGATRON, facts);
  if (at(tree, 'parallelism_config')) {
    facts.takeDefaults(DEFAULTS);
    deriveSharded(facts);
  }
  const megatron = at(tree, 'megatron_lm_config');
  facts.engine = megatron ? 'megatron' : null;
  readRecomputed(optionsOf(megatron), facts);
  const options = optionsOf(tree);
  const precision = textAtPath(tree, 'mixed_precision');
  if (megatron && (precision === 'bf16' || precision === 'fp16')) {
    readRows(tree, [['model.params_dtype', 'mixed_precision', 'type']], facts);
  }
  setWorld(facts, {
    nodes: options.integer('num_machines'),
    total: options.integer('num_processes') ?? { unknown: 'num_processes' },
  });
  setProcesses(facts);
  listUnmappedTree(
    tree,
    '',
    pathsIn(
      [...SIZES, ...MEGATRON],
      'num_machines',
      'num_processes',
      RECOMPUTED,
      ...(megatron ? ['mixed_precision'] : []),
    ),
    facts,
  );
  return facts;
}
