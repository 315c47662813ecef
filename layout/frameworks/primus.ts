import { environmentOf, type Job, type World } from '../launch/commands';
import type { LaunchContext, LaunchFamily } from '../launch/family';
import { readFlags } from '../launch/flags';
import { listUnmappedTree } from '../launch/optionRows';
import { Options } from '../launch/options';
import { type Inherited, inherited } from '../launch/sources/inheritance';
import { applyOverrides } from '../launch/sources/omegaconf';
import { textOf } from '../launch/sources/shell/words';
import {
  at,
  emptyMap,
  mergeTrees,
  optionsOf,
  type Tree,
  type TreeMap,
  type TreeScalar,
  textAtPath,
} from '../launch/sources/tree';
import { Facts, isKnown, ONE, type Reason } from '../launch/value';
import { deriveFromWorld, setWorld } from '../launch/world';
import type { Framework } from './framework';
import { MEGATRON_RANKS } from './megatron';
import { MEGATRON_DIALECT } from './megatron-lm';
import { type Dialect, MEGATRON_OPTIONS, readMegatron } from './megatronOptions';
import { deriveShards, readTitanTree, TITAN_MAPPED, torchtitan } from './torchtitan';

const READS =
  'Experiments in YAML with their presets, alone or behind `primus-cli` and `run_pretrain.sh`: the options of the framework under `overrides`, `NNODES` and `GPUS_PER_NODE` of the environment, 1 and 8 where they are not set.';

/** Primus on Megatron-LM, whose argument parser it calls. */
export const primus: Framework = {
  ...MEGATRON_RANKS,
  core: { version: 'core_r0.16', source: 'the submodule third_party/Megatron-LM at d3528a2130' },
  name: 'primus',
  title: 'Primus',
  revision: 'fd1eeabbad',
  source: 'AMD-AGI/Primus',
  rules: { own: [], megatron: 'script' },
  reads: READS,
  example: 'layout: 1\nworld_size: 16\nlaunch: {family: primus}\nparallelism: {tp: 2, pp: 2}\n',
};

/** Primus on torchtitan: torchtitan's own ranks and rules. */
export const primusTorchtitan: Framework = {
  ...torchtitan,
  name: 'primus',
  engine: 'torchtitan',
  title: 'Primus',
  reads: READS,
  example: torchtitan.example.replace('family: torchtitan', 'family: primus, engine: torchtitan'),
};

const DIALECT: Dialect = { ...MEGATRON_DIALECT, switches: 'value' };

/** Primus: experiments with presets of a trainer and a model under `overrides` (primus/core/config), and the launchers that name them. */
export const primusLaunch: LaunchFamily<'primus'> = {
  name: 'primus',
  document: {
    evidence: ({ tree }) => (trainerOf(tree) ? 'own' : null),
    read: ({ tree, file }, context) => readPrimus(tree, file, context, null),
  },
  /** `EXP=... run_pretrain.sh`, `primus-cli ... --config`. */
  command: {
    evidence(job, context) {
      const path = pathOf(job);
      return path === null ? null : experimentAt(path, context) ? 'own' : 'entry';
    },
    read(job, context) {
      const path = pathOf(job) ?? '';
      const found = experimentAt(path, context);
      const facts = found
        ? readPrimus(found.tree, found.file, context, job)
        : readFlagsAlone(job, { missing: `file ${path}` });
      // `primus-cli ... -- projection` and `benchmark` estimate a job on fewer GPUs
      facts.trains = !job.args.some((arg) => /^(projection|benchmark)$/.test(textOf(arg) ?? ''));
      return facts;
    },
  },
};

/** Reads the flags of a launcher whose experiment was not found. */
function readFlagsAlone(job: Job, missing: Reason): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place);
  // what is null is as if it were absent
  const given = [...withoutQuotes(options.entries)].filter(([, { values }]) => values[0] !== 'null');
  readMegatron(new Options(new Map(given), missing), DIALECT, facts);
  setWorld(facts, worldOf(job));
  deriveFromWorld(facts);
  facts.noteMissing(missing);
  return facts;
}

const MANUAL_SPLIT = 'decoder_pipeline_manual_split_list';

/** The most MTP layers that a layout is written with. */
const MAX_MTP = 64;

const MAPPED: ReadonlySet<string> = new Set([...MEGATRON_OPTIONS, MANUAL_SPLIT]);

/**
 * The layers of each stage by hand, the former way to write a pipeline layout. With virtual stages the list holds those of the
 * first pipeline rank first (pull request 69 of Primus); MTP layers stand in the last stage.
 */
function readManualSplit(options: Options, facts: Facts): void {
  const list = options.has(MANUAL_SPLIT) ? options.list(true, MANUAL_SPLIT) : undefined;
  const pp = facts.number('parallelism.pp') ?? 0;
  const vpp = facts.get('parallelism.vpp') ? facts.number('parallelism.vpp') : 1;
  if (!isKnown(list) || facts.get('parallelism.pipeline_model_parallel_layout')) {
    return;
  }
  const counts = list.value;
  if (vpp === null || counts.length !== pp * vpp || facts.get('parallelism.num_layers_per_virtual_pipeline_stage')) {
    facts.note(
      `${MANUAL_SPLIT} [${counts.join(', ')}] is not read: it is understood as one number for each stage of each pipeline rank.`,
    );
    return;
  }
  const stages = counts.map((_, stage) => {
    const count = counts[(stage % pp) * vpp + Math.floor(stage / pp)];
    return count === 1 ? 't' : `t*${count}`;
  });
  const mtp = 'm'.repeat(Math.min(facts.number('model.mtp_num_layers') ?? 0, MAX_MTP));
  facts.set('parallelism.pipeline_model_parallel_layout', {
    value: `E${stages.join('|')}${mtp}L`,
    source: list.source,
  });
}

/** Layers that are recomputed by their numbers, beside which there is no method (patches/recompute_layer_patches.py). */
function readRecomputed(options: Options, facts: Facts): void {
  if (options.has('recompute_layer_ids') && isKnown(facts.get('recompute.granularity'))) {
    facts.delete('recompute.granularity');
    facts.note('recompute_layer_ids chooses the layers that are recomputed, for which layouts have no key.');
  }
}

/** The experiment that a launcher of Primus is given; null for other programs. */
function pathOf(job: Job): string | null {
  const words = [job.program, job.script ?? '', textOf(job.args[0]) ?? ''];
  if (!words.some((one) => /primus|run_\w{0,64}pretrain\.sh|pretrain\.py/.test(one))) {
    return null;
  }
  const { options } = readFlags(job.args, job.place);
  const path = environmentOf(job).get('EXP')?.values[0] ?? options.get('config', 'exp')?.values[0];
  return path && /\.ya?ml$/.test(path) ? path : null;
}

function experimentAt(path: string, context: LaunchContext): { tree: TreeMap; file: string } | null {
  const found = context.findTree(path);
  return found && trainerOf(found.tree) ? found : null;
}

function trainerOf(tree: TreeMap): TreeMap | undefined {
  const modules = at(tree, 'modules');
  for (const name of ['pre_trainer', 'post_trainer', 'sft_trainer', 'trainer']) {
    const trainer = at(modules, name);
    if (trainer?.kind === 'map' && (at(trainer, 'framework') || at(trainer, 'overrides'))) {
      return trainer;
    }
  }
  return undefined;
}

function readPrimus(tree: TreeMap, file: string, context: LaunchContext, job: Job | null): Facts {
  const facts = new Facts();
  const source: Source = { context, variables: job ? environmentOf(job) : new Options(new Map(), null) };
  const whole = extended({ tree: resolveMap(tree, source), file }, source);
  const experiment = whole.tree;
  const trainer = trainerOf(experiment) ?? experiment;
  const framework = textAtPath(trainer, 'framework') ?? 'megatron';
  const presets = ['config', 'model'].map((key) => preset(trainer, key, framework, file, source));
  const lost = [whole, ...presets].find((one) => one.missing !== null)?.missing ?? null;
  // a key of both presets is the trainer's (primus/core/launcher/parser.py)
  const entries = new Map(presets.toReversed().flatMap(({ tree }) => [...tree.entries]));
  let merged: Tree = { kind: 'map', entries, place: trainer.place };
  const overrides = at(trainer, 'overrides');
  merged = overrides ? mergeTrees(merged, overrides) : merged;
  const flags = job ? readFlags(job.args, job.place).options : null;
  if (flags && merged.kind === 'map') {
    // the launcher hands its flags on, over the experiment (primus/cli/subcommands/train.py)
    merged = applyOverrides(merged, withoutQuotes(flags.entries));
  }
  const missing = lost ?? flags?.blocked ?? null;
  if (framework === 'torchtitan') {
    readTitanTree(merged, missing, facts);
    facts.engine = 'torchtitan';
  } else if (/^(megatron|megatron_bridge)$/.test(framework)) {
    readMegatron(optionsOf(merged, missing), DIALECT, facts);
    readRecomputed(optionsOf(merged, missing), facts);
    readManualSplit(optionsOf(merged), facts);
  } else {
    facts.note(`The framework ${framework} has no parallelism that a layout describes.`);
  }
  setWorld(facts, worldOf(job));
  if (framework === 'torchtitan') {
    deriveShards(facts);
  } else {
    deriveFromWorld(facts);
  }
  listUnmappedTree(overrides, '', framework === 'torchtitan' ? TITAN_MAPPED : MAPPED, facts);
  if (lost !== null) {
    facts.noteMissing(lost);
  }
  return facts;
}

/** Flags whose values lose quotes of their own (primus/core/utils/arg_utils.py). */
function withoutQuotes(entries: Options['entries']): Options['entries'] {
  const plain = (value: string | null) => value?.replace(/^(['"])(.*)\1$/s, '$2') ?? null;
  return new Map([...entries].map(([name, option]) => [name, { ...option, values: option.values.map(plain) }]));
}

/** The launcher's environment: NNODES (1) x GPUS_PER_NODE (8), which the experiment does not hold (examples/run_pretrain.sh). */
function worldOf(job: Job | null): World {
  if (!job) {
    const unknown = 'the world: NNODES x GPUS_PER_NODE of the launcher';
    return { nodes: { unknown }, perNode: { unknown } };
  }
  const environment = environmentOf(job);
  return {
    nodes: environment.integer('NNODES') ?? ONE,
    perNode: environment.integer('GPUS_PER_NODE') ?? { value: 8, source: 'default' },
  };
}

/** Where presets and variables of the environment are looked for. */
interface Source {
  readonly context: LaunchContext;
  /** The variables that the launch script sets. */
  readonly variables: Options;
}

/** A preset of Primus by its name: `primus/configs/modules|models/<framework>/<name>`. */
function preset(trainer: TreeMap, key: string, framework: string, file: string, source: Source): Inherited {
  const value = at(trainer, key);
  const name = textAtPath(trainer, key);
  const none = emptyMap(trainer.place);
  if (name === null) {
    return { tree: none, missing: value?.kind === 'scalar' && value.unknown ? value.unknown : null };
  }
  const whole = /\.ya?ml$/.test(name) ? name : `${name}.yaml`;
  const path = `primus/configs/${key === 'config' ? 'modules' : 'models'}/${framework}/${whole}`;
  const found = resolvedFile(path, file, source);
  return found ? extended(found, source) : { tree: none, missing: { missing: `preset ${path}` } };
}

/** A file over those that its `extends` names (primus/core/config/yaml_loader.py). */
function extended(found: { readonly tree: TreeMap; readonly file: string }, source: Source): Inherited {
  return inherited(found, 'extends', 'preset', (path, from) => resolvedFile(path, from, source));
}

function resolvedFile(path: string, from: string, source: Source) {
  const found = source.context.findTree(path, from);
  return found && { ...found, tree: resolveMap(found.tree, source) };
}

/**
 * `${VAR:default}` is the variable or the default, with one colon; `${VAR}` must be given (primus/core/config/yaml_loader.py).
 */
function resolveMap(map: TreeMap, source: Source): TreeMap {
  return { ...map, entries: new Map([...map.entries].map(([name, value]) => [name, resolveTree(value, source)])) };
}

function resolveTree(tree: Tree, source: Source): Tree {
  return tree.kind === 'map'
    ? resolveMap(tree, source)
    : tree.kind === 'list'
      ? { ...tree, items: tree.items.map((item) => resolveTree(item, source)) }
      : resolveScalar(tree, source);
}

function resolveScalar(scalar: TreeScalar, { variables }: Source): TreeScalar {
  const { value } = scalar;
  if (typeof value !== 'string' || !value.includes('${')) {
    return scalar;
  }
  let unknown: Reason | undefined;
  let { place } = scalar;
  const text = value.replace(
    /\$\{([^:{}]{1,64})(?::([^}]{0,128}))?\}/g,
    (_, name: string, otherwise: string | undefined) => {
      const set = variables.get(name);
      const found = set ? set.values[0] : otherwise;
      place = set?.places[0] ?? place;
      unknown ??= typeof found === 'string' ? undefined : (set?.unknown ?? { variable: name });
      return found ?? '';
    },
  );
  return unknown === undefined ? { ...scalar, place, value: typed(text) } : { ...scalar, value: null, unknown };
}

function typed(text: string): string | number | boolean {
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false' ? lower === 'true' : /^-?\d+$/.test(text) ? Number(text) : text;
}
