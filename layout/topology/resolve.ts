import type { SlotEntryKeys } from '../format/keys';
import { type Field, type Section, valuesOf } from '../format/spec';
import { type SizedMesh, sizedMeshes } from '../frameworks';
import { memoizeRecent } from '../memoize';
import { type LayoutFacts, MAX_LEVELS, type ModuleFacts, valueOr } from './facts';
import { parallelismDims } from './generators';
import { MAX_TP_BASE } from './ntp';
import { nvlinkDomainOf } from './nvlinkDomain';
import type {
  DynamicContextParallel,
  ResolvedLayout,
  ResolvedModule,
  ResolvedNonActive,
  ResolvedNtp,
} from './resolved';
import { hasGtp, versionOf } from './versions';

/** The layout with every number known, or null where the file leaves one open or a grid does not divide. */
export const resolveLayout: (facts: LayoutFacts) => ResolvedLayout | null = memoizeRecent(resolve);

function resolve(facts: LayoutFacts): ResolvedLayout | null {
  const { root, world } = facts;
  const modules = facts.modules.map((module) => (module.own ? module.grid : parallelismModule(module, facts)));
  if (world.size === undefined || modules.length === 0 || !modules.every((module) => module !== null)) {
    return null;
  }
  const meshes = meshesOf(facts, world.size);
  if (meshes === null) {
    return null;
  }
  const entries = root.modules.value;
  if (facts.heterogeneous && entries?.length !== modules.length) {
    return null;
  }
  const cluster = root.cluster.value;
  const gpusPerNode = cluster?.gpus_per_node.value ?? Math.min(world.size, 8);
  const parallelism = root.parallelism.value;
  const fsdp = root.fsdp.value;
  const allGatherGroup = fsdp?.create_all_gather_group.value ?? false;
  const ep = facts.modules[0]?.degrees?.ep ?? 1;
  return {
    name: root.name.value ?? null,
    worldSize: world.size,
    nodes: cluster?.nodes.value ?? Math.ceil(world.size / gpusPerNode),
    gpusPerNode,
    gpusPerNvlinkDomain: nvlinkDomainOf(root, world.size, gpusPerNode),
    mode: modeOf(facts, modules),
    modules,
    generalizedTp: hasGtp(versionOf(facts), facts.heterogeneous),
    optimizerInstances: parallelism?.num_distributed_optimizer_instances.value ?? 1,
    hierarchicalContextParallelSizes: levelsOf(facts),
    allGatherGroup,
    expertAllGatherGroup: ep > 1 && (fsdp?.create_expert_all_gather_group.value ?? allGatherGroup),
    dynamicContextParallel: dynamicOf(facts),
    fsdpMesh: meshOf(facts),
    ntp: usableNtp(facts),
    meshes,
  };
}

/** The meshes of the file's framework; null where its degrees do not make the world. */
function meshesOf({ framework, root, heterogeneous }: LayoutFacts, ranks: number): readonly SizedMesh[] | null {
  return framework && framework.meshes.length > 0 && !heterogeneous ? sizedMeshes(framework, root, ranks) : [];
}

function dynamicOf({ root }: LayoutFacts): DynamicContextParallel | null {
  const parallelism = root.parallelism.value;
  const isDynamic = parallelism?.dynamic_context_parallel.value === true;
  if (!isDynamic && parallelism?.hybrid_context_parallel.value !== true) {
    return null;
  }
  const kind = isDynamic || root.megatron.value === 'dev' ? 'dynamic' : 'hybrid';
  return { kind, minSize: parallelism?.min_dynamic_context_parallel_size.value ?? 1 };
}

/** The mesh of Megatron-FSDP's first version; the second has none of several dimensions. */
function meshOf({ root, heterogeneous }: LayoutFacts): ResolvedLayout['fsdpMesh'] {
  const fsdp = root.fsdp.value;
  const isMesh = !heterogeneous && fsdp?.enabled.value === true && (fsdp.megatron_fsdp_version.value ?? 1) === 1;
  return isMesh ? { experts: root.model.value?.num_experts.written ?? false } : null;
}

/** The sizes of hierarchical context parallelism; null where none are written, or they do not make `cp`. */
function levelsOf({ root, modules }: LayoutFacts): readonly number[] | null {
  const field = root.parallelism.value?.hierarchical_context_parallel_sizes;
  const sizes = valuesOf(field?.value);
  const usable = sizes.length > 0 && sizes.length === field?.value?.length && sizes.length <= MAX_LEVELS;
  return usable && sizes.reduce((n, size) => n * size, 1) === modules[0]?.degrees?.cp ? sizes : null;
}

function modeOf(facts: LayoutFacts, modules: readonly ResolvedModule[]): ResolvedLayout['mode'] {
  if (!facts.heterogeneous) {
    return 'homogeneous';
  }
  const [first] = modules;
  const colocated = modules.every(
    ({ rankOffset, numRanks }) => rankOffset === first?.rankOffset && numRanks === first.numRanks,
  );
  // one module alone is colocated with nothing (`create_topology` compares the ranges of all)
  return colocated ? 'colocated' : 'non_colocated';
}

function parallelismModule(module: ModuleFacts, { root, world }: LayoutFacts): ResolvedModule | null {
  const { rankOffset, ranks } = module;
  const generators = parallelismDims(root, module);
  if (!generators || rankOffset === undefined || ranks === undefined) {
    return null;
  }
  // with packed nonuniform TP the spares of the grid are not launched
  return { name: null, rankOffset, numRanks: world.size ?? ranks, ...generators };
}

/** The settings of nonuniform TP for what is worked out slot by slot: null also where there are too many slots. */
function usableNtp(facts: LayoutFacts): ResolvedNtp | null {
  const ntp = resolveNtp(facts);
  return ntp && ntp.tpBase <= MAX_TP_BASE ? ntp : null;
}

/** The settings of nonuniform TP with their defaults; null where the file has none. */
export const resolveNtp: (facts: LayoutFacts) => ResolvedNtp | null = memoizeRecent(ntpOf);

function ntpOf({ root, modules }: LayoutFacts): ResolvedNtp | null {
  const ntp = root.ntp.value;
  return ntp
    ? {
        tpBase: ntp.tp_base.value ?? modules[0]?.degrees?.tp ?? 1,
        tpSpares: valueOr(ntp.tp_spares, 0) ?? 0,
        numReducedTpDpRanks: valueOr(ntp.num_reduced_tp_dp_ranks, 1) ?? 1,
        nonActive: nonActiveOf(ntp.non_active_ranks_per_dp.value),
        failedRanks: valuesOf(ntp.failed_ranks.value),
        placement: ntp.placement.value ?? 'nominal',
      }
    : null;
}

function nonActiveOf(entries: readonly Field<Section<SlotEntryKeys>>[] | undefined): ResolvedNonActive[] | null {
  const nonActive = entries?.flatMap(({ value: entry }) => {
    const { dp, cp, pp, local_ranks: slots } = entry ?? {};
    return dp?.value === undefined
      ? []
      : [{ dp: dp.value, cp: cp?.value ?? null, pp: pp?.value ?? null, localRanks: valuesOf(slots?.value) }];
  });
  return nonActive ?? null;
}
