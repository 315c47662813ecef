import { isModelPath, shardFactors } from '../format/keyPath';
import { hasFlag, type Job } from '../launch/commands';
import type { LaunchFamily, NamedFacts } from '../launch/family';
import { readFlags } from '../launch/flags';
import type { Flag, LayoutWriter } from '../launch/layoutWriter';
import { defaultsIn, listUnmapped, type OptionRow, pathsIn } from '../launch/optionRows';
import { isOn, type Options } from '../launch/options';
import { isCallOf, pythonRecipes } from '../launch/sources/python/module';
import { optionsOf, type Tree, type TreeMap, textAtPath } from '../launch/sources/tree';
import { type Defaults, Facts, isKnown, product } from '../launch/value';
import { coverGrids, setWorld } from '../launch/world';
import { MEGATRON_DIALECT } from './megatron-lm';
import { MEGATRON_OPTIONS, MEGATRON_SWITCHES, readMegatron } from './megatronOptions';
import { moduleFlags } from './megatronWrite';

/** The flags of the grid that every example has (examples/mimo/training/args.py); those of weight shards have no default. */
const ENCODER: readonly OptionRow[] = [
  ['modules.encoder.tp', 'encoder_tp', 'integer', 2],
  ['modules.encoder.dp', 'encoder_dp', 'integer', 2],
];
const LANGUAGE: readonly OptionRow[] = [
  ['modules.language.rank_offset', 'llm_offset', 'integer', 4],
  ['modules.language.tp', 'llm_tp', 'integer', 2],
  ['modules.language.cp', 'llm_cp', 'integer', 1],
  ['modules.language.pp', 'llm_pp', 'integer', 1],
  ['modules.language.dp', 'llm_dp', 'integer', 2],
  ['modules.language.ep', 'llm_ep', 'integer', 1],
  ['modules.language.expt_tp', 'llm_expt_tp', 'integer', 1],
];
const SHARDS: readonly OptionRow[] = [
  ['modules.language.num_weight_shards', 'tensor_parallel_num_weight_shards', 'integer'],
  ['modules.language.expt_num_weight_shards', 'expert_tensor_parallel_num_weight_shards', 'integer'],
];

const FLAGS = [...ENCODER, ...LANGUAGE, ...SHARDS];

const DEFAULTS: Defaults = {
  framework: 'Megatron-LM MIMO example',
  version: 'main d98e8a64dd',
  source: 'examples/mimo/training/args.py',
  values: { 'modules.encoder.rank_offset': 0, ...defaultsIn(FLAGS) },
};

/** Megatron-LM's MIMO example: one grid for the encoder, one for the language model. */
export const mimo: LaunchFamily<'mimo'> = {
  name: 'mimo',
  command: {
    evidence: (job) =>
      hasFlag(job, '--llm-tp', '--llm-dp', '--encoder-tp', '--encoder-dp', '--llm-offset')
        ? 'own'
        : /(^|\/)pretrain_mimo\.py$/.test(job.script ?? '')
          ? 'entry'
          : null,
    read: readCommand,
  },
  /** The module grids of the example as Python: a list of `ModuleGridSpec(...)`. */
  python: {
    evidence: 'own',
    read: ({ file, text }) =>
      pythonRecipes(file, text).flatMap(({ name, variables }): NamedFacts[] => {
        const specs = [...variables.values()].map(specsOf).find((list) => list.length > 0);
        return specs ? [{ name: name === '' ? 'the file' : name, facts: readSpecs(specs) }] : [];
      }),
  },
};

function readCommand(job: Job): Facts {
  const facts = new Facts();
  const { options } = readFlags(job.args, job.place, {
    switches: new Set([...MEGATRON_SWITCHES, 'llm_only', 'encoder_ddp_overlap']),
  });
  for (const [key, name] of FLAGS) {
    facts.set(key, options.integer(name));
  }
  if (options.blocked === null) {
    facts.takeDefaults(DEFAULTS);
  }
  if (isOn(options.flag('llm_only'))) {
    for (const name of ['tp', 'dp', 'rank_offset'] as const) {
      facts.delete(`modules.encoder.${name}`);
    }
  }
  readShared(options, facts);
  setWorld(facts, job.world);
  // without a launcher's count, the world is what the grids cover
  if (!isKnown(facts.get('world_size')) && !facts.get('modules.language.num_weight_shards')) {
    coverGrids(facts, ['language']);
  }
  listUnmapped(options, pathsIn(FLAGS, ...MEGATRON_OPTIONS, 'llm_only'), facts);
  return facts;
}

/** Megatron-LM's own flags hold for the language model and the batch. */
function readShared(options: Options, facts: Facts): void {
  const shared = new Facts();
  readMegatron(options, { ...MEGATRON_DIALECT, expertTpIsTp: false }, shared);
  for (const [key, found] of shared.all) {
    if (isModelPath(key)) {
      facts.set(`modules.language.${key}`, found);
    } else if (/^(batch|optimizer|recompute|moe)\./.test(key)) {
      facts.set(key, found);
    }
  }
  // the model of the example sets it, whatever the flag says (examples/mimo/model_providers/nemotron_moe_vlm.py)
  const tp = facts.number('modules.language.tp');
  if (tp !== null) {
    facts.set('modules.language.sequence.sequence_parallel', { value: tp > 1, source: 'default' });
  }
}

/** The fields of `ModuleGridSpec` beside its name and number of ranks, with their defaults (examples/mimo/training/topology.py). */
const FIELDS = [
  ['tp', 1],
  ['cp', 1],
  ['pp', 1],
  ['ep', 1],
  ['gtp_remat', 1],
  ['rank_offset', 0],
  ['expt_tp', 1],
  ['expt_gtp_remat', 1],
] as const;

function specsOf(tree: Tree): TreeMap[] {
  const items = tree.kind === 'list' ? tree.items : [];
  const specs = items.flatMap((item) => (isCallOf(item, 'ModuleGridSpec') ? [item] : []));
  return specs.length === items.length ? specs : [];
}

function readSpecs(specs: readonly TreeMap[]): Facts {
  const facts = new Facts();
  for (const spec of specs) {
    const name = textAtPath(spec, 'name');
    if (name === null) {
      facts.note('A module grid has a name that is not known; it is left out.');
      continue;
    }
    const options = optionsOf(spec);
    facts.set(`modules.${name}.num_ranks`, options.integer('num_ranks'));
    for (const [field, otherwise] of FIELDS) {
      facts.set(`modules.${name}.${field}`, options.integer(field));
      facts.setDefault(`modules.${name}.${field}`, otherwise);
    }
  }
  coverGrids(
    facts,
    specs.map((spec) => textAtPath(spec, 'name') ?? ''),
  );
  return facts;
}

/** The degrees that make up one replica. */
const REPLICA = ['tp', 'gtp_remat', 'cp', 'pp'] as const;

/** The arguments of `create_topology` (examples/mimo/training/topology.py). */
export function writeModuleGrids(writer: LayoutWriter): string {
  const names = writer.modules();
  if (names.length === 0) {
    throw new Error('A layout without modules has no module grids. Use megatron-args.');
  }
  const specs = names.map((name) => {
    const degrees = REPLICA.map((key) => Number(writer.meant(`modules.${name}.${key}`) ?? 1));
    const ranks = replicas(writer, name) * product(degrees);
    const rest = FIELDS.flatMap(([key]) => {
      const value = writer.meant(`modules.${name}.${key}`);
      return value === undefined ? [] : [`${key}=${writer.python(value)}`];
    });
    return `    ModuleGridSpec(name=${writer.python(name)}, num_ranks=${ranks}, ${rest.join(', ')}),`;
  });
  writer.cluster();
  return `specs = [\n${specs.join('\n')}\n]\n`;
}

/** The command of the example, whose grids have the names `encoder` and `language`. */
export function writeMimo(writer: LayoutWriter): string {
  const others = writer.modules().filter((name) => name !== 'language');
  const [encoder] = others;
  if (!writer.modules().includes('language') || others.length > 1) {
    throw new Error('The MIMO example has a language module and at most one encoder; the layout has others.');
  }
  if (encoder !== undefined) {
    requireOnes(writer, encoder);
    if (encoder !== 'encoder') {
      writer.notes.push(`The flags of the MIMO example have no name for ${encoder}: it is their encoder.`);
    }
  }
  const sizes: Flag[] = (encoder === undefined ? LANGUAGE : [...ENCODER, ...LANGUAGE]).map(([key, name]) => {
    const [, module = '', field = ''] = /^modules\.(\w+)\.(\w+)$/.exec(key) ?? [];
    const owner = module === 'encoder' ? (encoder ?? '') : module;
    const value = field === 'dp' ? replicas(writer, owner) : writer.meant(`modules.${owner}.${field as 'tp'}`);
    return [`--${name.replaceAll('_', '-')}`, String(value ?? (field === 'rank_offset' ? 0 : 1))];
  });
  return writer.command(writer.torchrun('examples/mimo/pretrain_mimo.py'), [
    ...(encoder === undefined ? [['--llm-only'] as const] : []),
    ...sizes,
    ...moduleShards(writer),
    ...moduleFlags(writer, 'language'),
  ]);
}

/** The encoder of the example has tp and dp alone. */
function requireOnes(writer: LayoutWriter, module: string): void {
  for (const key of ['cp', 'pp', 'ep', 'gtp_remat', 'expt_tp', 'expt_gtp_remat'] as const) {
    const value = writer.meant(`modules.${module}.${key}`) ?? 1;
    if (value !== 1) {
      throw new Error(`The encoder of the MIMO example has no ${key}; ${module} has ${key} ${String(value)}.`);
    }
  }
  if ((writer.meant(`modules.${module}.rank_offset`) ?? 0) !== 0) {
    throw new Error('The encoder of the MIMO example begins at rank 0.');
  }
}

/** The data-parallel size of a module: written, or what its ranks leave. */
function replicas(writer: LayoutWriter, module: string): number {
  const dp = writer.written(`modules.${module}.dp`);
  const ranks = writer.written(`modules.${module}.num_ranks`);
  writer.derives(`modules.${module}.expt_dp`);
  const degrees = REPLICA.map((key) => Number(writer.meant(`modules.${module}.${key}`) ?? 1));
  const size = typeof dp === 'number' ? dp : Number(ranks) / product(degrees);
  if (!degrees.every(Number.isInteger) || !Number.isInteger(size) || size < 1) {
    throw new Error(`The data-parallel size of ${module} is not known: write dp or num_ranks.`);
  }
  return size;
}

/** The total of weight shards, which a layout may write as a degree beside tp. */
function moduleShards(writer: LayoutWriter): Flag[] {
  return SHARDS.flatMap(([key, name]): Flag[] => {
    const keys = [key, shardFactors(key)?.remat].filter((one) => one !== undefined);
    return keys.every((one) => writer.written(one) === undefined)
      ? []
      : [[`--${name.replaceAll('_', '-')}`, String(writer.meant(key))]];
  });
}
