/** A process group as a reader meets it: who is in it, what it carries, when it exists. */
interface GroupEntry {
  readonly name: string;
  readonly members: string;
  readonly carries: string;
  readonly exists: string;
  /**
   * What logs and traces call it (`group_desc` in megatron/core/parallel_state.py, main d98e8a64dd and dev d48bd6be0a); empty for
   * the roles of a mesh.
   */
  readonly description: string;
}

/** One group a line: name, members, what it carries, when it exists, and its description in logs. */
const TABLE = `
tp | tp | activations of every layer: all-reduce, or all-gather and reduce-scatter with sequence parallelism | always | TENSOR_MODEL_PARALLEL_GROUP
cp | cp | keys and values of attention | always | CONTEXT_PARALLEL_GROUP
hcp | levels of cp | keys and values, all-to-all inside a level and point-to-point between | hierarchical sizes written | HIERARCHICAL_CONTEXT_PARALLEL_GROUP
pp | pp | activations and their gradients between stages | always | PIPELINE_MODEL_PARALLEL_GROUP
mp | tp, gtp_remat, pp | the norm of gradients | always | MODEL_PARALLEL_GROUP
embd | first and last of each pp group | gradients of tied embeddings | always | EMBEDDING_GROUP
pos_embd | first of each pp group | gradients of position embeddings | always | POSITION_EMBEDDING_GROUP
dp | dp | batches and losses | always | DATA_PARALLEL_GROUP
dp_cp | dp, cp | gradients and parameters of dense layers | always | DATA_PARALLEL_GROUP_WITH_CP
intra_dp_cp | slices of dp_cp | gradients and parameters inside one optimizer instance | optimizer instances > 1 | INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP
tp_dp_cp | tp, gtp_remat, dp, cp | statistics of tokens and amax of fp8 | always | TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP
tp_dp | tp, gtp_remat, dp | statistics without context parallelism | always | TENSOR_AND_DATA_PARALLEL_GROUP
tp_cp | tp, cp | load balance of routers | always | TENSOR_AND_CONTEXT_PARALLEL_GROUP
gtp_remat | gtp_remat | weights that are gathered before use | always | GTP_WEIGHT_REMAT_GROUP
gtp_remat_dp | gtp_remat, dp | gradients of replicated parameters | gtp_remat > 1 | DATA_PARALLEL_GROUP_WITH_GTP_REMAT
gtp_remat_dp_cp | gtp_remat, dp, cp | gradients of replicated parameters | gtp_remat > 1 | DATA_PARALLEL_GROUP_WITH_CP_WITH_GTP_REMAT
ep | ep | tokens to their experts: all-to-all | always | EXPERT_MODEL_PARALLEL_GROUP
ep_tp | expt_tp | activations of experts | always | EXPERT_TENSOR_PARALLEL_GROUP
tp_ep_mp | expt_tp, ep | tokens gathered and scattered by the dispatcher | always | EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP
tp_ep_pp | expt_tp, ep, pp | the norm of gradients of experts | always | EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP
tp_ep_gtp_remat_pp | expt_tp, ep, expt_gtp_remat, pp | the same with generalized TP | always | EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP_WITH_EGTP
ep_dp | expt_dp | gradients and parameters of experts | always | EXPERT_DATA_PARALLEL_GROUP
intra_ep_dp | slices of ep_dp | gradients of experts inside one optimizer instance | optimizer instances > 1 | HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L0
inter_ep_dp | one of each slice of ep_dp | gradients between optimizer instances | optimizer instances > 1 | HIERARCHICAL_EXPERT_DATA_PARALLEL_GROUP_L1
expt_gtp_remat | expt_gtp_remat | weights of experts that are gathered before use | always | EXPERT_GTP_WEIGHT_REMAT_GROUP
ep_gtp_remat_dp | expt_gtp_remat, expt_dp | gradients of experts | expt_gtp_remat > 1 | EXPERT_DATA_PARALLEL_GROUP_WITH_GTP_REMAT
intra_dist_opt_instance | the ranks of one optimizer instance | the norm of gradients, found infinities | always | INTRA_DISTRIBUTED_OPTIMIZER_INSTANCE_GROUP
hybrid_dp_cp_N | N neighbours of dp_cp | keys and values of one sequence | hybrid_context_parallel (main and releases) | HYBRID_DP_CP_GROUP_N
dynamic_dp_cp_N | N neighbours of dp_cp | keys and values of one sequence | dynamic_context_parallel (dev) | DYNAMIC_DP_CP_GROUP_N
dp_cp_ag | as dp_cp | parameters, while dp_cp reduces gradients | fsdp.create_all_gather_group | DATA_PARALLEL_GROUP_WITH_CP_AG
expt_dp_ag | as ep_dp | parameters of experts | fsdp.create_expert_all_gather_group and ep > 1 | EXPERT_DATA_PARALLEL_GROUP_AG
fsdp | as dp_cp, or intra_dp_cp with several instances | sharded parameters and gradients | fsdp.enabled |
outer_fsdp | as inter_ep_dp | gradients between shards (hybrid sharding) | fsdp.enabled, instances > 1 |
hybrid_fsdp | as dp_cp | both together | fsdp.enabled, instances > 1 |
expt_fsdp | as ep_dp, or intra_ep_dp with several instances | sharded parameters of experts | fsdp.enabled, experts |
hybrid_fsdp_expt | as ep_dp | both together, of experts | fsdp.enabled, instances > 1 |
`;

const ENTRIES: readonly GroupEntry[] = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [name = '', members = '', carries = '', exists = '', description = ''] = line
      .split('|')
      .map((cell) => cell.trim());
    return { name, members, carries, exists, description };
  });

/** The names of the process groups that Megatron-LM makes, as its communicator options know them. */
export const GROUP_NAMES: readonly string[] = ENTRIES.flatMap(({ name, description }) =>
  description === '' || name.endsWith('_N') ? [] : [name],
);

/** The names by their descriptions. */
const NAME_OF: ReadonlyMap<string, string> = new Map(
  ENTRIES.flatMap(({ name, description }) => (description === '' ? [] : [[description, name]])),
);

/** The catalogue of process groups as Markdown: `docs/groups.md`. */
export function groupsMarkdown(): string {
  const rows = ENTRIES.map(
    ({ name, members, carries, exists, description }) =>
      `| \`${name}\` | ${members} | ${carries} | ${exists} | ${code(description)} |`,
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
  if (!group) {
    return null;
  }
  const { members, carries, exists, description } = group;
  const logged = description === '' ? '' : `- in logs and traces: ${code(description)}\n`;
  return `# Process group ${name}\n\n- spans: ${members}\n- carries: ${carries}\n- exists: ${exists}\n${logged}`;
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
  return NAME_OF.get(own) ?? NAME_OF.get(own.replace(/_L\d+$/, '')) ?? null;
}
