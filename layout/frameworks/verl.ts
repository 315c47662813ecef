import { type Job, worldByDefault } from '../launch/commands';
import type { LaunchContext, LaunchDocument, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { LayoutWriter } from '../launch/layoutWriter';
import { defaultsIn, defaultsOf, listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import { isOn, Options } from '../launch/options';
import { applyOverrides, resolveReferences } from '../launch/sources/omegaconf';
import { textOf } from '../launch/sources/shell/words';
import { at, emptyMap, optionsOf, type Tree, type TreeMap, textAtPath } from '../launch/sources/tree';
import { derived, Facts, type FactValue, type Found, isKnown, type Reason } from '../launch/value';
import { deriveFromWorld, setWorld } from '../launch/world';
import { type CheckpointFact, type Framework, REPLICATE, shardDegree, sized, ULYSSES, ULYSSES_MESH } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { DEGREES, ROLE_KEYS } from './megatronDefaults';
import { type Dialect, MEGATRON_OPTIONS, megatronName, readMegatron } from './megatronOptions';
import { engineOptions, readEngine } from './serving';

const VERL = {
  name: 'verl',
  title: 'verl',
  revision: 'b178a3cd56',
  source: 'volcengine/verl',
  weightUpdates: {
    apart: null,
    source:
      '`per_tensor_generator` in verl/utils/megatron_utils.py, `rollout_mode` of the workers in verl/workers (volcengine/verl at b178a3cd56)',
  },
} as const;

const READS =
  "Commands of verl's trainers with Hydra overrides, over the configuration that `--config-name` names, and a saved `config.yaml`: degrees of actor, reference and critic, the engine of the rollout with its degrees and its share of the memory, batches (`train_batch_size`, `rollout.n`, `ppo_mini_batch_size`) and lengths. `trainer.nnodes` times `trainer.n_gpus_per_node` is the world, 1 times 8 where they are not set.";

/** Rules that hold whatever trains. */
const OWN: readonly string[] = ['verl-batch', 'verl-engine'];

const FSDP_MANAGER = 'volcengine/verl verl/utils/checkpoint/fsdp_checkpoint_manager.py FSDPCheckpointManager';
const MEGATRON_MANAGER =
  'volcengine/verl verl/utils/checkpoint/megatron_checkpoint_manager.py MegatronCheckpointManager';
const TRAINER = 'volcengine/verl verl/trainer/ppo/ray_trainer.py';

/** The driver has the one data loader. */
const DATA: CheckpointFact = {
  parts: ['data'],
  outcome: 'loads',
  because: 'the driver keeps the state of its data loader (data.pt), and no layout changes it.',
  source: TRAINER,
};

/** verl on Megatron Core: `validate_config` in verl/utils/config.py, verl/workers/megatron_workers.py. */
export const verl: Framework = {
  ...VERL,
  ...MEGATRON_RANKS,
  core: { version: 'core_r0.15', source: 'docker/Dockerfile.stable.vllm' },
  // only where micro-batches are counted in samples
  dividesWords: ({ rl }, { tp = 1, pp = 1, cp = 1 }, world) =>
    rl.value?.dynamic_batch.value === true
      ? null
      : `n_gpus (${world}) must be divisible by model_parallel_size (${tp * pp}) times context_parallel_size (${cp})`,
  rules: { own: OWN, megatron: 'core' },
  checkpoint: [
    {
      parts: ['rng'],
      changed: ['tp', 'pp'],
      outcome: 'after',
      because: 'every rank asks for the states of its own place in the grid, and the load ends where there are none.',
      ways: [
        {
          what: 'Load the model and the optimizer without them.',
          command: "actor_rollout_ref.actor.checkpoint.load_contents='[model,optimizer]'",
        },
      ],
      source: MEGATRON_MANAGER,
    },
    {
      parts: ['optimizer'],
      changed: ['tp', 'pp'],
      when: (saved, now) => saved.ep === now.ep,
      outcome: 'loads',
      because:
        'verl names no sharding, for which Megatron Core 0.15 saves them by parameter. Megatron Core 0.16 and later cannot save them so: "ShardedTensor.flattened_range is not supported."',
      source: MEGATRON_MANAGER,
    },
    { parts: ['rerun'], outcome: 'lost', because: 'verl saves none.', source: MEGATRON_MANAGER },
    DATA,
  ],
  checkpointOptions: {
    '--dist-ckpt-optim-fully-reshardable': null,
    '--no-load-optim': "actor_rollout_ref.actor.checkpoint.load_contents='[model]'",
    '--no-load-rng': "actor_rollout_ref.actor.checkpoint.load_contents='[model,optimizer]'",
  },
  reads: READS,
  notes: [
    'Roles that share GPUs share one process, and the grid that the actor makes in it: degrees of the critic or of the reference model that differ from its own take no effect.',
    'With `use_dynamic_bsz` most relations of batches are not compared; the controller still cuts every batch into equal parts.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: verl}\nparallelism: {tp: 2, pp: 2}\nbatch: {micro_batch_size: 2}\nphases: {rollout: {engine: vllm, tp: 4}}\nrl: {prompts_per_step: 256, samples_per_prompt: 8, mini_batch_size: 64}\n',
};

/** verl on FSDP: `create_device_mesh` and the meshes of `ActorRolloutRefWorker` in verl/workers/fsdp_workers.py. */
export const verlFsdp: Framework = {
  ...VERL,
  engine: 'fsdp',
  world: {
    degrees: [REPLICATE, shardDegree('rest')],
    over: [ULYSSES],
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['dp_shard', 'dp_replicate'].map(sized),
      groups: [
        { name: 'fsdp', axes: ['dp_shard'], carries: 'shards of parameters and gradients' },
        { name: 'ddp', axes: ['dp_replicate'], carries: 'gradients between replicas of the shards' },
      ],
    },
    ULYSSES_MESH,
  ],
  ulysses: {
    heads: (heads, sp) => `num_attention_heads ${heads} must be divisible by ulysses_sp_size ${sp}`,
    keyValueHeads: (heads, sp) =>
      `num_key_value_heads ${heads} must be divisible by ulysses_sp_size ${sp}or vise versa. Upon ulysses_sp_size % num_key_value_heads == 0,kv heads are repeated to ensure correctness.`,
  },
  rules: { own: [...OWN, 'framework-world', 'ulysses-size'], megatron: 'none' },
  checkpoint: [
    {
      parts: ['model'],
      changed: ['world'],
      outcome: 'after',
      because: 'every rank reads a file that has the number of ranks in its name.',
      ways: [
        {
          what: 'Merge the weights into a Hugging Face model, and start from that.',
          command: 'python -m verl.model_merger merge --backend fsdp --local_dir ACTOR --target_dir MODEL',
        },
      ],
      source: FSDP_MANAGER,
    },
    {
      parts: ['optimizer', 'rng'],
      changed: ['world'],
      outcome: 'lost',
      because:
        'every rank reads a file that has the number of ranks in its name, and the merger takes the weights alone.',
      source: FSDP_MANAGER,
    },
    {
      parts: ['data'],
      changed: ['world'],
      outcome: 'lost',
      because: 'a start from merged weights begins the data anew.',
      source: TRAINER,
    },
    DATA,
  ],
  reads: READS,
  notes: [
    'An `fsdp_size` that does not divide the world leaves GPUs out of the mesh, and torch stops when it makes it.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: verl, engine: fsdp}\nparallelism: {ulysses: 2}\nfsdp: {data_parallel_replicate_degree: 2, data_parallel_shard_degree: 8}\nphases: {rollout: {engine: vllm, tp: 2}}\nrl: {prompts_per_step: 256, samples_per_prompt: 8, mini_batch_size: 64}\n',
};

const ULYSSES_SIZE = 'ulysses_sequence_parallel_size';
const ACTOR = 'actor_rollout_ref.actor';
const ROLLOUT = 'actor_rollout_ref.rollout';

const DEFAULTS = /* @__PURE__ */ defaultsOf(
  VERL,
  'verl/trainer/config/engine/megatron.yaml, verl/trainer/config/ppo_trainer.yaml',
  { ...DEGREES, 'sequence.sequence_parallel': true, 'optimizer.use_distributed_optimizer': true },
  { nodes: 1, perNode: 8 },
);

/** The rollout engine's settings; its degrees are read by all of their names. */
const ROLLOUT_OPTIONS: readonly OptionRow[] = [
  ['phases.rollout.engine', `${ROLLOUT}.name`, 'text'],
  ['phases.rollout.tp', `${ROLLOUT}.tensor_model_parallel_size`, 'integer', 2],
  ['phases.rollout.dp', `${ROLLOUT}.data_parallel_size`, 'integer', 1],
  ['phases.rollout.pp', `${ROLLOUT}.pipeline_model_parallel_size`, 'integer', 1],
  ['phases.rollout.ep', `${ROLLOUT}.expert_parallel_size`, 'integer', 1],
];

const ROLLOUT_DEFAULTS = /* @__PURE__ */ defaultsOf(
  VERL,
  'verl/trainer/config/rollout/rollout.yaml',
  defaultsIn(ROLLOUT_OPTIONS),
);

const DIALECT: Dialect = {
  defaults: DEFAULTS,
  switches: 'value',
  expertTpIsTp: true,
  modelElsewhere: true,
  groupsAlone: true,
};

const MODEL: readonly OptionRow[] = [['model.from', 'actor_rollout_ref.model.path', 'text']];

/** Where the width of adapters stands: that of FSDP, and that of Megatron Core; 0 is none. */
const ADAPTERS = ['actor_rollout_ref.model.lora_rank', 'actor_rollout_ref.model.lora.rank'] as const;

const MICRO_BATCH: readonly OptionRow[] = [
  ['batch.micro_batch_size', `${ACTOR}.ppo_micro_batch_size_per_gpu`, 'integer'],
];

/** What is generated in a step, and how it is trained on. */
const SAMPLES: readonly OptionRow[] = [
  ['rl.prompts_per_step', 'data.train_batch_size', 'integer'],
  ['rl.samples_per_prompt', `${ROLLOUT}.n`, 'integer'],
  ['rl.mini_batch_size', `${ACTOR}.ppo_mini_batch_size`, 'integer'],
  ['rl.dynamic_batch', `${ACTOR}.use_dynamic_bsz`, 'boolean'],
  ['rl.max_tokens_per_gpu', `${ACTOR}.ppo_max_token_len_per_gpu`, 'integer'],
  ['rl.max_prompt_length', 'data.max_prompt_length', 'integer'],
  ['rl.max_response_length', 'data.max_response_length', 'integer'],
  ['phases.rollout.memory_share', `${ROLLOUT}.gpu_memory_utilization`, 'number'],
  ['phases.rollout.max_model_len', `${ROLLOUT}.max_model_len`, 'integer'],
];

const SUPERVISED_OPTIONS: readonly OptionRow[] = [
  ['batch.micro_batch_size', 'data.micro_batch_size_per_gpu', 'integer'],
  ['batch.global_batch_size', 'data.train_batch_size', 'integer'],
  ['sequence.seq_length', 'data.max_length', 'integer'],
];

/** How sequences are spread without Megatron Core: by the trainer over engines, and by the one before it. */
const SHARDED_OPTIONS: readonly OptionRow[] = [
  ['parallelism.ulysses', ULYSSES_SIZE, 'integer'],
  ['parallelism.ulysses', `engine.${ULYSSES_SIZE}`, 'integer'],
];

/** verl's trainers: Hydra overrides on the command line, over its own configuration. */
export const verlLaunch: LaunchFamily<'verl'> = {
  name: 'verl',
  command: {
    evidence: (job) => (job.program === 'python' && (isTrainer(job) || hasOverride(job)) ? 'own' : null),
    read(job, context) {
      const { options } = readFlags(job.args, job.place, { overrides: true });
      const base = namedConfiguration(options, context) ?? emptyMap(job.place);
      const overrides = [...options.entries].filter(([name]) => name.includes('.') || base.entries.has(name));
      const tree = resolveReferences(applyOverrides(base, new Map(overrides)));
      const name = options.string('config_name');
      return isSupervised(job)
        ? readSupervised(tree, options, job)
        : readVerl(tree, options.blocked, isKnown(name) ? name.value : 'ppo_trainer');
    },
  },
  /** verl's YAML, such as the `config.yaml` that Hydra saves. */
  document: {
    evidence: ({ tree }: LaunchDocument) => (at(tree, 'actor_rollout_ref') ? 'own' : null),
    read: ({ tree }) =>
      readVerl(
        resolveReferences(tree),
        at(tree, 'defaults') ? 'the configurations under defaults' : null,
        'ppo_trainer',
      ),
  },
};

function isTrainer({ script }: Job): boolean {
  return (
    /(^|\.|\/)(main_ppo|main_dapo|main_spin|main_sppo|main_prime|main_eval_ppo|fsdp_sft_trainer|sft_trainer|main_ppo_split|main_one_step_off_ppo|fully_async_main)(\.py)?$/.test(
      script ?? '',
    ) || /^verl\.trainer\./.test(script ?? '')
  );
}

/** Supervised fine-tuning is started by torchrun and generates nothing (verl/trainer/fsdp_sft_trainer.py). */
function isSupervised({ script }: Job): boolean {
  return /(^|\.|\/)(fsdp_)?sft_trainer(_ray)?(\.py)?$/.test(script ?? '');
}

function readSupervised(tree: TreeMap, options: Options, job: Job): Facts {
  const facts = new Facts();
  const engine = options.has('engine') ? options.get('engine')?.values[0] : 'fsdp';
  if (engine === 'megatron') {
    readMegatronRole(at(tree, 'engine'), options.blocked, facts);
  } else if (engine === 'fsdp') {
    facts.engine = 'fsdp';
    readRows(tree, SHARDED_OPTIONS, facts);
  }
  readRows(tree, SUPERVISED_OPTIONS, facts);
  setWorld(facts, job.world);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', pathsIn([...SUPERVISED_OPTIONS, ...SHARDED_OPTIONS], ...MEGATRON_OPTIONS), facts);
  return facts;
}

function hasOverride({ args }: Job): boolean {
  return args.some((arg) => /^\+{0,2}(actor_rollout_ref|critic)\./.test(textOf(arg) ?? ''));
}

/** The configuration that `--config-path` and `--config-name` name, where it can be read. */
function namedConfiguration(options: Options, context: LaunchContext): TreeMap | null {
  const [name, path] = ['config_name', 'config_path'].map((one) => options.given.string(one));
  if (!isKnown(name)) {
    return null;
  }
  const folder = isKnown(path) ? `${path.value}/` : 'verl/trainer/config/';
  return context.findTree(`${folder}${name.value.replace(/\.yaml$/, '')}.yaml`)?.tree ?? null;
}

function readVerl(tree: TreeMap, blocked: Reason | null, configuration: string): Facts {
  const facts = new Facts();
  const trainer = optionsOf(at(tree, 'trainer'), blocked);
  const otherwise = worldByDefault(DEFAULTS);
  setWorld(facts, {
    nodes: trainer.integer('nnodes') ?? otherwise.nodes,
    perNode: trainer.integer('n_gpus_per_node') ?? otherwise.perNode,
  });
  const strategy = textAtPath(tree, `${ACTOR}.strategy`) ?? textAtPath(tree, 'model_engine');
  const megatron = at(tree, `${ACTOR}.megatron`);
  const isMegatron =
    strategy === 'megatron' || (strategy === null && (megatron !== undefined || configuration.includes('megatron')));
  if (isMegatron) {
    readMegatronRole(megatron, blocked, facts);
    readReference(tree, facts);
  } else {
    readFsdpRole(tree, blocked, facts);
  }
  readRollout(tree, blocked, facts);
  readBatch(tree, facts);
  readCritic(tree, isMegatron, facts);
  readRows(tree, MODEL, facts);
  for (const path of ADAPTERS) {
    const rank = textAtPath(tree, path);
    readRows(tree, rank === null || rank === '0' ? [] : [['lora.rank', path, 'integer']], facts);
  }
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', mapped(), facts);
  return facts;
}

/** What has a place in a layout, by its path or its name. */
function mapped(): ReadonlySet<string> {
  return new Set([
    ...MEGATRON_OPTIONS,
    ...pathsIn([...MODEL, ...SAMPLES, ...CRITIC, ...CRITIC_MICRO_BATCHES]),
    ...[
      'nnodes',
      'n_gpus_per_node',
      'strategy',
      'adv_estimator',
      'critic.enable',
      `${ROLLOUT}.name`,
      ...engineOptions(`${ROLLOUT}.`),
    ],
    ...[
      'ppo_micro_batch_size_per_gpu',
      `${ACTOR}.fsdp_config.fsdp_size`,
      `${ACTOR}.${ULYSSES_SIZE}`,
      `critic.${ULYSSES_SIZE}`,
    ],
  ]);
}

/** Reads the options of a role: its own, with what goes to Megatron's transformer configuration. */
function readMegatronRole(megatron: Tree | undefined, blocked: Reason | null, facts: Facts): void {
  const entries = new Map([
    ...optionsOf(at(megatron, 'override_transformer_config')).entries,
    ...optionsOf(at(megatron, 'override_ddp_config')).entries,
    ...optionsOf(megatron).entries,
  ]);
  readMegatron(new Options(entries, blocked), DIALECT, facts);
}

/** The reference model takes the actor's degrees for those that it is not given (verl/trainer/config/ref/megatron_ref.yaml). */
function readReference(tree: TreeMap, facts: Facts): void {
  const given = at(tree, 'actor_rollout_ref.ref.megatron');
  if (given) {
    readRole(given, 'reference', facts);
  }
}

/** A role beside the actor on Megatron Core: what it is not given it takes from the actor. */
function readRole(given: Tree | undefined, role: 'reference' | 'critic', facts: Facts): void {
  const own = new Facts();
  readMegatronRole(given, 'the actor', own);
  for (const key of ROLE_KEYS) {
    const found = own.get(`parallelism.${key}`);
    const actor = facts.get(`parallelism.${key}`);
    const inherited: Found | undefined = isKnown(actor) ? { value: actor.value, source: 'default' } : actor;
    facts.set(`phases.${role}.${key}`, isKnown(found) ? found : inherited);
  }
  facts.set(`phases.${role}.engine`, { value: 'megatron', source: 'default' });
}

/** The critic's batches. */
const CRITIC: readonly OptionRow[] = [
  ['phases.critic.mini_batch_size', 'critic.ppo_mini_batch_size', 'integer'],
  ['phases.critic.dynamic_batch', 'critic.use_dynamic_bsz', 'boolean'],
  ['phases.critic.max_tokens_per_gpu', 'critic.ppo_max_token_len_per_gpu', 'integer'],
];

/** Those that count where micro-batches are counted in samples. */
const CRITIC_MICRO_BATCHES: readonly OptionRow[] = [
  ['phases.critic.micro_batch_size', 'critic.ppo_micro_batch_size_per_gpu', 'integer'],
  ['phases.critic.forward_micro_batch_size', 'critic.forward_micro_batch_size_per_gpu', 'integer'],
];

/** A critic exists where it is enabled, or where advantages are estimated with it (verl/trainer/ppo/utils.py `need_critic`). */
function hasCritic(tree: TreeMap): boolean {
  const enabled = textAtPath(tree, 'critic.enable');
  return enabled === null || enabled === 'null'
    ? /^gae$/i.test(textAtPath(tree, 'algorithm.adv_estimator') ?? 'gae')
    : enabled === 'true';
}

function readCritic(tree: TreeMap, isMegatron: boolean, facts: Facts): void {
  const critic = at(tree, 'critic');
  if (!critic) {
    return;
  }
  if (!hasCritic(tree)) {
    facts.note('There is no critic: what critic.* sets takes no effect with this adv_estimator.');
    return;
  }
  const strategy = textAtPath(tree, 'critic.strategy') ?? (isMegatron ? 'megatron' : 'fsdp');
  if (strategy === 'megatron') {
    // workers that share GPUs share one process, and the grid that the actor makes in it (verl/workers/megatron_workers.py)
    readRole(at(tree, 'critic.megatron'), 'critic', facts);
  } else {
    const options = optionsOf(critic);
    facts.set('phases.critic.engine', { value: 'fsdp', source: 'default' });
    facts.set('phases.critic.ulysses', options.given.integer(ULYSSES_SIZE));
  }
  readRows(tree, CRITIC, facts);
  const isDynamic = facts.get('phases.critic.dynamic_batch') ?? facts.get('rl.dynamic_batch');
  if (!isOn(isDynamic)) {
    readRows(tree, CRITIC_MICRO_BATCHES, facts);
  }
}

/** FSDP has no tensor or pipeline parallelism; sequences are spread by Ulysses. */
function readFsdpRole(tree: TreeMap, blocked: Reason | null, facts: Facts): void {
  const actor = optionsOf(at(tree, ACTOR));
  const sharding = optionsOf(at(tree, `${ACTOR}.fsdp_config`), blocked);
  const given = [actor, sharding].find((options) => options.has(ULYSSES_SIZE))?.integer(ULYSSES_SIZE);
  facts.set('parallelism.ulysses', given);
  facts.engine = 'fsdp';
  spreadShards(sharding.integer('fsdp_size') ?? { value: -1, source: 'default' }, facts);
}

/** Weights are sharded over `fsdp_size` ranks, and over all of them where it is -1 or not smaller (verl/workers/fsdp_workers.py). */
function spreadShards(wanted: Found<number>, facts: Facts): void {
  const world = facts.get('world_size');
  const shards = derived([wanted, world], (size, ranks) => (size < 0 || size >= ranks ? ranks : size), 'fsdp_size');
  const replicas = derived([world, shards], (ranks, size) => Math.floor(ranks / size), 'fsdp_size');
  facts.set('fsdp.data_parallel_shard_degree', shards);
  facts.set('fsdp.data_parallel_replicate_degree', replicas);
}

function readRollout(tree: TreeMap, blocked: Reason | null, facts: Facts): void {
  const rollout = optionsOf(at(tree, ROLLOUT), blocked);
  facts.set('phases.rollout.engine', rollout.given.string('name'));
  readEngine(rollout, 'rollout', facts);
  if (blocked !== null) {
    facts.set('phases.rollout.tp', facts.get('phases.rollout.tp') ?? { unknown: blocked });
    return;
  }
  facts.takeDefaults(ROLLOUT_DEFAULTS);
}

function readBatch(tree: TreeMap, facts: Facts): void {
  readRows(tree, SAMPLES, facts);
  if (textAtPath(tree, `${ACTOR}.use_dynamic_bsz`) !== 'true') {
    readRows(tree, MICRO_BATCH, facts);
  }
}

/** verl's command with Hydra overrides; the reference model's block repeats the actor's unless the layout has its own. */
export function writeVerl(writer: LayoutWriter): string {
  writer.requireHomogeneous('overrides of verl');
  const cluster = writer.cluster();
  const onFsdp = writer.values.get('launch.engine')?.value === 'fsdp';
  writer.engine = onFsdp ? 'fsdp' : 'megatron';
  const overrides: (readonly [string, FactValue])[] = [
    ...(onFsdp ? fsdpRole(writer) : megatronRoles(writer)),
    ...writer.rows([...MODEL, ...SAMPLES, ...MICRO_BATCH, ...ROLLOUT_OPTIONS]),
    ...writer.renamed('lora.rank', ADAPTERS[onFsdp ? 0 : 1]),
    ...criticRole(writer),
    ...(cluster ? Object.entries({ 'trainer.nnodes': cluster.nodes, 'trainer.n_gpus_per_node': cluster.perNode }) : []),
  ];
  const configuration = onFsdp ? 'ppo_trainer' : 'ppo_megatron_trainer';
  return writer.command(
    `python3 -m verl.trainer.main_ppo --config-path=config --config-name=${configuration}`,
    overrides.map(([name, value]) => [`${name}=${typeof value === 'boolean' ? writer.python(value) : String(value)}`]),
  );
}

type Overrides = readonly (readonly [string, FactValue])[];

function degreesOf(writer: LayoutWriter, section: 'parallelism' | 'phases.reference' | 'phases.critic', role: string) {
  return ROLE_KEYS.flatMap((key) =>
    writer.renamed(`${section}.${key}`, `${role}.megatron.${megatronName(`parallelism.${key}`)}`),
  );
}

function megatronRoles(writer: LayoutWriter): Overrides {
  const hasReference = writer.hasPhase('reference');
  writer.derives('phases.reference.engine', 'parallelism.dp', 'parallelism.expt_dp');
  return [
    [`${ACTOR}.strategy`, 'megatron'],
    ...degreesOf(writer, 'parallelism', ACTOR),
    ...degreesOf(writer, hasReference ? 'phases.reference' : 'parallelism', 'actor_rollout_ref.ref'),
    [`${ACTOR}.megatron.sequence_parallel`, writer.written('sequence.sequence_parallel') ?? false],
    ...writer.renamed('optimizer.use_distributed_optimizer', `${ACTOR}.megatron.use_distributed_optimizer`),
  ];
}

function fsdpRole(writer: LayoutWriter): Overrides {
  writer.derives('parallelism.dp', 'fsdp.data_parallel_replicate_degree');
  return [
    [`${ACTOR}.strategy`, 'fsdp'],
    ...writer.renamed('parallelism.ulysses', `${ACTOR}.${ULYSSES_SIZE}`),
    ...writer.renamed('fsdp.data_parallel_shard_degree', `${ACTOR}.fsdp_config.fsdp_size`),
  ];
}

function criticRole(writer: LayoutWriter): Overrides {
  if (!writer.hasPhase('critic')) {
    return [];
  }
  const strategy = writer.meant('phases.critic.engine') ?? 'megatron';
  return [
    ['algorithm.adv_estimator', 'gae'],
    ['critic.strategy', strategy],
    ...(strategy === 'megatron' ? degreesOf(writer, 'phases.critic', 'critic') : []),
    ...(strategy === 'fsdp' ? writer.renamed('phases.critic.ulysses', `critic.${ULYSSES_SIZE}`) : []),
    // the settings of a critic on Megatron Core have no size for scoring alone
    ...writer.rows([...CRITIC, ...(strategy === 'fsdp' ? CRITIC_MICRO_BATCHES : CRITIC_MICRO_BATCHES.slice(0, 1))]),
  ];
}
