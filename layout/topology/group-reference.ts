/** A process group as a reader meets it: who is in it, what it carries, when it exists. */
interface GroupEntry {
  readonly name: string;
  readonly members: string;
  readonly carries: string;
  readonly exists: string;
}

const ALWAYS = 'always';

const entry = (name: string, members: string, carries: string, exists = ALWAYS): GroupEntry => ({
  name,
  members,
  carries,
  exists,
});

const ENTRIES: readonly GroupEntry[] = [
  entry(
    'tp',
    'tp',
    'activations of every layer: all-reduce, or all-gather and reduce-scatter with sequence parallelism',
  ),
  entry('cp', 'cp', 'keys and values of attention'),
  entry(
    'hcp',
    'levels of cp',
    'keys and values, all-to-all inside a level and point-to-point between',
    'hierarchical sizes written',
  ),
  entry('pp', 'pp', 'activations and their gradients between stages'),
  entry('mp', 'tp, gtp_remat, pp', 'the norm of gradients'),
  entry('embd', 'first and last of each pp group', 'gradients of tied embeddings'),
  entry('pos_embd', 'first of each pp group', 'gradients of position embeddings'),
  entry('dp', 'dp', 'batches and losses'),
  entry('dp_cp', 'dp, cp', 'gradients and parameters of dense layers'),
  entry(
    'intra_dp_cp',
    'slices of dp_cp',
    'gradients and parameters inside one optimizer instance',
    'optimizer instances > 1',
  ),
  entry('tp_dp_cp', 'tp, gtp_remat, dp, cp', 'statistics of tokens and amax of fp8'),
  entry('tp_dp', 'tp, gtp_remat, dp', 'statistics without context parallelism'),
  entry('tp_cp', 'tp, cp', 'load balance of routers'),
  entry('gtp_remat', 'gtp_remat', 'weights that are gathered before use'),
  entry('gtp_remat_dp', 'gtp_remat, dp', 'gradients of replicated parameters', 'gtp_remat > 1'),
  entry('gtp_remat_dp_cp', 'gtp_remat, dp, cp', 'gradients of replicated parameters', 'gtp_remat > 1'),
  entry('ep', 'ep', 'tokens to their experts: all-to-all'),
  entry('ep_tp', 'expt_tp', 'activations of experts'),
  entry('tp_ep_mp', 'expt_tp, ep', 'tokens gathered and scattered by the dispatcher'),
  entry('tp_ep_pp', 'expt_tp, ep, pp', 'the norm of gradients of experts'),
  entry('tp_ep_gtp_remat_pp', 'expt_tp, ep, expt_gtp_remat, pp', 'the same with generalized TP'),
  entry('ep_dp', 'expt_dp', 'gradients and parameters of experts'),
  entry(
    'intra_ep_dp',
    'slices of ep_dp',
    'gradients of experts inside one optimizer instance',
    'optimizer instances > 1',
  ),
  entry(
    'inter_ep_dp',
    'one of each slice of ep_dp',
    'gradients between optimizer instances',
    'optimizer instances > 1',
  ),
  entry('expt_gtp_remat', 'expt_gtp_remat', 'weights of experts that are gathered before use'),
  entry('ep_gtp_remat_dp', 'expt_gtp_remat, expt_dp', 'gradients of experts', 'expt_gtp_remat > 1'),
  entry('intra_dist_opt_instance', 'the ranks of one optimizer instance', 'the norm of gradients, found infinities'),
  entry(
    'hybrid_dp_cp_N',
    'N neighbours of dp_cp',
    'keys and values of one sequence',
    'hybrid_context_parallel (main and releases)',
  ),
  entry(
    'dynamic_dp_cp_N',
    'N neighbours of dp_cp',
    'keys and values of one sequence',
    'dynamic_context_parallel (dev)',
  ),
  entry('dp_cp_ag', 'as dp_cp', 'parameters, while dp_cp reduces gradients', 'fsdp.create_all_gather_group'),
  entry('expt_dp_ag', 'as ep_dp', 'parameters of experts', 'fsdp.create_expert_all_gather_group and ep > 1'),
  entry('fsdp', 'as dp_cp, or intra_dp_cp with several instances', 'sharded parameters and gradients', 'fsdp.enabled'),
  entry('outer_fsdp', 'as inter_ep_dp', 'gradients between shards (hybrid sharding)', 'fsdp.enabled, instances > 1'),
  entry('hybrid_fsdp', 'as dp_cp', 'both together', 'fsdp.enabled, instances > 1'),
  entry(
    'expt_fsdp',
    'as ep_dp, or intra_ep_dp with several instances',
    'sharded parameters of experts',
    'fsdp.enabled, experts',
  ),
  entry('hybrid_fsdp_expt', 'as ep_dp', 'both together, of experts', 'fsdp.enabled, instances > 1'),
];

/**
 * Megatron-LM's descriptions of process groups (`group_desc` in megatron/core/parallel_state.py, main d98e8a64dd and dev
 * d48bd6be0a), which logs and traces show, and the names that layouts use.
 */
const NAME_OF: Readonly<Record<string, string>> = {
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

/** What logs and traces call a group; empty where it has no description of its own. */
function descriptionOf(name: string): string {
  const described = Object.keys(NAME_OF).find((key) => NAME_OF[key] === name);
  const sized = /^(hybrid|dynamic)_dp_cp_N$/.exec(name)?.[1];
  return described ?? (sized === undefined ? '' : `${sized.toUpperCase()}_DP_CP_GROUP_N`);
}

/** The catalogue of process groups as Markdown: `docs/groups.md`. */
export function groupsMarkdown(): string {
  const rows = ENTRIES.map(
    ({ name, members, carries, exists }) =>
      `| \`${name}\` | ${members} | ${carries} | ${exists} | ${code(descriptionOf(name))} |`,
  );
  return `# Process groups

The groups of \`parallelism\`, by the names of Megatron-LM's communicator options (\`initialize_model_parallel\` in
megatron/core/parallel_state.py at d98e8a64dd; dynamic context parallelism on dev at d48bd6be0a). \`parallelism-layout groups\`
lists the ranks of each, in the order in which they are created. Groups that exist always may be of one rank. Logs, NCCL errors
and flight-recorder traces show torch's description of a group, which stands last. The groups of an FSDP mesh are groups above in
another role: Megatron-FSDP makes none.

| group | spans | carries | exists | in logs and traces |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

A module of \`modules\` has the groups of \`tp\`, \`gtp_remat\`, \`cp\`, \`pp\`, \`dp\`, \`dp_cp\`, \`gtp_remat_dp_cp\`, \`tp_cp\`, \`mp\`, \`tp_dp\`, \`tp_dp_cp\` and
\`intra_dist_opt_instance\`, and of its experts, over its own ranks (\`_build_grid\` in examples/mimo/training/topology.py); the language module also has
\`embd\` and \`pos_embd\`; colocated modules of different data-parallel sizes have \`bridge\` groups.
`;
}

/** The names of all process groups; `N` stands for a number of ranks. */
export function groupNames(): string[] {
  return ENTRIES.map(({ name }) => name);
}

/**
 * What a process group is for, as Markdown.
 * @param name its name; a number stands for the `N` of `hybrid_dp_cp_N` and `dynamic_dp_cp_N`
 * @returns null where no group has the name
 */
export function groupMarkdown(name: string): string | null {
  const general = name.replace(/_\d+$/, '_N');
  const group = ENTRIES.find((known) => known.name === name || known.name === general);
  const description = code(descriptionOf(general));
  const logged = description === '' ? '' : `- in logs and traces: ${description}\n`;
  return group
    ? `# Process group ${name}\n\n- spans: ${group.members}\n- carries: ${group.carries}\n- exists: ${group.exists}\n${logged}`
    : null;
}

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

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
  return NAME_OF[own] ?? NAME_OF[own.replace(/_L\d+$/, '')] ?? null;
}
