import { DEFAULTS } from '../defaults';
import { Facts, type Found, isKnown } from '../facts';
import type { CommandFamily, DocumentFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { type Job, textOf } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { applyOverrides, resolveReferences } from '../omegaconf';
import { firstOf, Options } from '../options';
import { at, optionsOf, parseYamlTree, type Tree, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';

const ACTOR = 'actor_rollout_ref.actor';
const ROLLOUT = 'actor_rollout_ref.rollout';

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
    const base = namedConfiguration(options, context) ?? emptyTree(job);
    const overrides = [...options.entries].filter(([name]) => name.includes('.') || base.entries.has(name));
    const tree = resolveReferences(applyOverrides(base, new Map(overrides)));
    const name = options.string('config_name');
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

function hasOverride({ args }: Job): boolean {
  return args.some((arg) => /^\+{0,2}(actor_rollout_ref|critic)\./.test(textOf(arg) ?? ''));
}

function emptyTree({ place }: Job): TreeMap {
  return { kind: 'map', entries: new Map(), place };
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
  const found = context.find(`${folder}${name.value.replace(/\.yaml$/, '')}.yaml`);
  return found && parseYamlTree(found.file, found.text);
}

function readVerl(tree: TreeMap, blocked: string | null, configuration: string): Facts {
  const facts = new Facts();
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
    readFsdpRole(tree, facts);
  }
  readRollout(tree, blocked, facts);
  readBatch(tree, facts);
  const trainer = optionsOf(at(tree, 'trainer'), blocked);
  setWorld(facts, {
    nodes: trainer.integer('nnodes') ?? { value: 1, source: 'default' },
    perNode: trainer.integer('n_gpus_per_node') ?? { value: 8, source: 'default' },
  });
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', MAPPED, facts);
  return facts;
}

const MAPPED: ReadonlySet<string> = new Set([
  ...MEGATRON_OPTIONS,
  ...[
    'nnodes',
    'n_gpus_per_node',
    'strategy',
    `${ROLLOUT}.name`,
    `${ROLLOUT}.data_parallel_size`,
    `${ROLLOUT}.expert_parallel_size`,
  ],
  ...['ppo_micro_batch_size_per_gpu'],
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
  if (blocked === null) {
    facts.setDefault('optimizer.use_distributed_optimizer', true);
  }
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
function readFsdpRole(tree: TreeMap, facts: Facts): void {
  const ulysses = optionsOf(at(tree, ACTOR));
  const size = ulysses.has('ulysses_sequence_parallel_size')
    ? ulysses.integer('ulysses_sequence_parallel_size')
    : undefined;
  if (isKnown(size) && size.value > 1) {
    facts.note(
      `The actor runs on FSDP with Ulysses sequence parallelism over ${size.value} ranks, for which a layout has no key.`,
    );
  }
}

function readRollout(tree: TreeMap, blocked: string | null, facts: Facts): void {
  const rollout = optionsOf(at(tree, ROLLOUT), blocked);
  const tp = firstOf<number>(rollout.integer('tensor_model_parallel_size'), { value: 2, source: 'default' });
  facts.set('phases.rollout.engine', rollout.has('name') ? rollout.string('name') : undefined);
  facts.set('phases.rollout.tp', tp);
  for (const [name, key] of [
    ['data_parallel_size', 'dp'],
    ['expert_parallel_size', 'ep'],
    ['pipeline_model_parallel_size', 'pp'],
  ] as const) {
    facts.set(`phases.rollout.${key}`, rollout.has(name) ? rollout.integer(name) : undefined);
  }
}

function readBatch(tree: TreeMap, facts: Facts): void {
  const dynamic = textAtPath(tree, `${ACTOR}.use_dynamic_bsz`);
  if (dynamic !== 'true') {
    readKeys(tree, [[`${ACTOR}.ppo_micro_batch_size_per_gpu`, 'batch.micro_batch_size', 'integer']], facts);
  }
}
