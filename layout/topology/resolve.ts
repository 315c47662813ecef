import type { Dim } from '../grid/grid';
import { type LayoutFacts, type ModuleFacts, valueOr } from './facts';
import { parallelismDims } from './generators';
import type { ResolvedLayout, ResolvedModule, ResolvedNtp } from './resolved';

/** The dims of one of `modules`, the fastest first (`_build_grid` in examples/mimo/training/topology.py). */
const MODULE_DENSE = ['tp', 'gtp_remat', 'cp', 'dp', 'pp'];
const MODULE_EXPERT = ['expt_tp', 'ep', 'expt_gtp_remat', 'expt_dp', 'pp'];

const known = new WeakMap<LayoutFacts, ResolvedLayout | null>();

/** The layout with every number known, or null where the file leaves one open or a grid does not divide. */
export function resolveLayout(facts: LayoutFacts): ResolvedLayout | null {
  let layout = known.get(facts);
  // several rules ask for the same layout: it is worked out once
  if (layout === undefined) {
    layout = resolve(facts);
    known.set(facts, layout);
  }
  return layout;
}

function resolve(facts: LayoutFacts): ResolvedLayout | null {
  const { root, world } = facts;
  const modules = facts.modules.map((module) => resolveModule(module, facts));
  if (world.size === undefined || modules.length === 0 || !modules.every((module) => module !== null)) {
    return null;
  }
  const entries = root.modules.value;
  if (facts.heterogeneous && entries?.length !== modules.length) {
    return null;
  }
  const cluster = root.cluster.value;
  const gpusPerNode = cluster?.gpus_per_node.value ?? Math.min(world.size, 8);
  const parallelism = root.parallelism.value;
  const sizes = parallelism?.hierarchical_context_parallel_sizes.value?.map(({ value }) => value);
  const fsdp = root.fsdp.value;
  const allGatherGroup = fsdp?.create_all_gather_group.value ?? false;
  const ep = facts.modules[0]?.degrees?.ep ?? 1;
  return {
    name: root.name.value ?? null,
    worldSize: world.size,
    nodes: cluster?.nodes.value ?? Math.ceil(world.size / gpusPerNode),
    gpusPerNode,
    gpusPerNvlinkDomain: cluster?.gpus_per_nvlink_domain.value ?? gpusPerNode,
    mode: modeOf(facts, modules),
    modules,
    optimizerInstances: parallelism?.num_distributed_optimizer_instances.value ?? 1,
    hierarchicalContextParallelSizes: sizes?.every((size) => size !== undefined) ? sizes : null,
    allGatherGroup,
    expertAllGatherGroup: ep > 1 && (fsdp?.create_expert_all_gather_group.value ?? allGatherGroup),
    ntp: resolveNtp(facts),
  };
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

function resolveModule(module: ModuleFacts, facts: LayoutFacts): ResolvedModule | null {
  const { name, rankOffset, ranks, degrees, dp, exptDp } = module;
  if (rankOffset === undefined || ranks === undefined || !degrees || dp === undefined || exptDp === undefined) {
    return null;
  }
  const { tp, gtpRemat, cp, pp, ep, exptTp, exptGtpRemat } = degrees;
  const sizes: Readonly<Record<string, number>> = {
    tp,
    gtp_remat: gtpRemat,
    cp,
    dp,
    pp,
    ep,
    expt_tp: exptTp,
    expt_gtp_remat: exptGtpRemat,
    expt_dp: exptDp,
  };
  const dims = (names: readonly string[]): Dim[] => names.map((dim) => ({ name: dim, size: sizes[dim] ?? 1 }));
  if (name !== null) {
    return { name, rankOffset, numRanks: ranks, dense: dims(MODULE_DENSE), expert: dims(MODULE_EXPERT) };
  }
  const generators = parallelismDims(facts.root, module);
  // with packed nonuniform TP the spares of the grid are not launched
  return generators && { name, rankOffset, numRanks: facts.world.size ?? ranks, ...generators };
}

/** The settings of nonuniform TP with their defaults; null where the file has none. */
export function resolveNtp({ root, modules }: LayoutFacts): ResolvedNtp | null {
  const ntp = root.ntp.value;
  if (!ntp) {
    return null;
  }
  const entries = ntp.non_active_ranks_per_dp.value?.map(({ value }) => value);
  const nonActive = entries?.flatMap((entry) =>
    entry?.dp.value === undefined
      ? []
      : [
          {
            dp: entry.dp.value,
            cp: entry.cp.value ?? null,
            pp: entry.pp.value ?? null,
            localRanks: (entry.local_ranks.value ?? []).flatMap(({ value }) => value ?? []),
          },
        ],
  );
  return {
    tpBase: ntp.tp_base.value ?? modules[0]?.degrees?.tp ?? 1,
    tpSpares: valueOr(ntp.tp_spares, 0) ?? 0,
    numReducedTpDpRanks: valueOr(ntp.num_reduced_tp_dp_ranks, 1) ?? 1,
    nonActive: nonActive ?? null,
    failedRanks: (ntp.failed_ranks.value ?? []).flatMap(({ value }) => value ?? []),
    placement: ntp.placement.value ?? 'nominal',
  };
}
