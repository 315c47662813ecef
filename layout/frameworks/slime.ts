import { hasFlag, type Job, worldByDefault } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { listUnmapped, type OptionRow, pathsIn, readOptions } from '../launch/optionRows';
import { Options } from '../launch/options';
import { at, itemsOf, optionsOf, textAtPath } from '../launch/sources/tree';
import { type Defaults, derived, Facts, isKnown, ONE } from '../launch/value';
import { deriveFromWorld, deriveGlobalBatch, setWorld } from '../launch/world';
import { CORE_EXPERTS, CORE_VALUES, ROLE_KEYS } from './megatronDefaults';
import { type Dialect, MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from './megatronOptions';
import { engineOptions, readEngine } from './serving';

const DEFAULTS: Defaults = {
  framework: 'slime',
  version: 'main 624b824a89',
  source: 'slime/utils/arguments.py, slime/backends/megatron_utils/arguments.py',
  values: {
    ...CORE_VALUES,
    'optimizer.use_distributed_optimizer': true,
    'model.params_dtype': 'bf16',
    'batch.micro_batch_size': 1,
    'sequence.seq_length': 4096,
    'phases.rollout.tp': 1,
  },
  withExperts: CORE_EXPERTS,
  world: { nodes: 1, perNode: 8 },
};

const DIALECT: Dialect = { defaults: DEFAULTS, switches: 'bare', expertTpIsTp: true };

/** The file with options of the roles. */
const ROLES = 'megatron_config_path';

const OWN = [
  ...[
    ...['hf_checkpoint', 'use_dynamic_batch_size', 'sglang_mem_fraction_static', 'sglang_context_length'],
    ...['advantage_estimator', ROLES],
    'actor_num_nodes',
    'actor_num_gpus_per_node',
    'rollout_num_gpus',
    'rollout_num_gpus_per_engine',
    'colocate',
  ],
  ...engineOptions('sglang_'),
];

/** Flags by which a command is one of slime's. */
const SIGNS = [
  ...['--actor-num-nodes', '--actor-num-gpus-per-node', '--colocate', '--num-rollout', '--rollout-batch-size'],
  ...['--rollout-num-gpus', '--rollout-num-gpus-per-engine', '--rollout-max-response-len'],
];

/** slime: Megatron-LM's flags for the trainer, SGLang engines for the rollout (slime/utils/arguments.py). */
export const slime: LaunchFamily<'slime'> = {
  name: 'slime',
  command: {
    evidence: (job) => (isConverter(job) || (job.program === 'python' && hasFlag(job, ...SIGNS)) ? 'own' : null),
    read: (job, context) => (isConverter(job) ? readConverter(job) : readTrainer(job, context)),
  },
};

function isConverter({ script }: Job): boolean {
  return /(^|\/)convert_hf_to_torch_dist\.py$/.test(script ?? '');
}

function readTrainer(job: Job, context: LaunchContext): Facts {
  const facts = new Facts();
  const given = readFlags(job.args, job.place, {
    switches: new Set([...MEGATRON_SWITCHES, 'colocate', 'use_dynamic_batch_size']),
  }).options;
  const options = roleOptions(given, 'actor', context, facts);
  readMegatron(options, DIALECT, facts);
  readCritic(given, context, facts);
  facts.set('model.from', options.given.string('hf_checkpoint'));
  // forced, whatever the flags say (slime/backends/megatron_utils/arguments.py)
  facts.set('optimizer.use_distributed_optimizer', { value: true, source: 'default' });
  const otherwise = worldByDefault(DEFAULTS);
  setWorld(facts, {
    nodes: options.integer('actor_num_nodes') ?? otherwise.nodes,
    perNode: options.integer('actor_num_gpus_per_node') ?? otherwise.perNode,
  });
  deriveFromWorld(facts);
  setRollout(options, facts);
  setSamples(options, facts);
  deriveGlobalBatch(facts);
  listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...OWN, ...pathsIn(SAMPLES)]), facts);
  return facts;
}

/** The options of a role: the command's, and above them those that the file of `--megatron-config-path` has for it. */
function roleOptions(given: Options, role: 'actor' | 'critic', context: LaunchContext, facts: Facts): Options {
  const path = given.given.string(ROLES);
  if (!isKnown(path)) {
    return path ? new Options(given.entries, path.unknown) : given;
  }
  const tree = context.findTree(path.value)?.tree;
  if (!tree) {
    facts.noteMissing({ missing: `file ${path.value}` });
    return new Options(given.entries, { missing: `file ${path.value}` });
  }
  const entry = itemsOf(at(tree, 'megatron')).find((one) => textAtPath(one, 'role') === role);
  const overrides = optionsOf(at(entry, 'overrides') ?? at(entry, 'args'));
  return new Options(new Map([...given.entries, ...overrides.entries]), given.blocked);
}

/** Where advantages are estimated with a critic, it has as many GPUs as the actor, and its options (slime/utils/arguments.py). */
function readCritic(given: Options, context: LaunchContext, facts: Facts): void {
  const estimator = given.given.string('advantage_estimator');
  if (!isKnown(estimator) || estimator.value !== 'ppo') {
    return;
  }
  const own = new Facts();
  readMegatron(roleOptions(given, 'critic', context, facts), DIALECT, own);
  for (const key of ROLE_KEYS) {
    facts.set(`phases.critic.${key}`, own.get(`parallelism.${key}`));
  }
  facts.set('phases.critic.engine', { value: 'megatron', source: 'default' });
}

/** slime's converter of Hugging Face checkpoints, which has a grid of its own. */
function readConverter(job: Job): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place, { switches: MEGATRON_SWITCHES });
  readMegatron(options, DIALECT, facts);
  setWorld(facts, job.world);
  spreadOverWorld(facts);
  // the converter sets both, whatever the flags say
  facts.set('batch.micro_batch_size', ONE);
  facts.set('batch.global_batch_size', facts.get('world_size'));
  listUnmapped(options, MEGATRON_OPTIONS, facts);
  return facts;
}

/**
 * Without a pipeline the converter makes the world one, halved while the last stage would have no layer, and gives the last stage
 * what is left (`get_args` in tools/convert_hf_to_torch_dist.py).
 */
function spreadOverWorld(facts: Facts): void {
  const [world, layers] = [facts.get('world_size'), facts.get('model.num_layers')];
  if (facts.number('parallelism.pp') !== 1 || !isKnown(world) || world.value === 1) {
    return;
  }
  const stages = derived([world, layers ?? { unknown: 'num_layers' }], stagesOver, 'pp of the converter');
  facts.set('parallelism.pp', stages);
  const last = derived([layers, stages], lastStage, 'the layers of the last stage');
  const isEven =
    isKnown(last) && isKnown(layers) && isKnown(stages) && last.value * Number(stages.value) === layers.value;
  facts.set('model.num_layers_in_last_pipeline_stage', isEven ? undefined : last);
  if (isKnown(stages)) {
    facts.note(`The converter makes pp ${stages.value} of ${world.value} ranks: pp 1 means the world to it.`);
  }
}

function stagesOver(world: number, layers: number): number | null {
  const halves = [world];
  for (let size = world; size % 2 === 0; size /= 2) {
    halves.push(size / 2);
  }
  return halves.find((size) => lastStage(layers, size) > 0) ?? null;
}

function lastStage(layers: number, stages: number): number {
  return layers - Math.ceil(layers / stages) * (stages - 1);
}

/** What is generated in a step, and how it is trained on. */
const SAMPLES: readonly OptionRow[] = [
  ['rl.prompts_per_step', 'rollout_batch_size', 'integer'],
  ['rl.samples_per_prompt', 'n_samples_per_prompt', 'integer'],
  ['rl.updates_per_step', 'num_steps_per_rollout', 'integer'],
  ['rl.max_tokens_per_gpu', 'max_tokens_per_gpu', 'integer'],
  ['rl.max_prompt_length', 'rollout_max_prompt_len', 'integer'],
  ['rl.max_response_length', 'rollout_max_response_len', 'integer'],
];

/** Sets the samples of a step; with a number of updates they make the global batch (slime/utils/arguments.py). */
function setSamples(options: Options, facts: Facts): void {
  readOptions(options, SAMPLES, facts);
  facts.set('rl.dynamic_batch', options.flag('use_dynamic_batch_size'));
  facts.set('rl.colocated', options.flag('colocate'));
  const length = 'sglang_context_length';
  facts.set('phases.rollout.max_model_len', options.given.integer(length));
  const share = 'sglang_mem_fraction_static';
  facts.set('phases.rollout.memory_share', options.given.number(share));
  const parts = [
    facts.get('rl.prompts_per_step'),
    facts.get('rl.samples_per_prompt') ?? ONE,
    facts.get('rl.updates_per_step'),
  ];
  const batch = derived(
    parts,
    (prompts, samples, updates) => Math.floor((prompts * samples) / updates),
    'global_batch_size',
  );
  facts.derive('batch.global_batch_size', batch);
}

/** The engines: on the trainer's GPUs, or on GPUs of their own behind them; none where it is not known which those are. */
function setRollout(options: Options, facts: Facts): void {
  const colocated = options.flag('colocate');
  const world = facts.get('world_size');
  const gpus = options.given.integer('rollout_num_gpus');
  if (!colocated && (!gpus || options.blocked !== null)) {
    return;
  }
  facts.set('phases.rollout.engine', { value: 'sglang', source: 'default' });
  readEngine(options, 'rollout', facts, 'sglang_');
  // an engine's pipeline stages share its GPUs (slime/backends/sglang_utils/arguments.py)
  const perEngine = options.integer('rollout_num_gpus_per_engine') ?? ONE;
  const stages = facts.get('phases.rollout.pp') ?? ONE;
  const share = (ranks: number, pp: number) => (ranks % pp === 0 ? ranks / pp : null);
  facts.set('phases.rollout.tp', derived([perEngine, stages], share, 'pp does not divide rollout_num_gpus_per_engine'));
  if (colocated) {
    facts.set('phases.rollout.num_ranks', gpus ?? derived([world], (ranks) => ranks, 'world_size'));
    return;
  }
  facts.set('rl.rollout_gpus', gpus);
  facts.set('rl.gpus_per_engine', options.integer('rollout_num_gpus_per_engine'));
  facts.note('The rollout has GPUs of its own, beside the world of the trainer.');
}
