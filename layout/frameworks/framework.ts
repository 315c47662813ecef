import type { ENGINES, KeyPath, MegatronVersion, RootKeys } from '../format/keys';
import type { Field, Section } from '../format/spec';
import type { Dim } from '../grid/grid';

/** One framework that starts training jobs: whose words these are, how its ranks are laid out, and which rules hold for it. */
export interface Framework {
  /** As `launch.family` names it. */
  readonly name: string;
  /** As `launch.engine` names it, where the framework trains with several engines; left out, the description holds for any other. */
  readonly engine?: Engine;
  /** As its authors write it. */
  readonly title: string;
  /** The commit that was read. */
  readonly revision: string;
  /** The repository, as `owner/name` on GitHub. */
  readonly source: string;
  /** Which degrees multiply to the world; null where Megatron Core lays out the ranks. */
  readonly world: World | null;
  /** Its device meshes; none where its process groups are Megatron Core's. */
  readonly meshes: readonly Mesh[];
  /** How tensor parallelism cuts attention; left out where that is not known. */
  readonly heads?: HeadShares;
  /** What Ulysses sequence parallelism asks of the heads; left out where that is not known. */
  readonly ulysses?: Omit<HeadShares, 'areNominal'> & {
    /** Whether each sequence must divide among the ranks as it is; left out, the framework pads it. */
    readonly cutsSequences?: boolean;
  };
  /**
   * What a framework on Megatron Core says first of degrees that do not divide the world; null where Megatron-LM speaks.
   */
  readonly dividesWords?: (root: Section<RootKeys>, sizes: Sizes, world: number) => string | null;
  readonly rules: HoldingRules;
  /** Which launch files are read, and what of them, in Markdown. */
  readonly reads: string;
  /** What the framework does not refuse and the job does not survive, or does otherwise than it says; a sentence each, in Markdown. */
  readonly notes?: readonly string[];
  /** A layout of the framework, for its page. */
  readonly example: string;
  /** The version of Megatron Core that its images or requirements hold at `revision`; left out where it has none. */
  readonly core?: CorePin;
  /** What becomes of its checkpoints under another layout, the first row that applies to a part; Megatron-LM's verdict, or unknown, where none does. */
  readonly checkpoint?: readonly CheckpointFact[];
  /** Its own form of the options of Megatron-LM that a verdict names; null where it has none. */
  readonly checkpointOptions?: Readonly<Record<CheckpointOption, string | null>>;
  /** How it ends the error of Megatron-LM about other tp and pp of a distributed optimizer, where it has words of its own. */
  readonly optimizerMismatch?: (sharding: string) => string;
  /** How the engines that generate get new weights; left out where that is not known. */
  readonly weightUpdates?: WeightUpdates;
}

/**
 * How new weights reach the engines. Where an engine shares the trainer's GPUs, every rank gathers each tensor and hands it to the
 * engine on its GPU.
 */
export interface WeightUpdates {
  /** Who broadcasts to engines on GPUs of their own: the first rank of each pipeline stage, or rank 0 alone; null where there are none. */
  readonly apart: 'stages' | 'first' | null;
  /** The file and function that say so. */
  readonly source: string;
}

/** Options of Megatron-LM that change what of a checkpoint is saved or loaded. */
export type CheckpointOption = '--dist-ckpt-optim-fully-reshardable' | '--no-load-optim' | '--no-load-rng';

/** The Megatron Core that a framework comes with; a job may run another. */
export interface CorePin {
  readonly version: MegatronVersion;
  /** The file that says so. */
  readonly source: string;
}

/** What of a layout decides about a checkpoint of a framework that has a form of its own. */
export type CheckpointSizes = Readonly<Record<'world' | 'tp' | 'pp' | 'cp' | 'dp' | 'ep' | 'zeroStage', number>>;

/** What becomes of some parts of a checkpoint. */
export interface CheckpointFact {
  readonly parts: readonly ('model' | 'optimizer' | 'rng' | 'rerun' | 'data')[];
  /** It holds where one of these differs; left out, always. */
  readonly changed?: readonly ('world' | 'tp' | 'pp' | 'cp' | 'dp' | 'ep')[];
  /** What else must hold. */
  readonly when?: (saved: CheckpointSizes, now: CheckpointSizes) => boolean;
  readonly outcome: 'loads' | 'after' | 'lost';
  /** Why, a sentence that follows the name of the part and what differs. */
  readonly because: string;
  /** What the framework says, word for word; left out where it says nothing. */
  readonly predicts?: string | ((saved: CheckpointSizes, now: CheckpointSizes) => string);
  readonly ways?: readonly { readonly what: string; readonly command: string }[];
  /** The file and function that say so. */
  readonly source: string;
}

/** What trains, where a framework has a choice. */
export type Engine = (typeof ENGINES)[number];

/** The rules that hold for the layouts of a framework, by their codes; those about files and machines hold for all. */
export interface HoldingRules {
  /** The rules that hold for this framework and for those that list them too. */
  readonly own: readonly string[];
  /**
   * How much of Megatron-LM the job runs: its training script (`script`), the library without the script's argument parser (`core`),
   * or nothing of it (`none`).
   */
  readonly megatron: 'script' | 'core' | 'none';
  /** Rules of Megatron-LM that do not hold all the same. */
  readonly except?: readonly string[];
  /** Rules of Megatron-LM that hold although nothing of it runs. */
  readonly also?: readonly string[];
}

/** What tensor parallelism asks of the attention heads. */
export interface HeadShares {
  /** What the framework says where the degree does not divide the heads. */
  heads(heads: number, tp: number): string | null;
  /** Whether what runs may have other heads than the model that the file names: the report is then a warning. */
  readonly areNominal?: boolean;
  /** The same for key-value heads; null where they may be fewer than ranks. */
  readonly keyValueHeads: ((heads: number, tp: number) => string | null) | null;
}

/** How the degrees of a framework make its world. */
export interface World {
  readonly degrees: readonly WorldDegree[];
  /** Degrees that are laid over the same ranks and do not count. */
  readonly over?: readonly WorldDegree[];
  /** What the framework says where the product is not the world; left out or null where it says nothing. */
  predicts?(sizes: Sizes, world: number): string | null;
  /**
   * What it says of degrees below 1; left out or null where it says nothing.
   * @param small those degrees, by name, also the expert-parallel one
   */
  belowOne?(small: Sizes, sizes: Sizes, world: number): string | null;
  /** Whether the product is not compared with the world. */
  readonly isOpen?: (sizes: Sizes) => boolean;
  /** How many ranks share the experts: the expert-parallel degree divides them. Left out where the framework has no such degree. */
  readonly experts?: ExpertRanks;
  /** The tensor-parallel size of experts where it is not written: 1, or that of the other layers. */
  readonly expertTp: 1 | 'tp';
}

/** The ranks over which a framework spreads experts. */
export interface ExpertRanks {
  readonly count: (sizes: Sizes) => number;
  /** The axes that they lie along. */
  readonly axes: readonly string[];
  /** What the framework says where the degree does not divide them; null where it says nothing. */
  predicts(ep: number, ranks: number, world: number): string | null;
}

/** A degree that counts for the world. */
export interface WorldDegree {
  /** The axis of the meshes that it sizes, and its name in messages. */
  readonly name: string;
  readonly key: KeyPath;
  /** What the key has; undefined where its section is not written. */
  readonly field: (root: Section<RootKeys>) => Field<number> | undefined;
  /** Its size where it is not written: a number, or what the other degrees leave of the world. */
  readonly unwritten: number | 'rest';
  /** Whether -1 stands for what the other degrees leave. */
  readonly restByMinusOne?: boolean;
}

/** Sizes by the name of their axis. */
export type Sizes = Readonly<Record<string, number>>;

/** One way in which a framework factors its ranks into axes, and the process groups along them. */
export interface Mesh {
  /** The axes in rank order, the fastest first, each with its size. */
  readonly axes: readonly (readonly [name: string, size: (sizes: Sizes) => number])[];
  readonly groups: readonly MeshGroup[];
  /** Whether the mesh is made; left out, always. */
  readonly exists?: (sizes: Sizes) => boolean;
}

/** The process groups that some axes of a mesh span. */
export interface MeshGroup {
  readonly name: string;
  /** Left out: the axis of its name. */
  readonly axes?: readonly string[];
  /** What travels in them. */
  readonly carries: string;
}

/** The degree of an axis that a layout's `parallelism` holds. */
export function parallelDegree(name: 'tp' | 'cp' | 'pp' | 'dp' | 'ep', unwritten: number | 'rest' = 1): WorldDegree {
  return { name, key: `parallelism.${name}`, field: (root) => root.parallelism.value?.[name], unwritten };
}

/** The expert-parallel degree. */
export const EXPERTS: WorldDegree = parallelDegree('ep');

/** The degree of Ulysses sequence parallelism, which exchanges tokens for heads. */
export const ULYSSES: WorldDegree = {
  name: 'sp',
  key: 'parallelism.ulysses',
  field: (root) => root.parallelism.value?.ulysses,
  unwritten: 1,
};

/** Whether tokens are exchanged for heads. */
export const isUlysses = ({ sp = 1 }: Sizes): boolean => sp > 1;

/** The groups of Ulysses where it takes neighbours of the whole world, whatever else is laid over them. */
export const ULYSSES_MESH: Mesh = {
  axes: [sized('sp'), ['dp', ({ world = 1, sp = 1 }) => world / sp]],
  groups: [
    { name: 'sp', carries: 'queries, keys, values and outputs of attention: all-to-all' },
    { name: 'dp', carries: 'which ranks read which data' },
  ],
  exists: isUlysses,
};

/** The degrees of hybrid sharded data parallelism: how often parameters are replicated, and over how many ranks sharded. */
export const REPLICATE: WorldDegree = {
  name: 'dp_replicate',
  key: 'fsdp.data_parallel_replicate_degree',
  field: (root) => root.fsdp.value?.data_parallel_replicate_degree,
  unwritten: 1,
};

export function shardDegree(unwritten: number | 'rest'): WorldDegree {
  return {
    name: 'dp_shard',
    key: 'fsdp.data_parallel_shard_degree',
    field: (root) => root.fsdp.value?.data_parallel_shard_degree,
    unwritten,
    ...(unwritten === 'rest' && { restByMinusOne: true }),
  };
}

/** The size of an axis by its name. */
export function sized(name: string): readonly [string, (sizes: Sizes) => number] {
  return [name, (sizes) => sizes[name] ?? 1];
}

/** A degree with its size: as written, by default, or as the others leave it. */
export interface SizedDegree {
  readonly degree: WorldDegree;
  readonly size: number;
  readonly field: Field<number> | undefined;
}

/**
 * The degrees of a world with their sizes; null where one cannot be used or the world is needed and not known.
 * @param world the number of ranks
 * @param small the values of keys that are below the least of their key, which are unusable otherwise
 */
export function sizedDegrees(
  { degrees }: Pick<World, 'degrees'>,
  root: Section<RootKeys>,
  world: number | undefined,
  small: ReadonlyMap<string, number> = new Map(),
): readonly SizedDegree[] | null {
  const read = degrees.map((degree) => {
    const field = degree.field(root);
    const written = field?.value ?? small.get(degree.key);
    const isRest = field?.written ? degree.restByMinusOne === true && written === -1 : degree.unwritten === 'rest';
    const size = field?.written ? written : degree.unwritten;
    return { degree, field, isRest, size: isRest || typeof size !== 'number' ? undefined : size };
  });
  if (read.some(({ size, isRest }) => size === undefined && !isRest)) {
    return null;
  }
  const others = read.reduce((product, { size = 1 }) => product * size, 1);
  const rest = world === undefined ? undefined : others === 0 ? 0 : Math.floor(world / others);
  const sizes = read.map(({ degree, field, size = rest }) => (size === undefined ? null : { degree, field, size }));
  return sizes.every((one) => one !== null) ? sizes : null;
}

/** What a framework says of degrees below 1; null where it says nothing or a number is open. */
export function smallPrediction(
  world: World,
  root: Section<RootKeys>,
  ranks: number | undefined,
  small: ReadonlyMap<string, number>,
): string | null {
  const degrees = sizedDegrees(world, root, ranks, small);
  if (!degrees || ranks === undefined) {
    return null;
  }
  const sizes = sizesOf(degrees);
  const ep = small.get('parallelism.ep');
  const below = degrees.filter(
    ({ size, degree, field }) => size < 1 && (field?.written || degree.unwritten !== 'rest'),
  );
  return world.belowOne?.({ ...sizesOf(below), ...(ep !== undefined && { ep }) }, sizes, ranks) ?? null;
}

/** The sizes of the axes by name. */
export function sizesOf(degrees: readonly SizedDegree[]): Sizes {
  return Object.fromEntries(degrees.map(({ degree: { name }, size }) => [name, size]));
}

/** One way in which the ranks of a job are factored, with every size known. Plain data. */
export interface SizedMesh {
  /** The fastest first. */
  readonly axes: readonly Dim[];
  readonly groups: readonly Required<Pick<MeshGroup, 'name' | 'axes'>>[];
}

/** The meshes of a job; null where a degree cannot be used or the degrees do not make the world. */
export function sizedMeshes(
  { world, meshes }: Framework,
  root: Section<RootKeys>,
  ranks: number,
): readonly SizedMesh[] | null {
  const degrees = world && sizedDegrees(world, root, ranks);
  const over = world && sizedDegrees({ degrees: world.over ?? [] }, root, ranks);
  if (!degrees || !over) {
    return null;
  }
  const sizes: Sizes = { ...sizesOf(degrees), ...sizesOf(over), world: ranks };
  const sized = meshes
    .filter(({ exists }) => exists?.(sizes) ?? true)
    .map(({ axes, groups }) => ({
      axes: axes.map(([name, size]) => ({ name, size: size(sizes) })),
      groups: groups.map(({ name, axes: own = [name] }) => ({ name, axes: own })),
    }));
  return sized.every(({ axes }) => isFactoring(axes, ranks)) ? sized : null;
}

function isFactoring(axes: readonly Dim[], ranks: number): boolean {
  return (
    axes.every(({ size }) => Number.isInteger(size) && size >= 1) &&
    axes.reduce((product, { size }) => product * size, 1) === ranks
  );
}
