import { memoizeRecent } from '../../memoize';
import { DEFAULTS } from '../defaults';
import type { CommandFamily, LaunchContext } from '../family';
import { readFlags } from '../flags';
import { derived, Facts, isKnown } from '../foundValues';
import { environmentOption, type Job } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from '../megatron';
import { Options as OptionSet, type Options } from '../options';
import { textOf } from '../shell/values';
import { deriveFromWorld, deriveGlobalBatch, setWorld } from '../world';
import { readKeys } from './keys';

const DIALECT: Dialect = { defaults: DEFAULTS.megatron, switches: 'bare', expertTpIsTp: true };

/** The variable that Megatron-LM's arguments are validated with. */
const QUEUES = 'CUDA_DEVICE_MAX_CONNECTIONS';

/** Degrees by which flags alone are Megatron-LM's, as they are pasted. */
const OTHER_DEGREES = [
  '--pipeline-model-parallel-size',
  '--context-parallel-size',
  '--expert-model-parallel-size',
  '--expert-tensor-parallel-size',
];

/** Megatron-LM's training scripts, started with its own flags. */
export const megatronLm: CommandFamily = {
  name: 'megatron-lm',
  matches: (job) =>
    isConversion(job)
      ? 0
      : isTrainingScript(job)
        ? 2
        : hasFlag(job, '--tensor-model-parallel-size') ||
            (hasFlag(job, '--tensor_model_parallel_size') && hasFlag(job, '--num_layers'))
          ? 1.5
          : hasFlag(job, '--num-layers', ...OTHER_DEGREES)
            ? 1
            : 0,
  read(job, context) {
    const facts = new Facts();
    const options = readMegatronCommand(job, DIALECT, facts, DEEPSPEED_OPTIONS);
    if (hasFlag(job, ...DEEPSPEED_SIGNS)) {
      readDeepspeed(options, context, facts);
    }
    return facts;
  },
};

/** Flags that Megatron-DeepSpeed adds to those of Megatron-LM. */
const DEEPSPEED_SIGNS = [
  ...['--deepspeed', '--deepspeed_config', '--deepspeed-config', '--zero-stage', '--ds-sequence-parallel-size'],
  '--moe-expert-parallel-size',
];

const DEEPSPEED_OPTIONS = [
  ...['deepspeed', 'deepspeed_config', 'zero_stage', 'ds_sequence_parallel_size', 'moe_expert_parallel_size'],
  'num_key_value_heads',
];

/** What Megatron-DeepSpeed reads beside Megatron-LM's flags, and of DeepSpeed's configuration what decides the layout. */
function readDeepspeed(options: Options, context: LaunchContext, facts: Facts): void {
  facts.engine = 'deepspeed';
  const ownKeys = [
    ['ds_sequence_parallel_size', 'parallelism.ulysses'],
    ['moe_expert_parallel_size', 'parallelism.ep'],
    ['num_key_value_heads', 'model.num_query_groups'],
    ['zero_stage', 'optimizer.zero_stage'],
  ] as const;
  const path = options.has('deepspeed_config') ? options.string('deepspeed_config') : undefined;
  const found = isKnown(path) ? context.findTree(path.value) : null;
  if (found) {
    readKeys(found.tree, [['zero_optimization.stage', 'optimizer.zero_stage', 'integer']], facts);
  }
  for (const [name, key] of ownKeys) {
    facts.set(key, options.has(name) ? options.integer(name) : undefined);
  }
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
  const name = script?.split('/').at(-1) ?? '';
  return name.includes('convert') && name.endsWith('.py');
}

/** Reads a command line of Megatron-LM's flags, its world and what follows from both. */
/**
 * @param own options of a fork that are not listed as unmapped, as its reader takes them
 */
export function readMegatronCommand(job: Job, dialect: Dialect, facts: Facts, own: readonly string[] = []): Options {
  const { options } = readFlags(job.args, job.place, { switches: MEGATRON_SWITCHES });
  readMegatron(options, dialect, facts);
  listUnmapped(options, new Set([...MEGATRON_OPTIONS, ...own]), facts);
  setWorld(facts, job.world);
  const domain = environmentOption(job, 'NVLINK_DOMAIN_SIZE');
  if (domain && facts.get('cluster.nodes') && facts.get('cluster.gpus_per_node')) {
    const entries = new Map([['domain', domain]]);
    facts.set('cluster.gpus_per_nvlink_domain', new OptionSet(entries, null).integer('domain'));
  }
  const queues = environmentOption(job, QUEUES);
  if (queues) {
    facts.set(`environment.${QUEUES}`, new OptionSet(new Map([[QUEUES, queues]]), null).integer(QUEUES));
  }
  deriveFromWorld(facts);
  deriveGlobalBatch(facts);
  return options;
}

/** Lists the options for which a layout has no key. */
export function listUnmapped(options: Options, mapped: ReadonlySet<string>, facts: Facts): void {
  for (const [name, { values, place }] of options.entries) {
    if (!mapped.has(name)) {
      const value = values.includes(null) ? null : values.join(' ');
      facts.unmapped.push({ name, value, place });
    }
  }
}

function isTrainingScript({ script }: Job): boolean {
  return /(^|\/)(pretrain_\w+|train_rl|finetune_\w+|finetune|pretrain)\.py$/.test(script ?? '');
}

/** Whether a command line has a flag, in any branch. */
export function hasFlag({ args }: Job, ...flags: readonly string[]): boolean {
  const words = flagsOf(args);
  return flags.some((flag) => words.has(flag));
}

/** Each family looks for its own flags in the same command line. */
const flagsOf = memoizeRecent((args: Job['args']): ReadonlySet<string> => new Set(wordsOf(args)));

/** The words of a command line up to their `=`. */
function wordsOf(args: Job['args']): readonly string[] {
  return args.flatMap((arg) =>
    arg.kind === 'choice' ? arg.options.flatMap(wordsOf) : ((textOf(arg) ?? '').split('=')[0] ?? ''),
  );
}
