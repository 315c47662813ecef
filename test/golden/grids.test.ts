import { describe, expect, test } from 'vitest';
import { check, groupNameOf, isBridge, meshGroups, processGroups } from '../../layout';
import { Grid } from '../../layout/grid/grid';
import {
  expectGroups,
  type GoldenCase,
  type GoldenError,
  type GoldenGroups,
  layoutText,
  loadGolden,
  predictions,
  ranksOf,
  testLayouts,
  verdictOf,
} from './golden';
import {
  type CallInput,
  type Inputs,
  isOneWorld,
  type MimoFlags,
  mimoFlagsText,
  type ParallelInput,
  parallelText,
  type TopologyInput,
  topologyText,
} from './inputs';

/** Inputs that Megatron-LM does not look at, such as sizes below 1, and that no layout may have. */
const isOdd = ({ id }: { readonly id: string }): boolean => id.includes('odd');

interface CallExpect extends GoldenGroups {
  readonly group_order: readonly string[];
  readonly all_gather?: { readonly ok: boolean; readonly error: GoldenError | null } & GoldenGroups;
}

const LEVEL = /^HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L\d+$/;

testLayouts<CallInput, CallExpect>('layouts of initialize_model_parallel', 'homogeneous', {
  text: ({ input }) => (isOneWorld(input) ? parallelText(input) : null),
  verdict: (one) => (one.ok && isOdd(one) ? 'refused' : verdictOf(one.error)),
  accepted: ({ resolved }, { expect: golden }) => {
    const families = resolved ? processGroups(resolved) : [];
    const own = families.filter(({ name }) => name !== 'hcp');
    const order = golden.group_order.filter((name) => !LEVEL.test(name));
    expect(own.map(({ name }) => name)).toEqual(order.map(groupNameOf));
    for (const [i, family] of own.entries()) {
      expectGroups(order[i] ?? '', ranksOf(family), golden);
    }
    if (golden.groups) {
      const levels = golden.group_order.filter((name) => LEVEL.test(name));
      const hierarchical = families.filter(({ name }) => name === 'hcp').flatMap(ranksOf);
      expect(hierarchical).toEqual(levels.flatMap((name) => golden.groups?.[name] ?? []));
    }
  },
});

testLayouts<CallInput, CallExpect>('layouts of create_all_gather_groups', 'homogeneous', {
  text: ({ input, expect: { all_gather } }) => {
    if (!all_gather || input.local_world_size !== null) {
      return null;
    }
    const create_expert_all_gather_group = (input.ep > 1 && input.all_gather?.for_expert_parallelism) || null;
    return parallelText(input, {
      batch: { micro_batch_size: 1, global_batch_size: input.world_size },
      fsdp: { enabled: true, create_all_gather_group: true, create_expert_all_gather_group },
    });
  },
  verdict: ({ expect: { all_gather } }) => verdictOf(all_gather?.error),
  // groups that Megatron-LM makes wrongly, as it does not know the order of the job
  beyond: () => ['all-gather-groups'],
  accepted: ({ resolved }, { expect: { all_gather } }) => {
    const families = resolved ? processGroups(resolved) : [];
    for (const [name, lists] of Object.entries(all_gather?.groups ?? {})) {
      expect(families.filter((family) => family.name === groupNameOf(name)).flatMap(ranksOf)).toEqual(lists);
    }
  },
});

interface TopologyExpect {
  readonly mode: string;
  readonly modules: readonly (GoldenGroups & { readonly name: string; readonly group_order: readonly string[] })[];
  readonly language_groups?: Readonly<Record<string, number[][]>>;
  readonly language_groups_sha256?: Readonly<Record<string, { readonly sha256: string }>>;
}

testLayouts<TopologyInput, TopologyExpect>('layouts of create_topology', 'hetero', {
  text: (one) => (one.ok && isOdd(one) ? null : topologyText(one.input)),
  // create_topology builds colocated grids that the bridge between them then refuses
  beyond: ({ expect: { mode } }) => (mode === 'colocated' ? ['colocated-bridge'] : []),
  accepted: ({ resolved }, { expect: golden }) => {
    expect(resolved?.mode).toBe(golden.mode);
    const families = resolved ? processGroups(resolved) : [];
    for (const module of golden.modules) {
      const own = families.filter(({ module: of, name }) => of === module.name && !/embd|bridge/.test(name));
      expect(own.map(({ name }) => name)).toEqual(module.group_order);
      for (const family of own) {
        expectGroups(family.name, ranksOf(family), module);
      }
    }
    for (const name of ['embd', 'pos_embd']) {
      const lists = families.filter((family) => family.name === name).flatMap(ranksOf);
      expectGroups(name, lists, { groups: golden.language_groups, groups_sha256: golden.language_groups_sha256 });
    }
  },
});

testLayouts<MimoFlags, { readonly specs_error: GoldenError | null }>('layouts of examples/mimo', 'hetero_args', {
  text: ({ input }) => mimoFlagsText(input),
  verdict: (one) => {
    const verdict = verdictOf(one.error ?? one.expect.specs_error);
    return verdict !== 'accepted' && isOdd(one) ? 'refused' : verdict;
  },
});

/** Our names of the revisions. */
const VERSIONS: Readonly<Record<string, string>> = {
  dev: 'dev',
  'core_v0.18.2': 'core_r0.18',
  'core_v0.19.0': 'core_r0.19',
};

interface DriftInput {
  readonly kind: string;
  readonly revision: string;
  readonly case: unknown;
}

function driftText({ kind, revision, case: input }: DriftInput): string | null {
  const megatron = VERSIONS[revision];
  switch (input === null ? null : kind) {
    case 'homogeneous':
      return parallelText(input as ParallelInput, { megatron });
    case 'hetero':
      return topologyText(input as TopologyInput, megatron);
    case 'hetero_args':
      return mimoFlagsText(input as MimoFlags, megatron);
    default:
      return null;
  }
}

interface DriftExpect {
  readonly specs_error?: GoldenError | null;
  readonly fields?: { readonly specs_error?: { readonly other: GoldenError | null } };
}

testLayouts<DriftInput, DriftExpect>('layouts that another version judges in another way than main', 'version_drift', {
  text: ({ input }) => driftText(input),
  verdict: (one) => {
    const error = one.error ?? one.expect.fields?.specs_error?.other ?? one.expect.specs_error;
    // arguments that a version lacks are refused by Python, in words that rules know
    return error && !isOdd(one) ? { words: error.message } : verdictOf(error);
  },
});

interface ShardsInput {
  readonly tensor_model_parallel_size: number;
  readonly tensor_parallel_num_weight_shards: number | null;
  readonly gtp_weight_remat_size: number;
  readonly expert: boolean;
}

testLayouts<ShardsInput, { readonly gtp_weight_remat_size: number }>('weight shards', 'gtp_args', {
  text: ({ input, ok, expect: golden }) => {
    const { tensor_model_parallel_size: tp, tensor_parallel_num_weight_shards: shards, expert } = input;
    const gtp_remat = input.gtp_weight_remat_size;
    const parallelism = expert
      ? { expt_tp: tp, expt_num_weight_shards: shards, expt_gtp_remat: gtp_remat }
      : { tp, num_weight_shards: shards, gtp_remat };
    const world_size = tp * (ok ? golden.gtp_weight_remat_size : 1);
    return layoutText({ world_size, parallelism, batch: { micro_batch_size: 1, global_batch_size: world_size } });
  },
  // a degree of 0 beside a number of shards: Megatron-LM does not look at it
  verdict: (one) => (one.ok && isOdd(one) ? 'refused' : verdictOf(one.error)),
  accepted: ({ facts }, { input, expect: golden }) => {
    const degrees = facts?.modules[0]?.degrees;
    expect(input.expert ? degrees?.exptGtpRemat : degrees?.gtpRemat).toBe(golden.gtp_weight_remat_size);
  },
});

interface ContextInput extends ParallelInput {
  readonly revision: 'main' | 'dev';
  readonly min_size: number;
}

interface ContextExpect extends GoldenGroups {
  readonly group_order: readonly string[];
}

testLayouts<ContextInput, ContextExpect>('groups of hybrid and dynamic context parallelism', 'hybrid_cp_groups', {
  text: ({ input: { revision, min_size, tp, pp, cp, ep, gtp_remat, order, world_size } }) => {
    const dynamic = { dynamic_context_parallel: true, min_dynamic_context_parallel_size: min_size };
    const kind = revision === 'main' ? { hybrid_context_parallel: true } : dynamic;
    const parallelism = { tp, pp, cp, ep, gtp_remat, order, ...kind };
    return layoutText({ world_size, megatron: revision, parallelism });
  },
  verdict: ({ input, error }) => (error && input.pp > 1 ? 'refused' : verdictOf(error)),
  // the training script refuses a pipeline; a bare call makes its groups
  beyond: ({ input }) => (input.pp > 1 ? ['dynamic-cp'] : []),
  accepted: ({ resolved }, { expect: golden }) => {
    const families = resolved ? processGroups(resolved) : [];
    const own = families.filter(({ name }) => /^(hybrid|dynamic)_dp_cp_/.test(name));
    const goldenName = (name: string) => name.toUpperCase().replace('_CP_', '_CP_GROUP_');
    expect(own.map(({ name }) => goldenName(name))).toEqual(golden.group_order);
    expect(Object.fromEntries(own.map((family) => [goldenName(family.name), ranksOf(family)]))).toEqual(golden.groups);
  },
});

interface MeshInput extends ParallelInput {
  readonly version: number;
  readonly num_experts: number | null;
  readonly data_parallel_sharding_strategy: string;
  readonly outer_dp_sharding_strategy: string;
}

const MESHES = ['fsdp', 'outer_fsdp', 'hybrid_fsdp', 'expt_fsdp', 'hybrid_fsdp_expt'];

testLayouts<MeshInput, Readonly<Record<string, number[][] | null>>>('device meshes of Megatron-FSDP', 'fsdp_mesh', {
  text: ({ input }) => {
    const { version: megatron_fsdp_version, num_experts, data_parallel_sharding_strategy } = input;
    const { outer_dp_sharding_strategy } = input;
    const model = num_experts === null ? null : { num_experts };
    const strategies = { data_parallel_sharding_strategy, outer_dp_sharding_strategy };
    return parallelText(input, { model, fsdp: { enabled: true, megatron_fsdp_version, ...strategies } });
  },
  accepted: ({ resolved }, { input, expect: golden }) => {
    const groups = resolved ? meshGroups(resolved) : [];
    for (const name of input.version === 1 ? MESHES : []) {
      const family = groups.find((one) => one.name === name);
      expect(family ? ranksOf(family) : null, name).toEqual(golden[`${name}_group`]);
    }
  },
});

interface GridInput {
  readonly shape: readonly number[];
  readonly dim_names: readonly string[];
  readonly rank_offset: number;
}

interface BridgeInput {
  readonly world_size: number;
  readonly src: GridInput;
  readonly dest: GridInput;
  readonly batch_sizes: readonly number[];
}

interface BridgeExpect {
  readonly direction: string;
  readonly scale: number;
  readonly gather_group_ranks: readonly (readonly number[])[];
  readonly ranks: Readonly<Record<string, { readonly gather_group: readonly number[] | null }>>;
}

const MODULE_ORDER = ['tp', 'gtp_remat', 'cp', 'dp', 'pp'];

/** A layout's modules have their dims in one order, and colocated ones cover the whole world from rank 0. */
function isColocatedGrid(world_size: number, { shape, dim_names, rank_offset }: GridInput): boolean {
  const places = dim_names.filter((_, i) => (shape[i] ?? 1) > 1).map((name) => MODULE_ORDER.indexOf(name));
  return (
    places.every((place, i) => place > (places[i - 1] ?? -1)) &&
    ['tp', 'dp'].every((name) => dim_names.includes(name)) &&
    rank_offset === 0 &&
    shape.reduce((n, size) => n * size, 1) === world_size
  );
}

function bridgeText({ world_size, src, dest }: BridgeInput, micro_batch_size?: number): string | null {
  if (!isColocatedGrid(world_size, src) || !isColocatedGrid(world_size, dest)) {
    return null;
  }
  const module = ({ shape, dim_names }: GridInput): Inputs => ({
    ...Object.fromEntries(dim_names.map((name, i) => [name, shape[i]])),
    num_ranks: world_size,
    dp: null,
  });
  const batch = micro_batch_size === undefined ? null : { micro_batch_size };
  return layoutText({ world_size, modules: { images: module(src), language: module(dest) }, batch });
}

/** Under generalized TP some ranks are in no gather group and wait in the world group: accepted, and hangs. */
const hangs = ({ expect: { gather_group_ranks, ranks } }: GoldenCase<BridgeInput, BridgeExpect>): boolean =>
  gather_group_ranks.length > 0 && Object.values(ranks).some((rank) => rank.gather_group === null);

testLayouts<BridgeInput, BridgeExpect>('bridges between colocated modules', 'colocated_bridge', {
  text: ({ input }) => bridgeText(input),
  verdict: (one) => (one.ok && hangs(one) ? 'refused' : verdictOf(one.error)),
  accepted: ({ resolved }, { input, expect: { direction, scale, gather_group_ranks } }) => {
    const bridges = resolved ? processGroups(resolved).filter(isBridge) : [];
    expect(bridges.map((bridge) => [bridge.direction, bridge.scale])).toEqual([[direction, scale]]);
    expect(bridges.flatMap(ranksOf)).toEqual(gather_group_ranks);
    for (const size of input.batch_sizes) {
      const words = `ColocatedBridgeCommunicator: batch dim size ${size} is not divisible by ${direction} scale=${scale}.`;
      expect(predictions(check(bridgeText(input, size) ?? ''))).toEqual(size % scale === 0 ? [] : [words]);
    }
  },
});

interface View {
  readonly shape: readonly number[];
  readonly dim_names: readonly string[];
}

interface CommInput extends View {
  readonly rank_offset: number;
  readonly views: readonly (View & { readonly name: string })[];
  readonly queries: readonly { readonly dims: string | readonly string[]; readonly view: string | null }[];
}

interface CommExpect {
  readonly size: number;
  /** Rank lists of `get_rank_enum` and `create_pg`; null for another query, and for a refused one. */
  readonly queries: readonly { readonly enum: readonly (readonly number[])[] | null }[];
}

/** A view of a grid; without a name the grid's own dimensions. */
function gridOf(input: CommInput, name: string | null): Grid {
  const { shape, dim_names } = input.views.find((view) => view.name === name) ?? input;
  return new Grid(
    dim_names.map((dim, i) => ({ name: dim, size: shape[i] ?? 1 })),
    input.rank_offset,
  );
}

describe('rank lists of HyperCommGrid', () => {
  // a layout cannot give two dimensions one name
  const cases = loadGolden<CommInput, CommExpect>('hyper_comm_grid').filter(
    ({ ok, input }) => ok && new Set(input.dim_names).size === input.dim_names.length,
  );

  test.each(cases)('$id', ({ input, expect: golden }) => {
    expect(gridOf(input, null).size).toBe(golden.size);
    for (const [i, { dims, view }] of input.queries.entries()) {
      const expected = golden.queries[i]?.enum;
      if (expected) {
        const groups = gridOf(input, view).groups([dims].flat());
        expect(Array.from({ length: groups.count }, (_, group) => groups.ranks(group))).toEqual(expected);
      }
    }
  });
});
