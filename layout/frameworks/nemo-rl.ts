import type { Job } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { LayoutWriter } from '../launch/layoutWriter';
import { defaultsOf, listUnmappedTree, type OptionRow, pathsIn, readRows } from '../launch/optionRows';
import { isOn, Options } from '../launch/options';
import { type Inherited, inherited } from '../launch/sources/inheritance';
import { applyOverrides, resolveReferences } from '../launch/sources/omegaconf';
import { at, emptyMap, itemsOf, optionsOf, type Tree, type TreeMap, textAtPath } from '../launch/sources/tree';
import { derived, Facts, type FactValue, type Found, isKnown, mapFound, ONE, type Reason } from '../launch/value';
import { deriveFromWorld, setWorld } from '../launch/world';
import { type CheckpointFact, type Framework, parallelDegree, type Sizes, sized } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { type Dialect, MEGATRON_OPTIONS, megatronName, readMegatron } from './megatronOptions';
import { readEngine } from './serving';

/** The driver has the one data loader. */
const DATA: CheckpointFact = {
  parts: ['data'],
  outcome: 'loads',
  because: 'the driver keeps the state of its data loader (train_dataloader.pt), and no layout changes it.',
  source: 'NVIDIA-NeMo/RL nemo_rl/algorithms/grpo.py',
};

const NEMO_RL = {
  name: 'nemo-rl',
  title: 'NeMo-RL',
  revision: '7ea279abfb',
  source: 'NVIDIA-NeMo/RL',
  weightUpdates: {
    apart: 'first',
    source:
      '`refit_policy_generation` in nemo_rl/algorithms/grpo.py, `packed_broadcast_producer` in nemo_rl/utils/packed_tensor.py (NVIDIA-NeMo/RL at 7ea279abfb)',
  },
} as const;

const READS =
  'Recipes with what they inherit, and runs of `run_grpo.py` and its kin with overrides: degrees under `policy.megatron_cfg` or `policy.dtensor_cfg`, the engine under `policy.generation`, `num_prompts_per_step` and `num_generations_per_prompt`, padding of packed sequences, the teacher. The world is the cluster less what generation has for itself.';

/** Rules that hold whatever trains. */
const OWN: readonly string[] = ['nemo-rl-batch'];

/** NeMo-RL on Megatron Core. It cuts its micro-batches itself (nemo_rl/models/policy). */
export const nemoRl: Framework = {
  ...NEMO_RL,
  ...MEGATRON_RANKS,
  core: { version: 'main', source: 'the submodule of its Megatron Bridge at 14346b65a2' },
  dividesWords: (_, sizes, world) => worldWords(sizes, world),
  rules: { own: OWN, megatron: 'core', except: ['global-batch'] },
  checkpoint: [
    {
      parts: ['rng'],
      outcome: 'lost',
      because: 'NeMo-RL loads none (`load_rng=False`).',
      source: 'NVIDIA-NeMo/RL nemo_rl/models/megatron/setup.py',
    },
    DATA,
  ],
  // its checkpoint section forwards none of these
  checkpointOptions: { '--dist-ckpt-optim-fully-reshardable': null, '--no-load-optim': null, '--no-load-rng': null },
  reads: READS,
  notes: [
    'With `tp` of 4 or more, `train_micro_batch_size` and `logprob_batch_size` that differ are refused for their accuracy; layouts have no key for the second.',
  ],
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: nemo-rl}\nparallelism: {tp: 2, cp: 2}\nsequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 8}\n',
};

/** NeMo-RL on DTensor: `Policy.__init__` in nemo_rl/models/policy/lm_policy.py. */
export const nemoRlDtensor: Framework = {
  ...NEMO_RL,
  engine: 'fsdp',
  world: {
    degrees: [parallelDegree('tp'), parallelDegree('cp'), parallelDegree('dp', 'rest')],
    predicts: worldWords,
    expertTp: 1,
  },
  meshes: [
    {
      axes: ['tp', 'cp', 'dp'].map(sized),
      groups: [
        { name: 'tp', carries: 'activations of every layer' },
        { name: 'cp', carries: 'keys and values of attention' },
        { name: 'dp', carries: 'which ranks read which data' },
        { name: 'dp_cp', axes: ['cp', 'dp'], carries: 'shards of parameters and gradients' },
      ],
    },
  ],
  rules: { own: [...OWN, 'framework-world'], megatron: 'none' },
  checkpoint: [
    {
      parts: ['model', 'optimizer'],
      outcome: 'loads',
      because:
        'the Checkpointer of NeMo Automodel saves them through torch.distributed.checkpoint, which reshards them.',
      source: 'NVIDIA-NeMo/RL nemo_rl/models/automodel/checkpoint.py AutomodelCheckpointManager',
    },
    {
      parts: ['rng'],
      outcome: 'lost',
      because: 'none are saved.',
      source: 'NVIDIA-NeMo/RL nemo_rl/models/automodel/checkpoint.py AutomodelCheckpointManager',
    },
    DATA,
  ],
  reads: READS,
  example:
    'layout: 1\ncluster: {nodes: 2, gpus_per_node: 8}\nlaunch: {family: nemo-rl, engine: fsdp}\nparallelism: {tp: 2, cp: 2}\n',
};

function worldWords({ tp = 1, cp = 1, pp = 1 }: Sizes, world: number): string {
  const product = tp * cp * pp;
  const ratio = world / product;
  return world < product
    ? `World size (${world}) is insufficient for the parallelism configuration. Required minimum world size: PP(${pp}) * CP(${cp}) * TP(${tp}) = ${product}. This would result in DP = ${world}/${product} = ${ratio.toFixed(3)}, but DP must be ≥ 1. Please either increase the number of GPUs/nodes or reduce the parallelism parameters.`
    : `World size (${world}) must be divisible by PP * CP * TP (${product}). The data parallel size (DP = world_size / (PP * CP * TP)) must be a positive integer. Current DP would be ${world}/${product} = ${ratio.toFixed(6)}, which is not an integer. Please adjust your cluster size or parallelism parameters.`;
}

const DEFAULTS = /* @__PURE__ */ defaultsOf(NEMO_RL, 'examples/configs/grpo_math_1B.yaml', {});

const DIALECT: Dialect = {
  defaults: DEFAULTS,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  groupsAlone: true,
  keepsSequenceParallel: true,
};

/** NeMo-RL: recipes with what they inherit, and runs such as `run_grpo.py --config recipe.yaml key=value`. */
export const nemoRlLaunch: LaunchFamily<'nemo-rl'> = {
  name: 'nemo-rl',
  command: {
    evidence: (job) => (job.program === 'python' && isRun(job) ? 'own' : null),
    read(job, context) {
      const { options } = readFlags(job.args, job.place, { overrides: true });
      const given = options.given.string('config');
      const path = isKnown(given) ? given.value : given ? null : ownConfiguration(job);
      const found = path === null ? null : context.findTree(path);
      const missing = path === null ? 'the configuration of the script' : { missing: `file ${path}` };
      const base = found ? whole(found, context) : { tree: emptyMap(job.place), missing };
      return readNemoRl(applyOverrides(base.tree, overridesOf(options)), base.missing);
    },
  },
  document: {
    evidence({ tree }) {
      const has = (path: string) => at(tree, path) !== undefined;
      if (has('policy.megatron_cfg') || has('policy.dtensor_cfg') || has('policy.generation.vllm_cfg')) {
        return 'own';
      }
      const isChild = has('defaults') && (has('policy') || has('cluster') || has('grpo'));
      return (has('policy') && has('cluster.gpus_per_node')) || inheritsFile(tree) || isChild ? 'configuration' : null;
    },
    read(document, context) {
      const { tree, missing } = whole(document, context);
      return readNemoRl(tree, missing);
    },
  },
};

/** The configurations that NeMo-RL's scripts take by themselves, by their names (examples/run_*.py). */
const OWN_CONFIGURATIONS: Readonly<Record<string, string>> = {
  run_grpo: 'grpo_math_1B',
  run_sft: 'sft',
  run_dpo: 'dpo',
  run_rm: 'rm',
  run_ppo: 'ppo_math_1B',
  run_eval: 'evals/eval',
  run_vlm_grpo: 'vlm_grpo_3B',
  run_distillation: 'distillation_math',
  run_grpo_sliding_puzzle: 'grpo_sliding_puzzle',
  run_xtoken_off_policy_distillation: 'xtoken_off_policy_distillation',
};

function ownConfiguration({ script }: Job): string | null {
  const name = /(?:^|\/)(\w{1,64})\.py$/.exec(script ?? '')?.[1] ?? '';
  return Object.hasOwn(OWN_CONFIGURATIONS, name) ? `examples/configs/${OWN_CONFIGURATIONS[name]}.yaml` : null;
}

/** Whether `defaults` names files, as NeMo-RL's does; Hydra's names groups, without a suffix. */
function inheritsFile(tree: TreeMap): boolean {
  const paths = itemsOf(at(tree, 'defaults'));
  return paths.length > 0 && paths.every((path) => path.kind === 'scalar' && /\.ya?ml$/.test(String(path.value)));
}

function isRun({ script, args }: Job): boolean {
  return (
    /(^|\/)run_(grpo|sft|dpo|rm|distillation|vlm|async|prorl|opd|ppo|eval)\w*\.py$/.test(script ?? '') ||
    (/nemo_rl/.test(script ?? '') && args.length > 0)
  );
}

function overridesOf({ entries }: Options): Options['entries'] {
  return new Map([...entries].filter(([name]) => name.includes('.')));
}

/** A configuration over what its `defaults` name. */
function whole(found: { readonly tree: TreeMap; readonly file: string }, context: LaunchContext): Inherited {
  return inherited(found, 'defaults', 'file', (path, from) => context.findTree(path, from));
}

function readNemoRl(unresolved: TreeMap, missing: Reason | null): Facts {
  const facts = new Facts();
  const tree = resolveReferences(unresolved);
  const enabled = textAtPath(tree, 'policy.megatron_cfg.enabled');
  if (enabled === 'true') {
    readMegatronRole(at(tree, 'policy.megatron_cfg'), missing, facts);
  } else if (enabled === 'false' || textAtPath(tree, 'policy.dtensor_cfg.enabled') === 'true') {
    readDtensor(tree, facts);
  } else if (missing !== null) {
    readEither(tree, missing, facts);
  }
  readRows(tree, [...POLICY_OPTIONS, ...STEP_OPTIONS], facts);
  readGeneration(tree, facts);
  readTeacher(tree, facts);
  readValue(tree, facts);
  readWorld(tree, missing, facts);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', MAPPED, facts);
  if (missing !== null) {
    facts.noteMissing(missing);
  }
  return facts;
}

const POLICY_OPTIONS: readonly OptionRow[] = [
  ['batch.micro_batch_size', 'policy.train_micro_batch_size', 'integer'],
  ['batch.global_batch_size', 'policy.train_global_batch_size', 'integer'],
  ['sequence.seq_length', 'policy.max_total_sequence_length', 'integer'],
  ['model.params_dtype', 'policy.precision', 'type'],
  ['model.from', 'policy.model_name', 'text'],
  ['sequence.pad_multiple', 'policy.make_sequence_length_divisible_by', 'integer'],
  ['rl.max_prompt_length', 'data.max_input_seq_length', 'integer'],
  ['rl.max_response_length', 'policy.generation.max_new_tokens', 'integer'],
  ['rl.colocated', 'policy.generation.colocated.enabled', 'boolean'],
];

/** The samples of a step, by the section of the algorithm. */
const stepOptions = (algorithm: string): readonly OptionRow[] => [
  ['rl.prompts_per_step', `${algorithm}.num_prompts_per_step`, 'integer'],
  ['rl.samples_per_prompt', `${algorithm}.num_generations_per_prompt`, 'integer'],
];

const STEP_OPTIONS = ['grpo', 'distillation', 'ppo'].flatMap(stepOptions);

/** The sizes of the engine on PyTorch alone. */
const DTENSOR_OPTIONS: readonly OptionRow[] = [
  ['parallelism.tp', 'policy.dtensor_cfg.tensor_parallel_size', 'integer'],
  ['parallelism.cp', 'policy.dtensor_cfg.context_parallel_size', 'integer'],
  ['parallelism.ep', 'policy.dtensor_cfg.expert_parallel_size', 'integer'],
  ['sequence.sequence_parallel', 'policy.dtensor_cfg.sequence_parallel', 'boolean'],
];

/** The keys of the recipe's Megatron engine, which takes them under Megatron's names. */
const MEGATRON_KEYS = [
  ...(['tp', 'pp', 'vpp', 'cp', 'ep', 'expt_tp'] as const).map((name) => `parallelism.${name}` as const),
  ...(['sequence.sequence_parallel', 'moe.moe_token_dispatcher_type'] as const),
  ...(['first', 'last'] as const).map((end) => `model.num_layers_in_${end}_pipeline_stage` as const),
];

/** Where the recipe has a key of its Megatron engine: fields that it has no name for are those of the model in Megatron Bridge. */
function sectionOf(key: (typeof MEGATRON_KEYS)[number]): string {
  return key === 'parallelism.vpp' ? `policy.megatron_cfg.${OVERRIDES}` : 'policy.megatron_cfg';
}

const OVERRIDES = 'model_overrides';

const BACKEND: readonly OptionRow[] = [['phases.rollout.engine', 'policy.generation.backend', 'text']];

/** The degrees of the engine that generates, by its section; other names of the engines are read too. */
const ENGINES = {
  vllm_cfg: [
    ['phases.rollout.tp', 'tensor_parallel_size', 'integer'],
    ['phases.rollout.pp', 'pipeline_parallel_size', 'integer'],
    ['phases.rollout.ep', 'expert_parallel_size', 'integer'],
    ['phases.rollout.max_model_len', 'max_model_len', 'integer'],
    ['phases.rollout.memory_share', 'gpu_memory_utilization', 'number'],
  ],
  sglang_cfg: [
    ['phases.rollout.tp', 'tp_size', 'integer'],
    ['phases.rollout.dp', 'dp_size', 'integer'],
    ['phases.rollout.pp', 'pp_size', 'integer'],
    ['phases.rollout.ep', 'ep_size', 'integer'],
    ['phases.rollout.max_model_len', 'context_length', 'integer'],
    ['phases.rollout.memory_share', 'mem_fraction_static', 'number'],
  ],
} as const satisfies Readonly<Record<string, readonly OptionRow[]>>;

/** The options of an engine with their whole paths. */
const engineRows = (section: keyof typeof ENGINES): readonly OptionRow[] =>
  ENGINES[section].map(([key, name, kind]) => [key, `policy.generation.${section}.${name}`, kind]);

/** Degrees of another model than the policy, under the names of its engine. */
const roleRows = (phase: 'teacher' | 'critic', section: string, isMegatron: boolean): readonly OptionRow[] =>
  isMegatron
    ? (['tp', 'cp', 'pp', 'ep'] as const).map((key) => [
        `phases.${phase}.${key}`,
        `${section}.megatron_cfg.${megatronName(`parallelism.${key}`)}`,
        'integer',
      ])
    : (['tp', 'cp'] as const).map((key) => [
        `phases.${phase}.${key}`,
        `${section}.dtensor_cfg.${key === 'tp' ? 'tensor' : 'context'}_parallel_size`,
        'integer',
      ]);

/** The batches of the critic. */
const VALUE_OPTIONS: readonly OptionRow[] = [
  ['phases.critic.global_batch_size', 'value.train_global_batch_size', 'integer'],
  ['phases.critic.micro_batch_size', 'value.train_micro_batch_size', 'integer'],
];

/** What generation has for itself, of the nodes and of the GPUs of each. */
const RESOURCES = 'policy.generation.colocated.resources';

const MAPPED = pathsIn(
  [...POLICY_OPTIONS, ...STEP_OPTIONS, ...DTENSOR_OPTIONS, ...VALUE_OPTIONS, ...roleRows('critic', 'value', false)],
  ...[...engineRows('vllm_cfg'), ...engineRows('sglang_cfg')].map(([, path]) => path),
  // `fp8` stands under `fp8_cfg`, which has a switch of its own
  ...[...MEGATRON_OPTIONS].filter((name) => name !== 'fp8'),
  ...['cluster.num_nodes', 'cluster.gpus_per_node', 'enabled', 'context_parallel_size', 'activation_checkpointing'],
  ...[`${RESOURCES}.num_nodes`, `${RESOURCES}.gpus_per_node`],
);

/** The options of a Megatron role, its optimizer and its data-parallel settings. */
function readMegatronRole(role: Tree | undefined, missing: Reason | null, facts: Facts): void {
  const entries = new Map([
    ...optionsOf(at(role, 'distributed_data_parallel_config')).entries,
    ...optionsOf(at(role, 'optimizer')).entries,
    ...optionsOf(role).entries,
    ...optionsOf(at(role, OVERRIDES)).entries,
  ]);
  // the optimizer's params_dtype and bf16 are those of its states
  for (const name of ['params_dtype', 'bf16', 'fp16']) {
    entries.delete(name);
  }
  const checkpointing = optionsOf(role).boolean('activation_checkpointing');
  if (!isOn(checkpointing)) {
    // recomputation is set up in advance and takes effect with activation_checkpointing alone
    for (const name of ['recompute_granularity', 'recompute_method', 'recompute_num_layers', 'recompute_modules']) {
      entries.delete(name);
    }
  }
  readMegatron(new Options(entries, missing), DIALECT, facts);
  if (isOn(checkpointing)) {
    // nemo_rl/models/megatron/setup.py
    facts.setDefault('recompute.granularity', 'full');
    const isFull = facts.get('recompute.granularity');
    if (isKnown(isFull) && isFull.value === 'full') {
      facts.setDefault('recompute.method', 'uniform');
      facts.setDefault('recompute.num_layers', 1);
    }
  }
}

function readDtensor(tree: TreeMap, facts: Facts): void {
  readRows(tree, DTENSOR_OPTIONS, facts);
  facts.setDefault('parallelism.pp', 1);
  facts.engine = 'fsdp';
}

/** Which of the two engines runs is set by a parent that was not found: both degrees count only where they agree. */
function readEither(tree: TreeMap, missing: Reason, facts: Facts): void {
  const megatron = at(tree, 'policy.megatron_cfg');
  const dtensor = at(tree, 'policy.dtensor_cfg');
  if (megatron && !dtensor) {
    readMegatronRole(megatron, missing, facts);
  } else if (dtensor && !megatron) {
    readDtensor(tree, facts);
    facts.delete('parallelism.pp');
  }
}

function readGeneration(tree: TreeMap, facts: Facts): void {
  const backend = textAtPath(tree, 'policy.generation.backend');
  readRows(tree, BACKEND, facts);
  const section = engineSection(backend);
  readRows(tree, engineRows(section), facts);
  readEngine(optionsOf(at(tree, `policy.generation.${section}`)), 'rollout', facts);
  const packing = optionsOf(at(tree, 'policy.sequence_packing'));
  const isPacked = packing.given.boolean('enabled');
  if (isOn(isPacked)) {
    facts.set(
      'sequence.qkv_format',
      mapFound(isPacked, () => 'thd'),
    );
  }
}

function readTeacher(tree: TreeMap, facts: Facts): void {
  const enabled = textAtPath(tree, 'teacher.megatron_cfg.enabled') === 'true';
  readRows(tree, roleRows('teacher', 'teacher', enabled), facts);
}

/** The value model of PPO, which is its critic (nemo_rl/models/value/lm_value.py). */
function readValue(tree: TreeMap, facts: Facts): void {
  if (!at(tree, 'value')) {
    return;
  }
  const isMegatron = textAtPath(tree, 'value.megatron_cfg.enabled') === 'true';
  facts.set('phases.critic.engine', { value: isMegatron ? 'megatron' : 'fsdp', source: 'default' });
  readRows(tree, [...VALUE_OPTIONS, ...roleRows('critic', 'value', isMegatron)], facts);
}

/** The section of the engine that generates. */
function engineSection(backend: FactValue | null | undefined): keyof typeof ENGINES {
  return backend === 'sglang' ? 'sglang_cfg' : 'vllm_cfg';
}

/** What else has nodes of its own, by the key that says so. */
const RESERVED = [
  ['on_policy_distillation.non_colocated_teachers.enabled', 'the teachers'],
  ['env.reward_model.enabled', 'the reward model'],
  ['env.nemo_gym.num_gpu_nodes', 'the models of NeMo Gym'],
] as const;

/** The trainer's world: the cluster, less what generation has for itself (nemo_rl/algorithms/grpo.py). */
function readWorld(tree: TreeMap, missing: Reason | null, facts: Facts): void {
  const cluster = optionsOf(at(tree, 'cluster'), missing);
  const reserved = RESERVED.find(([path]) => !/^(false|0)?$/.test(textAtPath(tree, path) ?? ''));
  const nodes = reserved ? { unknown: `the nodes less those of ${reserved[1]}` } : cluster.integer('num_nodes');
  const perNode = cluster.integer('gpus_per_node');
  const colocated = textAtPath(tree, 'policy.generation.colocated.enabled');
  if (colocated !== 'false') {
    setWorld(facts, {
      nodes: nodes ?? { unknown: 'cluster.num_nodes' },
      perNode: perNode ?? { unknown: 'cluster.gpus_per_node' },
    });
    return;
  }
  const own = optionsOf(at(tree, RESOURCES));
  const isSingle = isKnown(nodes) && nodes.value === 1;
  // on one node the engines take some of its GPUs, and their number of nodes may be left out
  const ownNodes = isSingle ? ONE : (own.integer('num_nodes') ?? { unknown: 'resources.num_nodes' });
  const ownGpus = own.integer('gpus_per_node') ?? { unknown: 'resources.gpus_per_node' };
  const gpus = derived([ownNodes, ownGpus], (count, each) => count * each, 'rollout_gpus');
  facts.set('rl.rollout_gpus', isKnown(gpus) ? gpus : undefined);
  const engine = optionsOf(at(tree, 'policy.generation.vllm_cfg'));
  const perEngine = derived(
    [engine.integer('tensor_parallel_size'), engine.integer('pipeline_parallel_size') ?? ONE],
    (tp, pp) => tp * pp,
    'gpus_per_engine',
  );
  facts.set('rl.gpus_per_engine', isKnown(gpus) && isKnown(perEngine) ? perEngine : undefined);
  facts.note('Generation has GPUs of its own; the world is that of the trainer.');
  const minus = (all: number, part: number) => all - part;
  const left = isSingle
    ? { nodes, perNode: derived([perNode, ownGpus], minus, 'gpus_per_node') }
    : { nodes: derived([nodes, ownNodes], minus, 'num_nodes'), perNode };
  setWorld(facts, left);
  const refusal = refusedPlacement(isSingle, left, perNode, ownGpus);
  if (refusal !== null) {
    facts.note(`NeMo-RL stops: ${refusal}`);
  }
}

/** What `setup` in nemo_rl/algorithms/grpo.py says of GPUs that generation cannot have for itself; null where it can. */
function refusedPlacement(
  isSingle: boolean,
  left: { readonly nodes: Found<number> | undefined; readonly perNode: Found<number> | undefined },
  perNode: Found<number> | undefined,
  ownGpus: Found<number>,
): string | null {
  const number = (found: Found<number> | undefined) => (isKnown(found) ? found.value : undefined);
  const [all, own] = [number(perNode), number(ownGpus)];
  const [nodes = 1, each = 1] = [number(left.nodes), number(left.perNode)];
  if (isSingle) {
    return each > 0
      ? null
      : `No enough GPUs for training, train_gpus_per_node:${each} = cluster_config['gpus_per_node']:${all} - inference_gpus_per_node:${own}`;
  }
  if (all !== undefined && own !== undefined && own !== all) {
    return `${RESOURCES}.gpus_per_node must be explicitly set and equal to cluster.gpus_per_node when cluster.num_nodes > 1 and inference is non-colocated, but got inference_gpus_per_node=${own}, cluster.gpus_per_node=${all}.`;
  }
  return nodes > 0
    ? null
    : `Non-colocated mode requires train_nodes > 0 and inference_nodes > 0, got train_nodes=${nodes}`;
}

/** The nodes that generation has for itself, which a recipe counts as a part of the cluster. */
function nodesOfGeneration(writer: LayoutWriter, perNode: number): number {
  const gpus = writer.values.get('rl.colocated')?.value === false ? Number(writer.written('rl.rollout_gpus')) : 0;
  return gpus > 0 && gpus % perNode === 0 ? gpus / perNode : 0;
}

/** A recipe with the engine that the layout trains on. */
export function writeNemoRl(writer: LayoutWriter): string {
  writer.requireHomogeneous('a recipe of NeMo-RL');
  const onDtensor = writer.values.get('launch.engine')?.value === 'fsdp';
  writer.engine = onDtensor ? 'fsdp' : 'megatron';
  const section = engineSection(writer.written('phases.rollout.engine'));
  const [critic, teacher] = [otherRole(writer, 'critic', 'value'), otherRole(writer, 'teacher', 'teacher')];
  const algorithm = critic.length > 0 ? 'ppo' : teacher.length > 0 ? 'distillation' : 'grpo';
  const cluster = writer.cluster();
  const generation = cluster ? nodesOfGeneration(writer, cluster.perNode) : 0;
  writer.derives('parallelism.dp');
  return writer.yaml([
    ...writer.rows([...POLICY_OPTIONS, ...stepOptions(algorithm)]),
    ...(onDtensor ? dtensorRole(writer) : megatronRole(writer)),
    ...(writer.values.get('sequence.qkv_format')?.value === 'thd'
      ? [['policy.sequence_packing.enabled', writer.written('sequence.qkv_format') === 'thd'] as const]
      : []),
    ...writer.rows([...BACKEND, ...engineRows(section)]),
    ...critic,
    ...writer.rows(VALUE_OPTIONS),
    ...teacher,
    ...(cluster
      ? Object.entries({
          'cluster.num_nodes': cluster.nodes + generation,
          'cluster.gpus_per_node': cluster.perNode,
          ...(generation > 0 && {
            [`${RESOURCES}.num_nodes`]: generation,
            [`${RESOURCES}.gpus_per_node`]: cluster.perNode,
          }),
        })
      : []),
  ]);
}

type Settings = readonly (readonly [path: string, value: FactValue])[];

function megatronRole(writer: LayoutWriter): Settings {
  // the recipe's default is 1, not tp
  const expertTp = writer.meant('parallelism.expt_tp');
  return [
    ['policy.megatron_cfg.enabled', true],
    ...MEGATRON_KEYS.flatMap((key) => writer.renamed(key, `${sectionOf(key)}.${megatronName(key)}`)),
    ...(expertTp === undefined ? [] : [['policy.megatron_cfg.expert_tensor_parallel_size', expertTp] as const]),
  ];
}

function dtensorRole(writer: LayoutWriter): Settings {
  writer.derives('parallelism.pp');
  return [
    ['policy.megatron_cfg.enabled', false],
    ['policy.dtensor_cfg.enabled', true],
    ...writer.rows(DTENSOR_OPTIONS),
  ];
}

/** Another model than the policy, where the layout has it: its engine and its degrees. */
function otherRole(writer: LayoutWriter, phase: 'critic' | 'teacher', section: string): Settings {
  if (!writer.hasPhase(phase)) {
    return [];
  }
  const isMegatron = (writer.meant(`phases.${phase}.engine`) ?? 'megatron') === 'megatron';
  return [
    [`${section}.megatron_cfg.enabled`, isMegatron],
    [`${section}.dtensor_cfg.enabled`, !isMegatron],
    ...writer.rows(roleRows(phase, section, isMegatron)),
  ];
}
