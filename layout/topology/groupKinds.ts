/** A kind of process groups: what it is called, who is in it, what it carries, when it exists. */
export interface GroupKind {
  /** The name that Megatron-LM's communicator options have for it; `N` stands for a number of ranks. */
  readonly name: string;
  /** The grid whose dimensions it spans, and those dimensions; left out where it is not all ranks along some dimensions. */
  readonly spans?: { readonly grid: 'dense' | 'expert'; readonly dims: readonly string[] };
  /** Its members in words, where the dimensions do not say it. */
  readonly members?: string;
  readonly carries: string;
  /** The condition under which it exists; left out where it always does. */
  readonly exists?: string;
  /**
   * What logs and traces call it (`group_desc` in megatron/core/parallel_state.py, main d98e8a64dd and dev d48bd6be0a); left out
   * for the roles of a mesh.
   */
  readonly description?: string;
  /** The key of the degree that it comes from, where that has not its name: a fault of the group is shown at its line. */
  readonly degree?: string;
}

const dense = (...dims: readonly string[]) => ({ spans: { grid: 'dense', dims } }) as const;
const expert = (...dims: readonly string[]) => ({ spans: { grid: 'expert', dims } }) as const;

/** Every kind of process groups, in the order of the reference. */
export const GROUP_KINDS = [
  {
    name: 'tp',
    ...dense('tp'),
    carries: 'activations of every layer: all-reduce, or all-gather and reduce-scatter with sequence parallelism',
    description: 'TENSOR_MODEL_PARALLEL_GROUP',
  },
  { name: 'cp', ...dense('cp'), carries: 'keys and values of attention', description: 'CONTEXT_PARALLEL_GROUP' },
  {
    name: 'hcp',
    members: 'levels of cp',
    carries: 'keys and values, all-to-all inside a level and point-to-point between',
    exists: 'hierarchical sizes written',
    description: 'HIERARCHICAL_CONTEXT_PARALLEL_GROUP',
    degree: 'cp',
  },
  {
    name: 'pp',
    ...dense('pp'),
    carries: 'activations and their gradients between stages',
    description: 'PIPELINE_MODEL_PARALLEL_GROUP',
  },
  {
    name: 'mp',
    ...dense('tp', 'gtp_remat', 'pp'),
    carries: 'the norm of gradients',
    description: 'MODEL_PARALLEL_GROUP',
    degree: 'pp',
  },
  {
    name: 'embd',
    members: 'first and last of each pp group',
    carries: 'gradients of tied embeddings',
    description: 'EMBEDDING_GROUP',
    degree: 'pp',
  },
  {
    name: 'pos_embd',
    members: 'first of each pp group',
    carries: 'gradients of position embeddings',
    description: 'POSITION_EMBEDDING_GROUP',
    degree: 'pp',
  },
  { name: 'dp', ...dense('dp'), carries: 'batches and losses', description: 'DATA_PARALLEL_GROUP' },
  {
    name: 'dp_cp',
    ...dense('dp', 'cp'),
    carries: 'gradients and parameters of dense layers',
    description: 'DATA_PARALLEL_GROUP_WITH_CP',
  },
  {
    name: 'intra_dp_cp',
    members: 'slices of dp_cp',
    carries: 'gradients and parameters inside one optimizer instance',
    exists: 'optimizer instances > 1',
    description: 'INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP',
  },
  {
    name: 'tp_dp_cp',
    ...dense('tp', 'gtp_remat', 'dp', 'cp'),
    carries: 'statistics of tokens and amax of fp8',
    description: 'TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP',
  },
  {
    name: 'tp_dp',
    ...dense('tp', 'gtp_remat', 'dp'),
    carries: 'statistics without context parallelism',
    description: 'TENSOR_AND_DATA_PARALLEL_GROUP',
  },
  {
    name: 'tp_cp',
    ...dense('tp', 'cp'),
    carries: 'load balance of routers',
    description: 'TENSOR_AND_CONTEXT_PARALLEL_GROUP',
  },
  {
    name: 'gtp_remat',
    ...dense('gtp_remat'),
    carries: 'weights that are gathered before use',
    description: 'GTP_WEIGHT_REMAT_GROUP',
  },
  {
    name: 'gtp_remat_dp',
    ...dense('gtp_remat', 'dp'),
    carries: 'gradients of replicated parameters',
    exists: 'gtp_remat > 1',
    description: 'DATA_PARALLEL_GROUP_WITH_GTP_REMAT',
  },
  {
    name: 'gtp_remat_dp_cp',
    ...dense('gtp_remat', 'dp', 'cp'),
    carries: 'gradients of replicated parameters',
    exists: 'gtp_remat > 1',
    description: 'DATA_PARALLEL_GROUP_WITH_CP_WITH_GTP_REMAT',
  },
  {
    name: 'ep',
    ...expert('ep'),
    carries: 'tokens to their experts: all-to-all',
    description: 'EXPERT_MODEL_PARALLEL_GROUP',
  },
  {
    name: 'ep_tp',
    ...expert('expt_tp'),
    carries: 'activations of experts',
    description: 'EXPERT_TENSOR_PARALLEL_GROUP',
    degree: 'expt_tp',
  },
  {
    name: 'tp_ep_mp',
    ...expert('expt_tp', 'ep'),
    carries: 'tokens gathered and scattered by the dispatcher',
    description: 'EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP',
    degree: 'ep',
  },
  {
    name: 'tp_ep_pp',
    ...expert('expt_tp', 'ep', 'pp'),
    carries: 'the norm of gradients of experts',
    description: 'EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP',
    degree: 'ep',
  },
  {
    name: 'tp_ep_gtp_remat_pp',
    ...expert('expt_tp', 'ep', 'expt_gtp_remat', 'pp'),
    carries: 'the same with generalized TP',
    description: 'EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP_WITH_EGTP',
  },
  {
    name: 'ep_dp',
    ...expert('expt_dp'),
    carries: 'gradients and parameters of experts',
    description: 'EXPERT_DATA_PARALLEL_GROUP',
    degree: 'ep',
  },
  {
    name: 'intra_ep_dp',
    members: 'slices of ep_dp',
    carries: 'gradients of experts inside one optimizer instance',
    exists: 'optimizer instances > 1',
    description: 'HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L0',
  },
  {
    name: 'inter_ep_dp',
    members: 'one of each slice of ep_dp',
    carries: 'gradients between optimizer instances',
    exists: 'optimizer instances > 1',
    description: 'HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L1',
  },
  {
    name: 'expt_gtp_remat',
    ...expert('expt_gtp_remat'),
    carries: 'weights of experts that are gathered before use',
    description: 'EXPERT_GTP_WEIGHT_REMAT_GROUP',
  },
  {
    name: 'ep_gtp_remat_dp',
    ...expert('expt_gtp_remat', 'expt_dp'),
    carries: 'gradients of experts',
    exists: 'expt_gtp_remat > 1',
    description: 'EXPERT_DATA_PARALLEL_GROUP_WITH_GTP_REMAT',
  },
  {
    name: 'intra_dist_opt_instance',
    // in a module; `parallelism` has one for each optimizer instance
    ...dense('tp', 'gtp_remat', 'cp', 'dp', 'pp'),
    members: 'the ranks of one optimizer instance',
    carries: 'the norm of gradients, found infinities',
    description: 'INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP',
  },
  {
    name: 'hybrid_dp_cp_N',
    members: 'N neighbours of dp_cp',
    carries: 'keys and values of one sequence',
    exists: 'hybrid_context_parallel (main and releases)',
    description: 'HYBRID_DP_CP_GROUP_N',
  },
  {
    name: 'dynamic_dp_cp_N',
    members: 'N neighbours of dp_cp',
    carries: 'keys and values of one sequence',
    exists: 'dynamic_context_parallel (dev)',
    description: 'DYNAMIC_DP_CP_GROUP_N',
  },
  {
    name: 'dp_cp_ag',
    members: 'as dp_cp',
    carries: 'parameters, while dp_cp reduces gradients',
    exists: 'fsdp.create_all_gather_group',
    description: 'DATA_PARALLEL_GROUP_WITH_CP_AG',
  },
  {
    name: 'expt_dp_ag',
    members: 'as ep_dp',
    carries: 'parameters of experts',
    exists: 'fsdp.create_expert_all_gather_group and ep > 1',
    description: 'EXPERT_DATA_PARALLEL_GROUP_AG',
    degree: 'ep',
  },
  {
    name: 'fsdp',
    members: 'as dp_cp, or intra_dp_cp with several instances',
    carries: 'sharded parameters and gradients',
    exists: 'fsdp.enabled',
  },
  {
    name: 'outer_fsdp',
    members: 'as inter_ep_dp',
    carries: 'gradients between shards (hybrid sharding)',
    exists: 'fsdp.enabled, instances > 1',
  },
  { name: 'hybrid_fsdp', members: 'as dp_cp', carries: 'both together', exists: 'fsdp.enabled, instances > 1' },
  {
    name: 'expt_fsdp',
    members: 'as ep_dp, or intra_ep_dp with several instances',
    carries: 'sharded parameters of experts',
    exists: 'fsdp.enabled, experts',
  },
  {
    name: 'hybrid_fsdp_expt',
    members: 'as ep_dp',
    carries: 'both together, of experts',
    exists: 'fsdp.enabled, instances > 1',
  },
] as const satisfies readonly GroupKind[];

/** The name of a kind of process groups. */
export type GroupName = (typeof GROUP_KINDS)[number]['name'];

const ALL: readonly GroupKind[] = GROUP_KINDS;

/** The kinds by their names; one of many kinds is looked for at every group of a layout. */
const BY_NAME: ReadonlyMap<string, GroupKind> = new Map(ALL.map((kind) => [kind.name, kind]));
const BY_DESCRIPTION: ReadonlyMap<string, GroupKind> = new Map(
  ALL.flatMap((kind) => (kind.description === undefined ? [] : [[kind.description, kind]])),
);

/** The groups of one of `modules`, in the order of `_build_grid` (examples/mimo/training/topology.py). */
export const MODULE_GROUPS: readonly GroupName[] = [
  ...(['tp', 'gtp_remat', 'cp', 'pp', 'dp', 'dp_cp', 'gtp_remat_dp_cp', 'tp_cp', 'mp', 'tp_dp', 'tp_dp_cp'] as const),
  'intra_dist_opt_instance',
  ...([
    'ep',
    'ep_tp',
    'expt_gtp_remat',
    'ep_dp',
    'tp_ep_mp',
    'tp_ep_pp',
    'tp_ep_gtp_remat_pp',
    'ep_gtp_remat_dp',
  ] as const),
];

/**
 * The kind of a process group; undefined for one that no kind describes, such as a bridge.
 * @param name a number stands for the `N` of `hybrid_dp_cp_N` and `dynamic_dp_cp_N`
 */
export function groupKind(name: string): GroupKind | undefined {
  return BY_NAME.get(name) ?? BY_NAME.get(name.replace(/_\d+$/, '_N'));
}

/** The kind of groups whose ranks differ along one dimension alone; the dimension itself where no kind has it. */
export function groupAlong(dim: string): string {
  return ALL.find(({ spans }) => spans?.dims.length === 1 && spans.dims[0] === dim)?.name ?? dim;
}

/** The names of the process groups that Megatron-LM makes, as its communicator options know them. */
export const GROUP_NAMES: readonly string[] = ALL.flatMap(({ name, description }) =>
  description === undefined || name.endsWith('_N') ? [] : [name],
);

/**
 * The layout's name for a description of Megatron-LM; null for one that tells nothing, as `HyperCommGrid`, the MIMO topology and
 * the bridge give none. Gloo twins have the name of their NCCL group, and the levels of `hcp` one name.
 */
export function groupNameOf(desc: string): string | null {
  const own = desc.replace('_GLOO', '');
  const sized = /^(HYBRID|DYNAMIC)_DP_CP_GROUP_(\d+)$/.exec(own);
  if (sized) {
    return `${sized[1]?.toLowerCase()}_dp_cp_${sized[2]}`;
  }
  return (BY_DESCRIPTION.get(own) ?? BY_DESCRIPTION.get(own.replace(/_L\d+$/, '')))?.name ?? null;
}
