import type { Span } from '../diagnostic';
import type { ModelKeys, ModuleKeys, RootKeys, SequenceKeys } from '../format/keys';
import { DEFAULT_ORDER } from '../format/keys';
import type { ReadLayout } from '../format/read';
import type { Field, NamedField, Section } from '../format/spec';
import { type Framework, frameworkOf } from '../frameworks';
import { type Degrees, moduleGrid } from './moduleGrid';
import { withPublicModels } from './publicModel';
import type { ResolvedModule } from './resolved';

export type { Degrees } from './moduleGrid';

/** The degrees that `parallelism` and every one of `modules` have alike. */
const DEGREES = [
  ...(['tp', 'gtp_remat', 'num_weight_shards', 'cp', 'pp', 'dp'] as const),
  ...(['ep', 'expt_tp', 'expt_gtp_remat', 'expt_num_weight_shards', 'expt_dp'] as const),
] as const;
export type DegreeFields = Pick<Section<ModuleKeys>, (typeof DEGREES)[number]>;

/** One grid as the file has it: its fields with their places, and the numbers that follow from them. */
export interface ModuleFacts {
  /** The module's name, or null for `parallelism`. */
  readonly name: string | null;
  /** The key that opens the grid: the module's name, or `parallelism`. */
  readonly nameSpan: Span;
  /** The map that holds the grid's keys. */
  readonly span: Span;
  readonly fields: DegreeFields;
  /** The fields that only `modules` have; null for `parallelism`. */
  readonly own: Section<ModuleKeys> | null;
  readonly model: Field<Section<ModelKeys>>;
  readonly sequence: Field<Section<SequenceKeys>>;
  /** Undefined where a degree is unusable. */
  readonly degrees: Degrees | undefined;
  /** The first global rank; undefined where it is unusable. */
  readonly rankOffset: number | undefined;
  /** How many ranks the grid has; undefined where that is unusable or unknown. */
  readonly ranks: number | undefined;
  /** The value that says how many ranks there are: `num_ranks`, `world_size` or `dp`. */
  readonly ranksSpan: Span;
  /** The name of that value in messages. */
  readonly ranksName: string;
  /** Ranks in one replica of the dense grid: tp x gtp_remat x cp x pp. */
  readonly denseModel: number | undefined;
  /** Ranks in one replica of the expert grid: expt_tp x ep x expt_gtp_remat x pp. */
  readonly expertModel: number | undefined;
  /** Derived data-parallel sizes; undefined where the ranks do not divide. */
  readonly dp: number | undefined;
  readonly exptDp: number | undefined;
  /**
   * One of `modules` with every number known; null where one is open, and for `parallelism`, which is placed by the order that
   * the file names.
   */
  readonly grid: ResolvedModule | null;
}

/** How many ranks the job has, and where the file says so. */
interface WorldFacts {
  /** Undefined where unusable, not said, or where `world_size` and `cluster` contradict each other. */
  readonly size: number | undefined;
  readonly span: Span;
  /** nodes x gpus_per_node; undefined where not said. */
  readonly clusterSize: number | undefined;
  /** Whether `world_size` is above what `cluster` has. */
  readonly contradicted: boolean;
  /** GPUs of ranks that are not launched (spares of packed nonuniform TP). */
  readonly idle: number;
}

/** What every rule reads: the file's fields and what follows from them. Costs O(modules), never O(ranks). */
export interface LayoutFacts {
  readonly text: string;
  /** The map that is the whole file. */
  readonly span: Span;
  readonly root: Section<RootKeys>;
  /** The file as read, with what is wrong with its shape. */
  readonly read: ReadLayout;
  readonly world: WorldFacts;
  /** What starts the job, where that is not Megatron-LM's training script; null also where the file does not say. */
  readonly framework: Framework | null;
  /** The one grid of `parallelism`, or the grids of `modules` in the order of the file. */
  readonly modules: readonly ModuleFacts[];
  readonly heterogeneous: boolean;
  /**
   * Whether the whole file describes a job launched by the flags of examples/mimo (which take `dp`) rather than by
   * `ModuleGridSpec` (which takes `num_ranks`): the two raise different errors for the same fault.
   */
  readonly mimoFlags: boolean;
  /** Whether the job's version of examples/mimo ignores generalized TP: then all its degrees are 1. */
  readonly ignoresGtp: boolean;
  /**
   * Whether the file says all that the training script asks for (layers, hidden size, heads, sequence length and
   * micro-batch): then its arguments are validated first, and their errors come before those of the library.
   */
  readonly trainingScript: boolean;
}

/** The most ranks that a world can have: torch counts them in 32 bits. */
export const MAX_WORLD = 2 ** 31;

/** The most levels of hierarchical context parallelism: more than a world can be halved. */
export const MAX_LEVELS = 32;

/**
 * Derives what follows from the fields of a file.
 * @param fields the fields of `read`, which is known to hold a map
 */
export function layoutFacts(read: ReadLayout, fields: Section<RootKeys>): LayoutFacts {
  const root = withPublicModels(fields);
  const world = worldFacts(root);
  const heterogeneous = !root.parallelism.written && root.modules.written;
  const framework = frameworkOf(root);
  const written = heterogeneous ? moduleFactsList(root, false) : parallelismFacts(root, world, framework);
  const mimoFlags = heterogeneous && isMimoFlags(written);
  const ignoresGtp = mimoFlags && (root.megatron.value ?? 'main') !== 'main';
  const modules = ignoresGtp ? moduleFactsList(root, true) : written;
  return {
    text: read.text,
    span: read.tree.root?.span ?? { start: 0, end: read.text.length },
    root,
    read,
    world,
    framework,
    modules,
    heterogeneous,
    mimoFlags,
    ignoresGtp,
    trainingScript: !heterogeneous && isTrainingScript(root),
  };
}

/** At most one encoder beside the language model, all sizes given by `dp`, and not colocated. */
function isMimoFlags(modules: readonly ModuleFacts[]): boolean {
  const [first, second] = modules;
  const colocated = second !== undefined && first?.rankOffset === second.rankOffset && first?.ranks === second.ranks;
  return modules.length > 0 && modules.length <= 2 && !colocated && modules.every(({ fields }) => fields.dp.written);
}

function isTrainingScript(root: Section<RootKeys>): boolean {
  const model = root.model.value;
  const asked = [
    // a hybrid pattern counts the layers
    [model?.num_layers, model?.hybrid_layer_pattern, model?.hybrid_override_pattern].find((field) => field?.written),
    model?.hidden_size,
    model?.num_attention_heads,
    root.sequence.value?.seq_length,
    root.batch.value?.micro_batch_size,
  ];
  return asked.every((field) => field?.written);
}

/** A field's value, its default where it is not written, or undefined where it is written but unusable. */
export function valueOr<T>(field: Field<T>, fallback: T): T | undefined {
  return field.written ? field.value : fallback;
}

/** The rank order in force. */
export function orderOf(root: Section<RootKeys>): string | undefined {
  const { parallelism } = root;
  if (!parallelism.written) {
    return DEFAULT_ORDER;
  }
  return parallelism.value ? valueOr(parallelism.value.order, DEFAULT_ORDER) : undefined;
}

function worldFacts(root: Section<RootKeys>): WorldFacts {
  const cluster = root.cluster.value;
  const nodes = cluster?.nodes.value;
  const perNode = cluster?.gpus_per_node.value;
  const clusterSize = nodes !== undefined && perNode !== undefined ? nodes * perNode : undefined;
  const size = root.world_size.written ? root.world_size.value : clusterSize;
  // GPUs may stand idle, such as those of ranks that are not launched
  const contradicted = size !== undefined && clusterSize !== undefined && size > clusterSize;
  return {
    size: size !== undefined && size <= MAX_WORLD && !contradicted ? size : undefined,
    span: root.world_size.written ? root.world_size.span : (cluster?.nodes.span ?? root.cluster.span),
    clusterSize,
    contradicted,
    idle: notLaunched(root) ?? 0,
  };
}

function parallelismFacts(root: Section<RootKeys>, world: WorldFacts, framework: Framework | null): ModuleFacts[] {
  const fields = root.parallelism.value ?? (framework?.world ? unwrittenDegrees(root) : undefined);
  if (!fields) {
    return [];
  }
  const exptTp = framework?.world?.expertTp === 1 ? 1 : valueOr(fields.tp, 1);
  return [
    {
      name: null,
      nameSpan: root.parallelism.keySpan,
      span: root.parallelism.span,
      fields,
      own: null,
      model: root.model,
      sequence: root.sequence,
      rankOffset: 0,
      ranksSpan: world.span,
      ranksName: 'world_size',
      grid: null,
      ...sizes(fields, degreesOf(fields, exptTp), nominalRanks(root, world.size)),
    },
  ];
}

/** The keys of `parallelism` in a file without it: a framework that shards over the world needs no degrees. */
function unwrittenDegrees({ parallelism }: Section<RootKeys>): DegreeFields | undefined {
  const { span, keySpan } = parallelism;
  const field = { written: false, value: undefined, span, keySpan };
  // every degree is given its field
  return parallelism.written ? undefined : (Object.fromEntries(DEGREES.map((name) => [name, field])) as DegreeFields);
}

/** The ranks of the whole grid: those of the world, and those that are not launched. */
function nominalRanks(root: Section<RootKeys>, world: number | undefined): number | undefined {
  const idle = notLaunched(root);
  return world === undefined || idle === undefined ? undefined : world + idle;
}

/** The spares of packed nonuniform TP, where only active ranks are launched; undefined where their number is unusable. */
function notLaunched(root: Section<RootKeys>): number | undefined {
  const ntp = root.ntp.value;
  if (!root.parallelism.value || ntp?.placement.value !== 'packed') {
    return 0;
  }
  const cp = valueOr(root.parallelism.value.cp, 1);
  const replicas = valueOr(ntp.num_reduced_tp_dp_ranks, 1);
  const spares = valueOr(ntp.tp_spares, 0);
  return cp === undefined || replicas === undefined || spares === undefined ? undefined : replicas * cp * spares;
}

function moduleFactsList(root: Section<RootKeys>, ignoresGtp: boolean): ModuleFacts[] {
  return (root.modules.value ?? [])
    .map((module) => moduleFacts(module, ignoresGtp))
    .filter((module) => module !== null);
}

/** What follows from the fields of one module alone; null where it is no map. */
function moduleFacts(
  { name, keySpan, span, value: own }: NamedField<Section<ModuleKeys>>,
  ignoresGtp: boolean,
): ModuleFacts | null {
  if (own === undefined) {
    return null;
  }
  const rankOffset = valueOr(own.rank_offset, 0);
  const degrees = degreesOf(own, 1, ignoresGtp);
  const known = sizes(own, degrees, moduleRanks(own, degrees));
  return {
    name,
    nameSpan: keySpan,
    span,
    fields: own,
    own,
    model: own.model,
    sequence: own.sequence,
    rankOffset,
    ranksSpan: own.num_ranks.written ? own.num_ranks.span : own.dp.span,
    ranksName: own.num_ranks.written ? 'num_ranks' : 'dp',
    grid: moduleGrid(name, rankOffset, known),
    ...known,
  };
}

/** `num_ranks`, or what `dp` replicas need. */
function moduleRanks(own: Section<ModuleKeys>, degrees: Degrees | undefined): number | undefined {
  if (own.num_ranks.written) {
    return own.num_ranks.value;
  }
  return degrees && own.dp.value !== undefined ? own.dp.value * denseModelOf(degrees) : undefined;
}

function sizes({ ep, expt_tp }: DegreeFields, degrees: Degrees | undefined, ranks: number | undefined) {
  const usable = ranks !== undefined && ranks <= MAX_WORLD ? ranks : undefined;
  const denseModel = degrees && denseModelOf(degrees);
  const isExpertKnown = [ep, expt_tp].every((field) => !field.written || field.value !== undefined);
  const expertModel =
    degrees && isExpertKnown ? degrees.exptTp * degrees.ep * degrees.exptGtpRemat * degrees.pp : undefined;
  return {
    degrees,
    ranks: usable,
    denseModel,
    expertModel,
    dp: quotient(usable, denseModel),
    exptDp: quotient(usable, expertModel),
  };
}

function denseModelOf({ tp, gtpRemat, cp, pp }: Degrees): number {
  return tp * gtpRemat * cp * pp;
}

function quotient(ranks: number | undefined, model: number | undefined): number | undefined {
  return ranks !== undefined && model !== undefined && ranks % model === 0 ? ranks / model : undefined;
}

function degreesOf(fields: DegreeFields, exptTpDefault: number | undefined, ignoresGtp = false): Degrees | undefined {
  const tp = valueOr(fields.tp, 1);
  // an unusable degree of the expert grid counts as 1, so that rules still check the dense grid; the expert sizes stay open
  const exptTp = fields.expt_tp.written ? (fields.expt_tp.value ?? 1) : exptTpDefault;
  const gtpRemat = ignoresGtp ? 1 : rematDegree(fields.gtp_remat, fields.num_weight_shards, tp);
  const exptGtpRemat = ignoresGtp ? 1 : rematDegree(fields.expt_gtp_remat, fields.expt_num_weight_shards, exptTp);
  const cp = valueOr(fields.cp, 1);
  const pp = valueOr(fields.pp, 1);
  const ep = fields.ep.value ?? 1;
  return tp && gtpRemat && cp && pp && ep && exptTp && exptGtpRemat
    ? { tp, gtpRemat, cp, pp, ep, exptTp, exptGtpRemat }
    : undefined;
}

/**
 * The degree of generalized TP: a written number of weight shards wins over a written degree
 * (megatron/core/model_parallel_config.py `resolve_tensor_parallel_weight_shards`). Undefined where unusable.
 */
function rematDegree(degree: Field<number>, shards: Field<number>, tp: number | undefined): number | undefined {
  if (!shards.written) {
    return valueOr(degree, 1);
  }
  const value = shards.value;
  return value !== undefined && tp !== undefined && value >= tp && value % tp === 0 ? value / tp : undefined;
}
