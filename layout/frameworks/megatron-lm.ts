import { environmentOf, FLAGS_ALONE, hasFlag, type Job } from '../launch/commands';
import type { LaunchContext, LaunchFamily, NamedFacts } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { LayoutWriter } from '../launch/layoutWriter';
import { listUnmapped, type OptionRow, readOptions, readRows } from '../launch/optionRows';
import { integerOf, type Option, Options } from '../launch/options';
import { lastPart } from '../launch/sources/paths';
import { isCallOf, pythonRecipes } from '../launch/sources/python/module';
import { at, optionOf, optionsOf, type Tree } from '../launch/sources/tree';
import { derived, type FactMap, Facts, type FactValue, type Found, isKnown } from '../launch/value';
import { deriveFromWorld, deriveGlobalBatch, LAUNCHERS_WORLD, setWorld } from '../launch/world';
import { MEGATRON_DEFAULTS } from './megatronDefaults';
import { type Dialect, MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from './megatronOptions';

/** Megatron-LM's own command line. */
export const MEGATRON_DIALECT: Dialect = { defaults: MEGATRON_DEFAULTS, switches: 'bare', expertTpIsTp: true };

/** Degrees by which flags alone are Megatron-LM's, as they are pasted. */
const OTHER_DEGREES = [
  '--pipeline-model-parallel-size',
  '--context-parallel-size',
  '--expert-model-parallel-size',
  '--expert-tensor-parallel-size',
];

/** Megatron-LM's training scripts, started with its own flags. */
export const megatronLm: LaunchFamily<'megatron-lm'> = {
  name: 'megatron-lm',
  command: {
    evidence(job) {
      if (isConversion(job)) {
        return null;
      }
      if (isTrainingScript(job) && !isDeepSpeeds(job)) {
        return 'script';
      }
      const hasDegree =
        hasFlag(job, '--tensor-model-parallel-size') ||
        (hasFlag(job, '--tensor_model_parallel_size') && hasFlag(job, '--num_layers'));
      return hasDegree ? 'degree' : hasFlag(job, '--num-layers', ...OTHER_DEGREES) || isPasted(job) ? 'options' : null;
    },
    read(job, context) {
      const facts = new Facts();
      const options = readMegatronCommand(job, MEGATRON_DIALECT, facts, DEEPSPEED_MAPPED);
      if (hasFlag(job, ...DEEPSPEED_SIGNS)) {
        readDeepspeed(options, context, facts);
      }
      return facts;
    },
  },
  /** `NonuniformTPConfig(...)` of Megatron-LM's nonuniform tensor parallelism (heads/dev). */
  python: {
    evidence: 'own',
    read: ({ file, text }) =>
      pythonRecipes(file, text).flatMap(({ name, variables }): NamedFacts[] => {
        const config = [...variables.values()].find((tree) => isCallOf(tree, 'NonuniformTPConfig'));
        return config ? [{ name: name === '' ? 'the file' : name, facts: readNonuniform(config) }] : [];
      }),
  },
};

/** Whether flags are pasted without a program, of a model or a batch as Megatron-LM names them. */
function isPasted(job: Job): boolean {
  const hasBatch = hasFlag(job, '--micro-batch-size') && hasFlag(job, '--global-batch-size');
  return job.program === FLAGS_ALONE && (hasFlag(job, '--num-attention-heads') || hasBatch);
}

/** Flags that Megatron-DeepSpeed adds to those of Megatron-LM. */
const DEEPSPEED_SIGNS = [
  ...['--deepspeed', '--deepspeed_config', '--deepspeed-config', '--zero-stage', '--ds-sequence-parallel-size'],
  '--moe-expert-parallel-size',
];

/** Its options; the stage of ZeRO stands in DeepSpeed's configuration too. */
const DEEPSPEED_OPTIONS: readonly OptionRow[] = [
  ['parallelism.ulysses', 'ds_sequence_parallel_size', 'integer'],
  ['parallelism.ep', 'moe_expert_parallel_size', 'integer'],
  ['model.num_query_groups', 'num_key_value_heads', 'integer'],
  ['optimizer.zero_stage', 'zero_stage', 'integer'],
];
const DEEPSPEED_CONFIGURATION: readonly OptionRow[] = [
  ['optimizer.zero_stage', 'zero_optimization.stage', 'integer'],
  ['batch.gradient_accumulation_steps', 'gradient_accumulation_steps', 'integer'],
];

const DEEPSPEED_MAPPED = ['deepspeed', 'deepspeed_config', ...DEEPSPEED_OPTIONS.map(([, name]) => name)];

/** What Megatron-DeepSpeed reads beside Megatron-LM's flags, and of DeepSpeed's configuration what decides the layout. */
function readDeepspeed(options: Options, context: LaunchContext, facts: Facts): void {
  facts.engine = 'deepspeed';
  const path = options.given.string('deepspeed_config');
  readRows(isKnown(path) ? context.findTree(path.value)?.tree : undefined, DEEPSPEED_CONFIGURATION, facts);
  readOptions(options, DEEPSPEED_OPTIONS, facts);
  deriveFromUlysses(facts);
}

/** Ulysses takes its ranks from data parallelism, and the default batch with them. */
function deriveFromUlysses(facts: Facts): void {
  const [dp, size] = [facts.get('parallelism.dp'), facts.get('parallelism.ulysses')];
  if (isKnown(dp) && dp.source === 'default' && isKnown(size)) {
    facts.set(
      'parallelism.dp',
      derived([dp, size], (replicas, ranks) => (replicas % ranks === 0 ? replicas / ranks : null), 'dp'),
    );
  }
}

/** Whether a command converts a checkpoint: its degrees are those of the files that it reads and writes, not of a job. */
function isConversion({ script }: Job): boolean {
  const name = lastPart(script ?? '');
  return name.includes('convert') && name.endsWith('.py');
}

function isTrainingScript({ script }: Job): boolean {
  return /(^|\/)(pretrain_\w+|train_rl|finetune_\w+|finetune|pretrain)\.py$/.test(script ?? '');
}

/** Whether a script only has such a name: it is handed a configuration of DeepSpeed and none of Megatron-LM's sizes. */
const isDeepSpeeds = (job: Job): boolean =>
  readFlags(job.args, job.place).options.has('deepspeed_config') &&
  !hasFlag(job, '--num-layers', '--micro-batch-size', '--tensor-model-parallel-size');

/** The variable that Megatron-LM's arguments are validated with. */
const QUEUES = 'CUDA_DEVICE_MAX_CONNECTIONS';

/**
 * Reads a command line of Megatron-LM's flags, its world and what follows from both.
 * @param own options of a fork that are not listed as unmapped, as its reader takes them
 */
export function readMegatronCommand(job: Job, dialect: Dialect, facts: Facts, own: readonly string[] = []): Options {
  const { options } = readFlags(job.args, job.place, { switches: MEGATRON_SWITCHES });
  readMegatron(options, dialect, facts);
  listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...own]), facts);
  setWorld(facts, job.world);
  const environment = environmentOf(job);
  if (facts.get('cluster.nodes') && facts.get('cluster.gpus_per_node')) {
    facts.set('cluster.gpus_per_nvlink_domain', environment.integer('NVLINK_DOMAIN_SIZE'));
  }
  facts.set(`environment.${QUEUES}`, environment.integer(QUEUES));
  deriveFromWorld(facts);
  deriveGlobalBatch(facts);
  return options;
}

const NTP_FIELDS = ['tp_base', 'tp_spares', 'num_reduced_tp_dp_ranks'] as const;
const REMOVED = 'non_active_ranks_per_dp';

function readNonuniform(config: Tree): Facts {
  const facts = new Facts();
  const options = optionsOf(config);
  for (const key of NTP_FIELDS) {
    facts.set(`ntp.${key}`, options.integer(key));
  }
  facts.set(`ntp.${REMOVED}`, removedSlots(at(config, REMOVED)));
  facts.set('world_size', LAUNCHERS_WORLD);
  return facts;
}

/** What a key of the removed slots names: a replica, or one slice of it. */
const SLOT = ['dp', 'cp', 'pp'];

/** `{dp: [slots]}`, or `{(dp, cp, pp): [slots]}` for one slice of a replica. */
function removedSlots(tree: Tree | undefined): Found | undefined {
  if (tree?.kind !== 'map') {
    return undefined;
  }
  const slots = [...tree.entries].map(([key, ranks]): FactMap | null => {
    const indexes = key.split(',').map(integerOf);
    const local = new Options(new Map([['ranks', optionOf(ranks) ?? NO_OPTION]]), null).list(true, 'ranks');
    if (!isKnown(local) || indexes.includes(null) || (indexes.length !== 1 && indexes.length !== SLOT.length)) {
      return null;
    }
    const place = indexes.flatMap((index, at) => (index === null ? [] : [[SLOT[at] ?? '', index]]));
    return { ...Object.fromEntries(place), local_ranks: local.value };
  });
  const known = slots.flatMap((slot) => slot ?? []);
  return known.length === slots.length
    ? { value: known, source: tree.place }
    : { unknown: `${REMOVED}, of which an entry is not known` };
}

const NO_OPTION: Option = { values: [null], places: [], place: { file: '', offset: 0 }, unknown: 'the removed slots' };

/** `NonuniformTPConfig` (megatron/core/distributed/nonuniform_tp.py on heads/dev). */
export function writeNonuniform(writer: LayoutWriter): string {
  const [spares, reduced] = (['tp_spares', 'num_reduced_tp_dp_ranks'] as const).map((key) =>
    writer.meant(`ntp.${key}`),
  );
  if (spares === undefined) {
    throw new Error('The layout has no ntp.');
  }
  const fields: readonly (readonly [string, FactValue])[] = [
    ['tp_base', writer.written('ntp.tp_base') ?? writer.meant('parallelism.tp') ?? 1],
    ['tp_spares', spares],
    ['num_reduced_tp_dp_ranks', reduced ?? 1],
  ];
  const removed = writtenSlots(writer);
  const words = fields.map(([name, value]) => `${name}=${writer.python(value)}`);
  return `ntp_config = NonuniformTPConfig(${[...words, ...(removed ? [`${REMOVED}=${removed}`] : [])].join(', ')})\n`;
}

/**
 * The removed slots as Python's dict; null where there are none, and where an entry names only one of cp and pp, for which the
 * dict has no key.
 */
function writtenSlots({ values, used }: LayoutWriter): string | null {
  const list = values.get(`ntp.${REMOVED}`)?.value;
  const entries = Array.isArray(list) ? list.map(writtenSlot) : [];
  if (!list || entries.includes(null)) {
    return null;
  }
  used.add(`ntp.${REMOVED}`);
  return `{${entries.join(', ')}}`;
}

function writtenSlot(entry: FactValue): string | null {
  const fields = new Map<string, FactValue>(typeof entry === 'object' ? Object.entries(entry) : []);
  const [dp, ...slice] = SLOT.map((name) => fields.get(name));
  const ranks = fields.get('local_ranks');
  const isSlice = slice.every(Number.isInteger);
  const isReplica = slice.every((index) => index === undefined);
  if (!Number.isInteger(dp) || !Array.isArray(ranks) || !ranks.every(Number.isInteger) || (!isSlice && !isReplica)) {
    return null;
  }
  return `${isSlice ? `(${[dp, ...slice].join(', ')})` : dp}: [${ranks.join(', ')}]`;
}
