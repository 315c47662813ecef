import { DEFAULTS, worldByDefault } from '../defaults';
import type { CommandFamily, DocumentFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { derived, Facts, type Found, isKnown } from '../foundValues';
import type { Job } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { applyOverrides, resolveReferences } from '../omegaconf';
import { Options } from '../options';
import { textOf } from '../shell/values';
import { at, emptyMap, optionsOf, type Tree, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { type KeyMap, listUnmappedTree, readKeys } from './keys';
import { engineOptions, readEngine } from './serving';

const ULYSSES = 'ulysses_sequence_parallel_size';
const ACTOR = 'actor_rollout_ref.actor';
const ROLLOUT = 'actor_rollout_ref.rollout';
const MODEL = 'actor_rollout_ref.model.path';

const DIALECT: Dialect = {
  defaults: DEFAULTS.verl,
  switches: 'value',
  expertTpIsTp: true,
  modelElsewhere: true,
  groupsAlone: true,
};

/** verl's trainers: Hydra overrides on the command line, over its own configuration. */
export const verlCommand: CommandFamily = {
  name: 'verl',
  matches: (job) => (job.program === 'python' && (isTrainer(job) || hasOverride(job)) ? 3 : 0),
  read(job, context) {
    const { options } = readFlags(job.args, job.place, { overrides: true });
    const base = namedConfiguration(options, context) ?? emptyMap(job.place);
    const overrides = [...options.entries].filter(([name]) => name.includes('.') || base.entries.has(name));
    const tree = resolveReferences(applyOverrides(base, new Map(overrides)));
    const name = options.string('config_name');
    if (isSupervised(job)) {
      return readSupervised(tree, options, job);
    }
    return readVerl(tree, options.blocked, isKnown(name) ? name.value : 'ppo_trainer');
  },
};

/** verl's YAML, such as the `config.yaml` that Hydra saves. */
export const verlDocument: DocumentFamily = {
  name: 'verl',
  matches: ({ tree }) => at(tree, 'actor_rollout_ref') !== undefined,
  read: ({ tree }) =>
    readVerl(resolveReferences(tree), at(tree, 'defaults') ? 'the configurations under defaults' : null, 'ppo_trainer'),
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
  if (options.has('engine') && options.get('engine')?.values[0] === 'megatron') {
    readMegatronRole(at(tree, 'engine'), options.blocked, facts);
  }
  readKeys(
    tree,
    [
      ['data.micro_batch_size_per_gpu', 'batch.micro_batch_size', 'integer'],
      ['data.train_batch_size', 'batch.global_batch_size', 'integer'],
      ['data.max_length', 'sequence.seq_length', 'integer'],
    ],
    facts,
  );
  setWorld(facts, job.world);
  deriveFromWorld(facts);
  const mapped = [...MEGATRON_OPTIONS, 'micro_batch_size_per_gpu', 'data.train_batch_size', 'max_length'];
  listUnmappedTree(tree, '', new Set(mapped), facts);
  return facts;
}

function hasOverride({ args }: Job): boolean {
  return args.some((arg) => /^\+{0,2}(actor_rollout_ref|critic)\./.test(textOf(arg) ?? ''));
}

/** The configuration that `--config-path` and `--config-name` name, where it can be read. */
function namedConfiguration(options: Options, context: LaunchContext): TreeMap | null {
  const [name, path] = ['config_name', 'config_path'].map((one) =>
    options.has(one) ? options.string(one) : undefined,
  );
  if (!isKnown(name)) {
    return null;
  }
  const folder = isKnown(path) ? `${path.value}/` : 'verl/trainer/config/';
  return context.findTree(`${folder}${name.value.replace(/\.yaml$/, '')}.yaml`)?.tree ?? null;
}

function readVerl(tree: TreeMap, blocked: string | null, configuration: string): Facts {
  const facts = new Facts();
  const trainer = optionsOf(at(tree, 'trainer'), blocked);
  const otherwise = worldByDefault(DEFAULTS.verl);
  setWorld(facts, {
    nodes: trainer.integer('nnodes') ?? otherwise.nodes,
    perNode: trainer.integer('n_gpus_per_node') ?? otherwise.perNode,
  });
  const strategy = textAtPath(tree, `${ACTOR}.strategy`) ?? textAtPath(tree, 'model_engine');
  const megatron = at(tree, `${ACTOR}.megatron`);
  if (
    strategy === 'megatron' ||
    (strategy === null && (megatron !== undefined || configuration.includes('megatron')))
  ) {
    readMegatronRole(megatron, blocked, facts);
    readReference(tree, facts);
    readCritic(tree, blocked, facts);
  } else {
    readFsdpRole(tree, blocked, facts);
  }
  readRollout(tree, blocked, facts);
  readBatch(tree, facts);
  readKeys(tree, [[MODEL, 'model.from', 'text']], facts);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', MAPPED, facts);
  return facts;
}

/** What is generated in a step, and how it is trained on. */
const ROLLOUT_KEYS: KeyMap = [
  ['data.train_batch_size', 'rl.prompts_per_step', 'integer'],
  [`${ROLLOUT}.n`, 'rl.samples_per_prompt', 'integer'],
  [`${ACTOR}.ppo_mini_batch_size`, 'rl.mini_batch_size', 'integer'],
  [`${ACTOR}.use_dynamic_bsz`, 'rl.dynamic_batch', 'boolean'],
  ['data.max_prompt_length', 'rl.max_prompt_length', 'integer'],
  ['data.max_response_length', 'rl.max_response_length', 'integer'],
  [`${ROLLOUT}.gpu_memory_utilization`, 'phases.rollout.memory_share', 'number'],
];

const MAPPED: ReadonlySet<string> = new Set([
  ...MEGATRON_OPTIONS,
  ...[MODEL, 'nnodes', 'n_gpus_per_node', 'strategy', `${ROLLOUT}.name`, ...engineOptions(`${ROLLOUT}.`)],
  ...ROLLOUT_KEYS.map(([path]) => path),
  ...['ppo_micro_batch_size_per_gpu', `${ACTOR}.fsdp_config.fsdp_size`, `${ACTOR}.${ULYSSES}`],
]);

/** The options of a role: its own, with what goes to Megatron's transformer configuration. */
function roleOptions(megatron: Tree | undefined, blocked: string | null): Options {
  const entries = new Map([
    ...optionsOf(at(megatron, 'override_transformer_config')).entries,
    ...optionsOf(at(megatron, 'override_ddp_config')).entries,
    ...optionsOf(megatron).entries,
  ]);
  return new Options(entries, blocked);
}

function readMegatronRole(megatron: Tree | undefined, blocked: string | null, facts: Facts): void {
  readMegatron(roleOptions(megatron, blocked), DIALECT, facts);
}

const ROLE_KEYS = ['tp', 'pp', 'cp', 'ep', 'expt_tp', 'vpp'] as const;

/** The reference model takes the actor's degrees for those that it is not given (verl/trainer/config/ref/megatron_ref.yaml). */
function readReference(tree: TreeMap, facts: Facts): void {
  const given = at(tree, 'actor_rollout_ref.ref.megatron');
  if (!given) {
    return;
  }
  const own = new Facts();
  readMegatron(roleOptions(given, 'the actor'), DIALECT, own);
  for (const key of ROLE_KEYS) {
    const found = own.get(`parallelism.${key}`);
    const actor = facts.get(`parallelism.${key}`);
    const inherited: Found | undefined = isKnown(actor) ? { value: actor.value, source: 'default' } : actor;
    facts.set(`phases.reference.${key}`, isKnown(found) ? found : inherited);
  }
  facts.set('phases.reference.engine', { value: 'megatron', source: 'default' });
}

function readCritic(tree: TreeMap, blocked: string | null, facts: Facts): void {
  const given = at(tree, 'critic.megatron');
  if (!given) {
    return;
  }
  const own = new Facts();
  readMegatron(roleOptions(given, blocked), DIALECT, own);
  for (const key of ROLE_KEYS) {
    facts.set(`phases.critic.${key}`, own.get(`parallelism.${key}`));
  }
  facts.set('phases.critic.engine', { value: 'megatron', source: 'default' });
}

/** FSDP has no tensor or pipeline parallelism; sequences are spread by Ulysses. */
function readFsdpRole(tree: TreeMap, blocked: string | null, facts: Facts): void {
  const actor = optionsOf(at(tree, ACTOR));
  const sharding = optionsOf(at(tree, `${ACTOR}.fsdp_config`), blocked);
  const given = [actor, sharding].find((options) => options.has(ULYSSES))?.integer(ULYSSES);
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

function readRollout(tree: TreeMap, blocked: string | null, facts: Facts): void {
  const rollout = optionsOf(at(tree, ROLLOUT), blocked);
  facts.set('phases.rollout.engine', rollout.has('name') ? rollout.string('name') : undefined);
  readEngine(rollout, 'rollout', facts);
  if (blocked !== null) {
    facts.set('phases.rollout.tp', facts.get('phases.rollout.tp') ?? { unknown: blocked });
    return;
  }
  facts.takeDefaults(DEFAULTS.verlRollout);
}

function readBatch(tree: TreeMap, facts: Facts): void {
  readKeys(tree, ROLLOUT_KEYS, facts);
  const dynamic = textAtPath(tree, `${ACTOR}.use_dynamic_bsz`);
  if (dynamic !== 'true') {
    readKeys(tree, [[`${ACTOR}.ppo_micro_batch_size_per_gpu`, 'batch.micro_batch_size', 'integer']], facts);
  }
}
