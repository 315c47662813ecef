import { DEFAULTS } from '../defaults';
import { derived, Facts, type Found, isKnown } from '../facts';
import type { CommandFamily } from '../family';
import { readFlags } from '../flags';
import { environmentOption, type Job } from '../launchers';
import { type Option, Options } from '../options';
import { MAX_PATH } from '../shell/sources';
import { parseTomlTree } from '../toml';
import { at, mergeTrees, optionsOf, setAt, type Tree } from '../tree';
import { setWorld } from '../world';
import { listUnmappedTree, readKeys } from './keys';
import { hasFlag, listUnmapped } from './megatron-lm';
import { environmentCount } from './ms-swift';

const DEGREES = {
  tensor_parallel_degree: 'parallelism.tp',
  pipeline_parallel_degree: 'parallelism.pp',
  context_parallel_degree: 'parallelism.cp',
  expert_parallel_degree: 'parallelism.ep',
  expert_tensor_parallel_degree: 'parallelism.expt_tp',
} as const;

const SECTION = 'parallelism.';

/** torchtitan: a configuration function or TOML file, overridden by `--parallelism.tensor_parallel_degree 8`. */
export const torchtitanCommand: CommandFamily = {
  name: 'torchtitan',
  // what the launcher script starts says more than the call of it
  matches: (job) => (isTitan(job) ? (/run_train\.sh$/.test(job.program) ? 2.9 : 3) : 0),
  read(job, context) {
    const facts = new Facts();
    const { options } = readFlags(job.args, job.place);
    const named = configOf(job, options);
    const found = named === null ? null : context.find(named);
    const base = found && parseTomlTree(found.file, found.text);
    const blocked = base
      ? null
      : named !== null
        ? `file ${named}, which was not found`
        : options.has('config')
          ? 'the configuration function that --config names'
          : 'the configuration function';
    let tree: Tree = base ?? { kind: 'map', entries: new Map(), place: job.place };
    for (const [name, option] of options.entries) {
      tree = name.includes('.') ? setAt(tree, name.split('.'), scalarOption(option)) : tree;
    }
    readTitanTree(tree, options.blocked ?? blocked, facts);
    setWorld(facts, worldOf(job));
    deriveShards(facts);
    listUnmapped(
      new Options(new Map([...options.entries].filter(([name]) => !name.startsWith(SECTION))), null),
      new Set(),
      facts,
    );
    return facts;
  },
};

function isTitan(job: Job): boolean {
  return (
    /(^|\.|\/)torchtitan(\.|\/)(\w+(\.|\/))*train(\.py)?$/.test((job.script ?? '').slice(-MAX_PATH)) ||
    /(^|\/)run_train\.sh$/.test(job.program) ||
    hasFlag(
      job,
      '--job.config_file',
      '--parallelism.tensor_parallel_degree',
      '--parallelism.data_parallel_shard_degree',
    )
  );
}

/** The TOML file that a command names, by its flag or the launcher's `CONFIG_FILE`. */
function configOf(job: Job, options: Options): string | null {
  const flag = options.has('job.config_file') ? options.string('job.config_file') : undefined;
  const variable = environmentOption(job, 'CONFIG_FILE')?.values[0] ?? null;
  return isKnown(flag) ? flag.value : variable;
}

/** torchtitan's launcher starts NGPU (8) processes. */
function worldOf(job: Job): Parameters<typeof setWorld>[1] {
  if (/run_train\.sh$/.test(job.program)) {
    return {
      nodes: { value: 1, source: 'default' },
      perNode: environmentCount(job, 'NGPU', { value: 8, source: 'default' }),
    };
  }
  return job.world;
}

function scalarOption({ values, places, place, unknown }: Option): Tree {
  const [text = 'true'] = values;
  return {
    kind: 'scalar',
    value: text,
    place: places[0] ?? place,
    ...(text === null && { unknown: unknown ?? 'its value' }),
  };
}

/** Reads torchtitan's settings; `blocked` says what may set those that are absent. */
export function readTitanTree(tree: Tree, blocked: string | null, facts: Facts): void {
  // commits before 2025 called the section `experimental` and `training`
  const section = mergeTrees(
    at(tree, 'experimental'),
    at(tree, 'parallelism') ?? { kind: 'map', entries: new Map(), place: tree.place },
  );
  const options = optionsOf(section, blocked);
  for (const [name, key] of Object.entries(DEGREES)) {
    facts.set(key, options.integer(name));
  }
  if (!options.has('expert_tensor_parallel_degree')) {
    facts.delete('parallelism.expt_tp');
  }
  if (blocked === null) {
    for (const [key, value] of Object.entries(DEFAULTS.torchtitan.values)) {
      facts.setDefault(key, value);
    }
  }
  const replicate: Found<number> | undefined = options.integer('data_parallel_replicate_degree') ?? {
    value: 1,
    source: 'default',
  };
  const shard: Found<number> | undefined = options.integer('data_parallel_shard_degree') ?? {
    value: -1,
    source: 'default',
  };
  facts.set('fsdp.data_parallel_replicate_degree', replicate);
  facts.set('fsdp.data_parallel_shard_degree', shard);
  readKeys(
    tree,
    [
      ['training.seq_len', 'sequence.seq_length', 'integer'],
      ['training.local_batch_size', 'batch.micro_batch_size', 'integer'],
      ['training.batch_size', 'batch.micro_batch_size', 'integer'],
      ['training.global_batch_size', 'batch.global_batch_size', 'integer'],
    ],
    facts,
  );
  const global = facts.number('batch.global_batch_size');
  if (global !== null && global < 0) {
    facts.delete('batch.global_batch_size');
  }
  listUnmappedTree(
    section,
    'parallelism',
    new Set(Object.keys(DEGREES).flatMap((name) => [name, `parallelism.${name}`])),
    facts,
  );
}

/** The degree over which weights are sharded: -1 is what the world leaves (torchtitan/distributed/parallel_dims.py). */
export function deriveShards(facts: Facts): void {
  const shard = facts.get('fsdp.data_parallel_shard_degree');
  const degrees = ['fsdp.data_parallel_replicate_degree', 'parallelism.cp', 'parallelism.tp', 'parallelism.pp'].map(
    (key) => facts.get(key),
  );
  if (isKnown(shard) && shard.value === -1) {
    const rest = derived(
      [facts.get('world_size'), ...degrees],
      (world, ...sizes) => {
        const left = world / sizes.reduce((product, size) => product * size, 1);
        return Number.isInteger(left) && left >= 1 ? left : null;
      },
      'the ranks that are left to shard over',
    );
    facts.set('fsdp.data_parallel_shard_degree', isKnown(rest) ? { value: rest.value, source: 'default' } : rest);
  }
  const dp = derived(
    [facts.get('fsdp.data_parallel_replicate_degree'), facts.get('fsdp.data_parallel_shard_degree')],
    (a, b) => (b > 0 ? a * b : null),
    'dp',
  );
  if (isKnown(dp)) {
    facts.setDefault('parallelism.dp', dp.value);
  }
}
