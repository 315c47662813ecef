import { LANGUAGE_MODULE } from '../format/names';
import { Grid, type GridGroups, RankLists } from '../grid/grid';
import { memoize, memoizeRecent } from '../memoize';
import { bridgeFamilies } from './bridge';
import type { GroupFamily } from './groupFamily';
import { type GroupName, groupKind, MODULE_GROUPS } from './groupKinds';
import { DENSE_DIMS, EXPERT_DIMS } from './moduleGrid';
import { isPacked, packedFamilies } from './packed';
import type { DynamicContextParallel, ResolvedLayout, ResolvedModule } from './resolved';

/** The grid over a module's ranks in which dense parameters live. */
export function denseGrid(module: ResolvedModule): Grid {
  return new Grid(module.dense, module.rankOffset);
}

/** The grid over the same ranks in which expert parameters live. */
export function expertGrid(module: ResolvedModule): Grid {
  return new Grid(module.expert, module.rankOffset);
}

/** A grid's dimensions laid over the same ranks in another order, the fastest first. */
export function laidOut(grid: Grid, order: readonly string[]): Grid {
  return new Grid(order.map((name) => ({ name, size: grid.sizeOf(name) })));
}

/**
 * Every process group that the layout asks for, in Megatron's creation order: module by module in the order of the file
 * (megatron/core/parallel_state.py `initialize_model_parallel`; examples/mimo/training/topology.py `create_topology`).
 */
export const processGroups: (layout: ResolvedLayout) => readonly GroupFamily[] = memoizeRecent(familiesOf);

/** Versions without generalized TP have no group with its dimension. */
function familiesOf(layout: ResolvedLayout): GroupFamily[] {
  const families = allFamilies(layout);
  return layout.generalizedTp ? families : families.filter(({ name }) => !name.includes('gtp_remat'));
}

function allFamilies(layout: ResolvedLayout): GroupFamily[] {
  const { ntp, meshes } = layout;
  if (meshes.length > 0) {
    return meshes.flatMap(({ axes, groups }) => {
      const grid = new Grid(axes);
      return groups.map((group) => fromGrid(group.name, null, grid.groups(group.axes)));
    });
  }
  if (isPacked(ntp)) {
    return layout.modules.flatMap((module) => {
      const grid = denseGrid(module);
      return packedFamilies(ntp, { cp: grid.sizeOf('cp'), dp: grid.sizeOf('dp') }, module.name);
    });
  }
  if (layout.mode === 'homogeneous') {
    return layout.modules.flatMap((module) => homogeneousFamilies(module, layout));
  }
  const families = layout.modules.flatMap((module) => MODULE_GROUPS.map((name) => gridFamily(module, name)));
  const language = layout.modules.find((module) => module.name === LANGUAGE_MODULE);
  return language ? [...families, ...embeddingFamilies(language), ...bridgeFamilies(layout)] : families;
}

/** The groups of a kind that are all ranks along some dimensions of a module's grid. */
function gridFamily(module: ResolvedModule, name: GroupName): GroupFamily {
  const { grid = 'dense', dims = [] } = groupKind(name)?.spans ?? {};
  return fromGrid(name, module.name, (grid === 'dense' ? denseGrid(module) : expertGrid(module)).groups(dims));
}

/** The groups of `parallelism`, in the order of `initialize_model_parallel` (megatron/core/parallel_state.py). */
function homogeneousFamilies(module: ResolvedModule, layout: ResolvedLayout): GroupFamily[] {
  const grid = denseGrid(module);
  const experts = expertGrid(module);
  const made = (...names: readonly GroupName[]) => names.map((name) => gridFamily(module, name));
  const instances = layout.optimizerInstances;
  const hierarchical = layout.hierarchicalContextParallelSizes;
  const dpCp = gridFamily(module, 'dp_cp');
  const epDp = gridFamily(module, 'ep_dp');
  const gtp = grid.sizeOf('gtp_remat') > 1;
  const expertGtp = experts.sizeOf('expt_gtp_remat') > 1;
  return [
    ...made('gtp_remat'),
    dpCp,
    ...(instances > 1 ? [runs('intra_dp_cp', dpCp, dpCp.size / instances)] : []),
    ...dynamicFamilies(dpCp, layout.dynamicContextParallel),
    ...made('dp', ...(gtp ? (['gtp_remat_dp', 'gtp_remat_dp_cp'] as const) : []), 'cp'),
    ...(hierarchical ? [levels('hcp', gridFamily(module, 'cp'), hierarchical)] : []),
    ...made('mp', 'tp', 'pp'),
    ...embeddingFamilies(module),
    ...made('tp_dp_cp', 'tp_dp', 'tp_cp'),
    ...made('expt_gtp_remat', 'ep', 'ep_tp', 'tp_ep_mp', 'tp_ep_pp', 'tp_ep_gtp_remat_pp'),
    epDp,
    ...(instances > 1
      ? [runs('intra_ep_dp', epDp, epDp.size / instances), strided('inter_ep_dp', epDp, epDp.size / instances)]
      : []),
    ...(expertGtp ? made('ep_gtp_remat_dp') : []),
    optimizerInstanceFamily(module, experts, instances, gtp || expertGtp),
    // `create_all_gather_groups` does not know the order of the job
    ...(layout.allGatherGroup
      ? [fromGrid('dp_cp_ag', module.name, laidOut(grid, DENSE_DIMS).groups(['dp', 'cp']))]
      : []),
    ...(layout.expertAllGatherGroup
      ? [fromGrid('expt_dp_ag', module.name, laidOut(experts, EXPERT_DIMS).groups(['expt_dp']))]
      : []),
  ];
}

function fromGrid(name: string, module: string | null, groups: GridGroups): GroupFamily {
  return {
    name,
    module,
    grid: groups,
    count: groups.count,
    size: groups.size,
    ranks: (index) => groups.ranks(index),
    all: () => groups.all(),
    indicesOf: (rank) => groups.indicesOf(rank),
  };
}

/** The first and last ranks of every pipeline group, and the first ones (`default_embedding_ranks`). */
function embeddingFamilies(module: ResolvedModule): GroupFamily[] {
  const pipelines = denseGrid(module).groups(['pp']);
  const stages = (name: string, places: readonly number[]): GroupFamily => ({
    name,
    module: module.name,
    count: pipelines.count,
    size: places.length,
    ranks: (index) => {
      const ranks = pipelines.ranks(index);
      return places.map((place) => ranks[place] ?? 0);
    },
    all: () => pipelines.allAt(places),
    indicesOf: (rank) => (places.includes(pipelines.placeOf(rank)) ? pipelines.indicesOf(rank) : []),
  });
  return [stages('embd', [...new Set([0, pipelines.size - 1])]), stages('pos_embd', [0])];
}

/**
 * Groups of 2, 4, 8, ... neighbours in every `dp_cp` group, below half of it; those of a group whose size is no power of
 * two end with a short one (`create_hybrid_dp_cp_groups` on main, `create_dynamic_dp_cp_groups` on dev, which begins at 1).
 */
function dynamicFamilies(dpCp: GroupFamily, dynamic: DynamicContextParallel | null): GroupFamily[] {
  if (!dynamic) {
    return [];
  }
  const { kind, minSize } = dynamic;
  const exponents = Array.from({ length: Math.floor(Math.log2(dpCp.size)) }, (_, i) => 2 ** i);
  const sizes = kind === 'hybrid' ? exponents.slice(1) : exponents.filter((size) => size >= minSize);
  return sizes.map((size) => runs(`${kind}_dp_cp_${size}`, dpCp, size));
}

/** Cuts every group of a family into runs of `size` neighbours, the last of which may be shorter. */
function runs(name: string, family: GroupFamily, size: number): GroupFamily {
  const parts = Math.ceil(family.size / size);
  const ranks = (index: number) => {
    const start = (index % parts) * size;
    return family.ranks(Math.floor(index / parts)).slice(start, start + size);
  };
  return {
    name,
    module: family.module,
    count: family.count * parts,
    size,
    ranks,
    all: () =>
      family.size % size === 0
        ? RankLists.even(family.all().ranks, size)
        : RankLists.of(family.count * parts, family.count * family.size, ranks),
    indicesOf: (rank) =>
      family.indicesOf(rank).map((group) => group * parts + Math.floor(family.ranks(group).indexOf(rank) / size)),
  };
}

/**
 * The groups of Megatron-FSDP's device mesh by their roles (`FSDPDistributedIndex` in
 * megatron/core/distributed/fsdp/src/megatron_fsdp/utils.py). They are process groups by other names, in the order of their
 * first ranks; none where there is no mesh.
 */
export function meshGroups(layout: ResolvedLayout): GroupFamily[] {
  if (!layout.fsdpMesh) {
    return [];
  }
  const { experts } = layout.fsdpMesh;
  const isHybrid = layout.optimizerInstances > 1;
  const roles: readonly (readonly [role: string, group: string, exists: boolean])[] = [
    ['fsdp', isHybrid ? 'intra_dp_cp' : 'dp_cp', true],
    ['outer_fsdp', 'inter_ep_dp', isHybrid],
    ['hybrid_fsdp', 'dp_cp', isHybrid],
    ['expt_fsdp', isHybrid ? 'intra_ep_dp' : 'ep_dp', experts],
    ['hybrid_fsdp_expt', 'ep_dp', isHybrid],
  ];
  const families = processGroups(layout);
  return roles.flatMap(([role, group, exists]) => {
    const family = exists ? families.find(({ name }) => name === group) : undefined;
    return family ? [byFirstRank(role, family)] : [];
  });
}

/** A family under another name, its groups in the order of their first ranks. */
function byFirstRank(name: string, family: GroupFamily): GroupFamily {
  const order = memoize((of: GroupFamily) => {
    const firsts = Array.from({ length: of.count }, (_, index) => Math.min(...of.ranks(index)));
    return firsts.map((_, index) => index).sort((a, b) => (firsts[a] ?? 0) - (firsts[b] ?? 0));
  });
  const ranks = (index: number) => family.ranks(order(family)[index] ?? 0);
  return {
    name,
    module: family.module,
    count: family.count,
    size: family.size,
    ranks,
    all: () => RankLists.of(family.count, family.count * family.size, ranks),
    indicesOf: (rank) => family.indicesOf(rank).map((index) => order(family).indexOf(index)),
  };
}

/** Joins, in every group of a family, the ranks that stand `step` places apart. */
function strided(name: string, family: GroupFamily, step: number): GroupFamily {
  const places = new Grid([
    { name: 'step', size: step },
    { name: 'member', size: family.size / step },
  ]).groups(['member']);
  return {
    name,
    module: family.module,
    count: family.count * step,
    size: family.size / step,
    ranks: (index) => {
      const ranks = family.ranks(Math.floor(index / step));
      return ranks.filter((_, place) => place % step === index % step);
    },
    all: () => family.all().picked(places.all().ranks, places.size),
    indicesOf: (rank) =>
      family.indicesOf(rank).map((group) => group * step + (family.ranks(group).indexOf(rank) % step)),
  };
}

/**
 * The levels of hierarchical context parallelism: every `cp` group seen as a grid of `sizes` (the first level varies
 * fastest), and along each of its dimensions one set of groups, level by level (`create_hierarchical_groups`).
 */
function levels(name: string, family: GroupFamily, sizes: readonly number[]): GroupFamily {
  const local = new Grid(sizes.map((size, level) => ({ name: String(level), size })));
  const perLevel = sizes.map((_, level) => local.groups([String(level)]));
  const starts: number[] = [];
  let count = 0;
  for (const groups of perLevel) {
    starts.push(count);
    count += groups.count * family.count;
  }
  return {
    name,
    module: family.module,
    count,
    size: Math.max(...sizes),
    ranks: (index) => {
      const level = starts.findLastIndex((start) => start <= index);
      const groups = perLevel[level];
      if (!groups) {
        return [];
      }
      const at = index - (starts[level] ?? 0);
      const members = family.ranks(Math.floor(at / groups.count));
      return groups.ranks(at % groups.count).map((place) => members[place] ?? 0);
    },
    all: () => RankLists.joined(perLevel.map((groups) => family.all().picked(groups.all().ranks, groups.size))),
    indicesOf: (rank) =>
      family.indicesOf(rank).flatMap((group) => {
        const place = family.ranks(group).indexOf(rank);
        return perLevel.map((groups, level) => (starts[level] ?? 0) + group * groups.count + groups.groupOf(place));
      }),
  };
}

/**
 * The ranks that hold one instance of the distributed optimizer: `expt_dp / instances` neighbouring expert model groups
 * joined, or the whole world under generalized TP (`_INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP`).
 */
function optimizerInstanceFamily(
  module: ResolvedModule,
  grid: Grid,
  instances: number,
  wholeWorld: boolean,
): GroupFamily {
  const name = 'intra_dist_opt_instance';
  if (wholeWorld) {
    return fromGrid(name, module.name, grid.groups(grid.axes.map((axis) => axis.name)));
  }
  const model = grid.groups(['expt_tp', 'ep', 'pp']);
  const joined = model.count / instances;
  return {
    name,
    module: module.name,
    count: instances,
    size: joined * model.size,
    ranks: (index) => Array.from({ length: joined }, (_, i) => model.ranks(index * joined + i)).flat(),
    all: () => RankLists.even(model.all().ranks, joined * model.size),
    indicesOf: (rank) => model.indicesOf(rank).map((group) => Math.floor(group / joined)),
  };
}
