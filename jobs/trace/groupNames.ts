/**
 * Megatron-LM's descriptions of process groups (`group_desc` in megatron/core/parallel_state.py, main d98e8a64dd and dev
 * d48bd6be0a) and the names that layouts use.
 */
const NAMES: Readonly<Record<string, string>> = {
  GTP_WEIGHT_REMAT_GROUP: 'gtp_remat',
  DATA_PARALLEL_GROUP_WITH_CP: 'dp_cp',
  INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP: 'intra_dp_cp',
  DATA_PARALLEL_GROUP: 'dp',
  DATA_PARALLEL_GROUP_WITH_GTP_REMAT: 'gtp_remat_dp',
  DATA_PARALLEL_GROUP_WITH_CP_WITH_GTP_REMAT: 'gtp_remat_dp_cp',
  CONTEXT_PARALLEL_GROUP: 'cp',
  HIERARCHICAL_CONTEXT_PARALLEL_GROUP: 'hcp',
  MODEL_PARALLEL_GROUP: 'mp',
  TENSOR_MODEL_PARALLEL_GROUP: 'tp',
  PIPELINE_MODEL_PARALLEL_GROUP: 'pp',
  EMBEDDING_GROUP: 'embd',
  POSITION_EMBEDDING_GROUP: 'pos_embd',
  TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP: 'tp_dp_cp',
  TENSOR_AND_DATA_PARALLEL_GROUP: 'tp_dp',
  TENSOR_AND_CONTEXT_PARALLEL_GROUP: 'tp_cp',
  EXPERT_GTP_WEIGHT_REMAT_GROUP: 'expt_gtp_remat',
  EXPERT_MODEL_PARALLEL_GROUP: 'ep',
  EXPERT_TENSOR_PARALLEL_GROUP: 'ep_tp',
  EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP: 'tp_ep_mp',
  EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP: 'tp_ep_pp',
  EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP_WITH_EGTP: 'tp_ep_gtp_remat_pp',
  EXPERT_DATA_PARALLEL_GROUP: 'ep_dp',
  HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L0: 'intra_ep_dp',
  HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L1: 'inter_ep_dp',
  EXPERT_DATA_PARALLEL_GROUP_WITH_GTP_REMAT: 'ep_gtp_remat_dp',
  INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP: 'intra_dist_opt_instance',
  DATA_PARALLEL_GROUP_WITH_CP_AG: 'dp_cp_ag',
  EXPERT_DATA_PARALLEL_GROUP_AG: 'expt_dp_ag',
};

/** torch's description of the group of all ranks. */
export const WORLD_DESC = 'default_pg';

/**
 * The layout's name for a description of Megatron-LM; null for one that tells nothing, as `HyperCommGrid`, the MIMO topology and
 * the bridge give none. Gloo twins have the name of their NCCL group.
 */
export function groupNameOf(desc: string): string | null {
  const own = desc.replace('_GLOO', '');
  const sized = /^(HYBRID|DYNAMIC)_DP_CP_GROUP_(\d+)$/.exec(own);
  if (sized) {
    return `${sized[1]?.toLowerCase()}_dp_cp_${sized[2]}`;
  }
  return NAMES[own] ?? NAMES[own.replace(/_L\d+$/, '')] ?? null;
}
