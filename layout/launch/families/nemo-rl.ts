import { DEFAULTS } from '../defaults';
import type { CommandFamily, DocumentFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { derived, Facts, isKnown, mapFound, notFound } from '../foundValues';
import { type Inherited, inherited } from '../inheritance';
import type { Job } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { applyOverrides, resolveReferences } from '../omegaconf';
import { isOn, type Options, Options as OptionsOf } from '../options';
import { at, emptyMap, itemsOf, optionsOf, type Tree, type TreeMap, textAtPath } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { type KeyMap, listUnmappedTree, readKeys } from './keys';
import { readEngine } from './serving';

const DIALECT: Dialect = {
  defaults: DEFAULTS.nemoRl,
  switches: 'value',
  expertTpIsTp: false,
  modelElsewhere: true,
  groupsAlone: true,
  keepsSequenceParallel: true,
};

/** NeMo-RL's runs: `run_grpo.py --config recipe.yaml key=value`. */
export const nemoRlCommand: CommandFamily = {
  name: 'nemo-rl',
  matches: (job) => (job.program === 'python' && isRun(job) ? 3 : 0),
  read(job, context) {
    const { options } = readFlags(job.args, job.place, { overrides: true });
    const given = options.has('config') ? options.string('config') : undefined;
    const path = isKnown(given) ? given.value : given ? null : ownConfiguration(job);
    const found = path === null ? null : context.findTree(path);
    const missing = path === null ? 'the configuration of the script' : notFound(`file ${path}`);
    const base = found ? whole(found, context) : { tree: emptyMap(job.place), missing };
    return readNemoRl(applyOverrides(base.tree, overridesOf(options)), base.missing);
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

/** A NeMo-RL recipe with what it inherits (nemo_rl/utils/config.py). */
export const nemoRlDocument: DocumentFamily = {
  name: 'nemo-rl',
  matches: ({ tree }) =>
    at(tree, 'policy.megatron_cfg') !== undefined ||
    at(tree, 'policy.dtensor_cfg') !== undefined ||
    at(tree, 'policy.generation.vllm_cfg') !== undefined ||
    (at(tree, 'policy') !== undefined && at(tree, 'cluster.gpus_per_node') !== undefined) ||
    inheritsFile(tree) ||
    (at(tree, 'defaults') !== undefined &&
      (at(tree, 'policy') !== undefined || at(tree, 'cluster') !== undefined || at(tree, 'grpo') !== undefined)),
  read(document, context) {
    const { tree, missing } = whole(document, context);
    return readNemoRl(tree, missing);
  },
};

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

function readNemoRl(unresolved: TreeMap, missing: string | null): Facts {
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
  readKeys(tree, POLICY_KEYS, facts);
  readGeneration(tree, facts);
  readTeacher(tree, facts);
  readWorld(tree, missing, facts);
  deriveFromWorld(facts);
  listUnmappedTree(tree, '', MAPPED, facts);
  if (missing !== null) {
    facts.noteMissing(missing);
  }
  return facts;
}

const POLICY_KEYS = [
  ['policy.train_micro_batch_size', 'batch.micro_batch_size', 'integer'],
  ['policy.train_global_batch_size', 'batch.global_batch_size', 'integer'],
  ['policy.max_total_sequence_length', 'sequence.seq_length', 'integer'],
  ['policy.precision', 'model.params_dtype', 'type'],
  ['policy.model_name', 'model.from', 'text'],
  ['policy.make_sequence_length_divisible_by', 'sequence.pad_multiple', 'integer'],
  ['grpo.num_prompts_per_step', 'rl.prompts_per_step', 'integer'],
  ['grpo.num_generations_per_prompt', 'rl.samples_per_prompt', 'integer'],
  ['data.max_input_seq_length', 'rl.max_prompt_length', 'integer'],
  ['policy.generation.max_new_tokens', 'rl.max_response_length', 'integer'],
  ['policy.generation.colocated.enabled', 'rl.colocated', 'boolean'],
] as const;

const MAPPED: ReadonlySet<string> = new Set([
  ...MEGATRON_OPTIONS,
  ...POLICY_KEYS.map(([path]) => path),
  ...[
    'cluster.num_nodes',
    'cluster.gpus_per_node',
    'enabled',
    'tensor_parallel_size',
    'context_parallel_size',
    'pipeline_parallel_size',
    'expert_parallel_size',
  ],
]);

/** The options of a Megatron role, its optimizer and its data-parallel settings. */
function readMegatronRole(role: Tree | undefined, missing: string | null, facts: Facts): void {
  const entries = new Map([
    ...optionsOf(at(role, 'distributed_data_parallel_config')).entries,
    ...optionsOf(at(role, 'optimizer')).entries,
    ...optionsOf(role).entries,
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
  readMegatron(new OptionsOf(entries, missing), DIALECT, facts);
}

function readDtensor(tree: TreeMap, facts: Facts): void {
  readKeys(
    tree,
    [
      ['policy.dtensor_cfg.tensor_parallel_size', 'parallelism.tp', 'integer'],
      ['policy.dtensor_cfg.context_parallel_size', 'parallelism.cp', 'integer'],
      ['policy.dtensor_cfg.expert_parallel_size', 'parallelism.ep', 'integer'],
      ['policy.dtensor_cfg.sequence_parallel', 'sequence.sequence_parallel', 'boolean'],
    ],
    facts,
  );
  facts.setDefault('parallelism.pp', 1);
  facts.engine = 'fsdp';
}

/** Which of the two engines runs is set by a parent that was not found: both degrees count only where they agree. */
function readEither(tree: TreeMap, missing: string, facts: Facts): void {
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
  readKeys(tree, [['policy.generation.backend', 'phases.rollout.engine', 'text']], facts);
  const section = backend === 'sglang' ? 'sglang_cfg' : 'vllm_cfg';
  const options = optionsOf(at(tree, `policy.generation.${section}`));
  readEngine(options, 'rollout', facts);
  const share = ['gpu_memory_utilization', 'mem_fraction_static'].find((name) => options.has(name));
  facts.set('phases.rollout.memory_share', share === undefined ? undefined : options.number(share));
  const packing = optionsOf(at(tree, 'policy.sequence_packing'));
  const isPacked = packing.has('enabled') ? packing.boolean('enabled') : undefined;
  if (isOn(isPacked)) {
    facts.set(
      'sequence.qkv_format',
      mapFound(isPacked, () => 'thd'),
    );
  }
}

const MEGATRON_TEACHER: KeyMap = [
  ['teacher.megatron_cfg.tensor_model_parallel_size', 'phases.teacher.tp', 'integer'],
  ['teacher.megatron_cfg.context_parallel_size', 'phases.teacher.cp', 'integer'],
  ['teacher.megatron_cfg.pipeline_model_parallel_size', 'phases.teacher.pp', 'integer'],
  ['teacher.megatron_cfg.expert_model_parallel_size', 'phases.teacher.ep', 'integer'],
];

const DTENSOR_TEACHER: KeyMap = [
  ['teacher.dtensor_cfg.tensor_parallel_size', 'phases.teacher.tp', 'integer'],
  ['teacher.dtensor_cfg.context_parallel_size', 'phases.teacher.cp', 'integer'],
];

function readTeacher(tree: TreeMap, facts: Facts): void {
  const enabled = textAtPath(tree, 'teacher.megatron_cfg.enabled') === 'true';
  readKeys(tree, enabled ? MEGATRON_TEACHER : DTENSOR_TEACHER, facts);
}

/** What else has nodes of its own, by the key that says so. */
const RESERVED = [
  ['on_policy_distillation.non_colocated_teachers.enabled', 'the teachers'],
  ['env.reward_model.enabled', 'the reward model'],
  ['env.nemo_gym.num_gpu_nodes', 'the models of NeMo Gym'],
] as const;

/** The trainer's world: the cluster, less what generation has for itself (nemo_rl/algorithms/grpo.py). */
function readWorld(tree: TreeMap, missing: string | null, facts: Facts): void {
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
  const own = optionsOf(at(tree, 'policy.generation.colocated.resources'));
  const [ownNodes, ownGpus] = [own.integer('num_nodes'), own.integer('gpus_per_node')];
  const minus = (all: number, part: number) => (all > part ? all - part : null);
  const single = isKnown(nodes) && nodes.value === 1;
  facts.note('Generation has GPUs of its own; the world is that of the trainer.');
  facts.apart.push('rollout');
  if (single) {
    setWorld(facts, {
      nodes,
      perNode: derived([perNode, ownGpus ?? { unknown: 'resources.gpus_per_node' }], minus, 'gpus_per_node'),
    });
  } else {
    setWorld(facts, {
      nodes: derived([nodes, ownNodes ?? { unknown: 'resources.num_nodes' }], minus, 'num_nodes'),
      perNode,
    });
  }
}
