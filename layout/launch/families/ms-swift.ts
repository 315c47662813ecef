import { DEFAULTS, worldByDefault } from '../defaults';
import type { CommandFamily, DocumentFamily } from '../family';
import { readFlags } from '../flags';
import { Facts, type Found, isKnown, notFound } from '../foundValues';
import { environmentOption, type Job, type World } from '../launchers';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from '../megatron';
import { integerOf, isOn, type Option, Options } from '../options';
import { textOf } from '../shell/values';
import { at, optionsOf, type TreeMap } from '../tree';
import { deriveFromWorld, setWorld } from '../world';
import { setFact } from './keys';
import { listUnmapped } from './megatron-lm';
import { engineOptions, readEngine } from './serving';

const DIALECT: Dialect = { defaults: DEFAULTS.swift, switches: 'value', expertTpIsTp: false, modelElsewhere: true };

const COMMANDS = /^(sft|pt|rlhf|gkd|grpo)$/;

/** How a command of ms-swift trains: on Megatron, or on Hugging Face's trainer. */
type Trainer = 'megatron' | 'transformers';

function trainerOf({ program, script, args }: Job): Trainer | null {
  const isCommand = COMMANDS.test(textOf(args[0]) ?? '');
  if ((program === 'megatron' && isCommand) || /swift\/cli\/_megatron\/\w+\.py$/.test(script ?? '')) {
    return 'megatron';
  }
  const isPlain = (program === 'swift' && isCommand) || /swift\/cli\/(sft|pt|rlhf)\.py$/.test(script ?? '');
  return isPlain ? 'transformers' : null;
}

/** ms-swift's commands (`megatron sft`, `swift sft`, `pt`, `rlhf`), with flags that take `true` and `false`, over a YAML file. */
export const msSwift: CommandFamily = {
  name: 'ms-swift',
  matches: (job) => ({ megatron: 3, transformers: 2.5, none: 0 })[trainerOf(job) ?? 'none'],
  read(job, context) {
    const args = job.script === null ? job.args.slice(1) : job.args;
    const { options, positional } = readFlags(args, job.place);
    const path = positional[0]?.text ?? options.get('config')?.values[0];
    const found = path ? (context.findTree(path)?.tree ?? null) : null;
    const flags = new Options(options.entries, path && !found ? notFound(`file ${path}`) : options.blocked);
    return readSwift(found, flags, trainerOf(job) ?? 'megatron', (name) => environmentOption(job, name), job.world);
  },
};

/** The YAML file of a Megatron command; with Ray, the trainer's settings stand under `train`. */
export const msSwiftDocument: DocumentFamily = {
  name: 'ms-swift',
  matches: ({ tree }) =>
    at(tree, 'model')?.kind === 'scalar' &&
    at(tree, 'dataset') !== undefined &&
    [tree, at(tree, 'train')].some((map) =>
      [...optionsOf(map).entries.keys()].some((name) => /^micro_batch_size$|_model_parallel_size$/.test(name)),
    ),
  read: ({ tree }) => readSwift(tree, new Options(new Map(), null), 'megatron', () => null),
};

/**
 * @param environment a variable that the command sets
 * @param launched the world of a launcher in front of the trainer's own script
 */
function readSwift(
  tree: TreeMap | null,
  flags: Options,
  trainer: Trainer,
  environment: (name: string) => Option | null,
  launched: World = {},
): Facts {
  const facts = new Facts();
  const [train, rollout, own] = ['train', 'rollout', 'ENV'].map((name) => optionsOf(tree ? at(tree, name) : undefined));
  const entries = [optionsOf(tree ?? undefined), train, flags].flatMap((one) => [...(one?.entries ?? [])]);
  const options = new Options(new Map(entries), flags.blocked);
  const length = ['packing_length', 'max_length'].find((name) => options.has(name));
  if (trainer === 'megatron') {
    readMegatron(options, DIALECT, facts);
  } else {
    facts.engine = 'transformers';
    setFact(facts, 'batch.micro_batch_size', options, 'per_device_train_batch_size', 'integer');
    if (options.blocked === null) {
      facts.takeDefaults(DEFAULTS.swiftTransformers);
    }
  }
  setFact(facts, 'model.params_dtype', options, 'torch_dtype', 'type');
  setFact(facts, 'model.from', options, 'model', 'text');
  readAdapters(options, facts);
  if (length) {
    // seq_length is the packing length, or else the longest sample (swift/megatron/arguments/megatron_base_args.py)
    setFact(facts, 'sequence.seq_length', options, length, 'integer');
  }
  const count = (name: string, otherwise: Found<number> | undefined): Found<number> | undefined => {
    const option = environment(name) ?? own?.get(name);
    return option ? countOf(option, name) : otherwise;
  };
  const gpus = isOn(options.boolean('use_ray')) || train?.has('gpus') ? train?.integer('gpus') : undefined;
  const isLaunched = Object.values(launched).some((found) => found !== undefined);
  const counted: World = {
    nodes: count('NNODES', worldByDefault(DEFAULTS.swift).nodes),
    perNode: count('NPROC_PER_NODE', { unknown: 'environment variable NPROC_PER_NODE' }),
  };
  setWorld(facts, gpus ? { total: gpus } : isLaunched ? launched : counted);
  if (trainer === 'megatron') {
    deriveFromWorld(facts);
  }
  readRollout(new Options(new Map([...options.entries, ...(rollout?.entries ?? [])]), null), facts);
  listUnmapped(options, MAPPED, facts);
  return facts;
}

/** `tuner_type` was `train_type`; adapters are 8 wide unless it is said (swift/arguments/tuner_args.py). */
function readAdapters(options: Options, facts: Facts): void {
  const type = ['tuner_type', 'train_type'].find((name) => options.has(name));
  const found = type === undefined ? undefined : options.string(type);
  if (isKnown(found) && found.value === 'lora') {
    facts.set('lora.rank', { value: 8, source: 'default' });
    setFact(facts, 'lora.rank', options, 'lora_rank', 'integer');
  }
}

const ENGINES = ['vllm', 'sglang'] as const;

const MAPPED: ReadonlySet<string> = new Set([
  ...MEGATRON_OPTIONS,
  ...['model', 'torch_dtype', 'packing_length', 'max_length', 'per_device_train_batch_size'],
  ...ENGINES.flatMap((engine) => engineOptions(`${engine}_`)),
]);

function readRollout(options: Options, facts: Facts): void {
  for (const engine of ENGINES) {
    if (engineOptions(`${engine}_`).some((name) => options.has(name))) {
      facts.set('phases.rollout.engine', { value: engine, source: 'default' });
      readEngine(options, 'rollout', facts, `${engine}_`);
    }
  }
}

/** A count that the environment of a command gives. */
export function environmentCount(
  job: Job,
  name: string,
  otherwise: Found<number> | undefined,
): Found<number> | undefined {
  const option = environmentOption(job, name);
  return option ? countOf(option, name) : otherwise;
}

function countOf({ values, places, place, unknown }: Option, name: string): Found<number> {
  const value = integerOf(values[0] ?? null);
  return value === null ? { unknown: unknown ?? `the value of ${name}` } : { value, source: places[0] ?? place };
}
