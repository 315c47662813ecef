import { FORMAT, type Keys } from '../../layout';
import { layoutText } from './golden';

/** Inputs of a recorded case that the layout takes over as they are. */
export type Inputs = Readonly<Record<string, unknown>>;

/** Arguments of `initialize_model_parallel`. */
export interface ParallelInput {
  readonly world_size: number;
  readonly tp: number;
  readonly gtp_remat: number;
  readonly cp: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly ep: number;
  readonly etp: number | null;
  readonly expt_gtp_remat: number;
  readonly num_distributed_optimizer_instances: number;
  readonly order: string;
  readonly hierarchical_context_parallel_sizes: readonly number[] | null;
  readonly hybrid_context_parallel?: boolean;
  readonly use_sharp: boolean;
  readonly sharp_enabled_group: string | null;
}

/** A recorded call of `initialize_model_parallel`. */
export interface CallInput extends ParallelInput {
  readonly pipeline_model_parallel_comm_backend: string | null;
  readonly rank_offset: number;
  readonly local_world_size: number | null;
  readonly dist_initialized: boolean;
  readonly all_gather: { readonly for_expert_parallelism: boolean } | null;
}

/** Whether a call makes all groups of one world from rank 0: a layout says nothing else, and has no key for the backend. */
export const isOneWorld = (input: CallInput): boolean =>
  input.rank_offset === 0 &&
  input.local_world_size === null &&
  input.dist_initialized &&
  input.pipeline_model_parallel_comm_backend === null;

/** The layout of a call of `initialize_model_parallel`. */
export function parallelText(
  input: Partial<ParallelInput> & { readonly world_size: number },
  more: object = {},
): string {
  const { world_size, etp: expt_tp, hybrid_context_parallel, use_sharp, sharp_enabled_group } = input;
  const { tp, gtp_remat, cp, pp, vpp, ep, expt_gtp_remat, order } = input;
  const { num_distributed_optimizer_instances, hierarchical_context_parallel_sizes } = input;
  const parallelism = {
    ...{ tp, gtp_remat, cp, pp, vpp, ep, expt_tp, expt_gtp_remat, order },
    ...{ num_distributed_optimizer_instances, hierarchical_context_parallel_sizes },
    hybrid_context_parallel: hybrid_context_parallel || null,
  };
  const isSharp = use_sharp || (sharp_enabled_group ?? null) !== null;
  const communicators = isSharp ? { use_sharp, sharp_enabled_group } : null;
  return layoutText({ world_size, parallelism, communicators, ...more });
}

/** One argument list of `ModuleGridSpec`. */
export interface SpecInput {
  readonly name: string;
  readonly num_ranks: number;
  readonly tp: number;
  readonly gtp_remat: number;
  readonly cp: number;
  readonly pp: number;
  readonly ep: number;
  readonly expt_tp: number;
  readonly expt_gtp_remat: number;
  readonly rank_offset: number;
}

/** Arguments of `create_topology`. */
export interface TopologyInput {
  readonly world_size: number;
  readonly specs: readonly SpecInput[];
}

/** The layout of a call of `create_topology`; null for a repeated name, with which the later silently replaces the first. */
export function topologyText({ world_size, specs }: TopologyInput, megatron?: string): string | null {
  const modules = Object.fromEntries(specs.map(({ name, ...degrees }) => [name, degrees]));
  return Object.keys(modules).length < specs.length ? null : layoutText({ world_size, megatron, modules });
}

/** The flags of examples/mimo/training/args.py. */
export interface MimoFlags {
  readonly world_size: number;
  readonly args: Readonly<Record<string, number | boolean | null>>;
}

/** The layout of a job that is launched with these flags; null where they overlap communication, which is no part of one. */
export function mimoFlagsText({ world_size, args }: MimoFlags, megatron?: string): string | null {
  if (args.encoder_ddp_overlap) {
    return null;
  }
  const encoder = { tp: args.encoder_tp, dp: args.encoder_dp };
  const language = {
    rank_offset: args.llm_offset,
    tp: args.llm_tp,
    cp: args.llm_cp,
    pp: args.llm_pp,
    dp: args.llm_dp,
    ep: args.llm_ep,
    expt_tp: args.llm_expt_tp,
    num_weight_shards: args.tensor_parallel_num_weight_shards,
    expt_num_weight_shards: args.expert_tensor_parallel_num_weight_shards,
    model: args.num_experts ? { num_experts: args.num_experts } : null,
  };
  const modules = args.llm_only ? { language } : { images: encoder, language };
  return layoutText({ world_size, megatron, modules, batch: { micro_batch_size: args.micro_batch_size } });
}

/** Fields of TransformerConfig that place layers. */
export interface StagesInput {
  readonly layout?: string | readonly unknown[];
  readonly num_layers: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly first?: number | null;
  readonly last?: number | null;
  readonly account_for_embedding?: boolean;
  readonly account_for_loss?: boolean;
  readonly mtp_num_layers: number | null;
}

type Place = readonly [section: string, key: string];

/** The keys of the sections of a layout, by what `nameOf` makes of them. */
const placesBy = (nameOf: (key: string, flag: string | undefined) => string | undefined): [string, Place][] =>
  Object.entries(FORMAT.keys).flatMap(([section, spec]) =>
    spec.type === 'map'
      ? Object.entries(spec.keys as Keys).flatMap(([key, { flag }]): [string, Place][] => {
          const name = nameOf(key, flag);
          return name === undefined ? [] : [[name, [section, key]]];
        })
      : [],
  );

/** Where arguments of the training script and fields of TransformerConfig stand in a layout; a flag counts before a key. */
const PLACES: ReadonlyMap<string, Place> = new Map([
  ...placesBy((key) => key),
  ...placesBy((_, flag) => flag?.replace(/^--/, '').replaceAll('-', '_')),
  ['num_moe_experts', ['model', 'num_experts']],
  ['virtual_pipeline_model_parallel_size', ['parallelism', 'vpp']],
  // withdrawn: no layout has the key
  ['batch_size', ['batch', 'batch_size']],
]);

/** Arguments that change nothing that a layout speaks of. */
const NEUTRAL =
  /^(no_rope_fusion|apply_rope_fusion|no_rope_freq|moe_expert_capacity_factor|mtp_hsm|mtp_standalone|use_nccl_ub|is_hybrid_model|pipeline_dtype|linear_(conv_kernel|key_head|value_head)_dim)$/;

/** Arguments that a layout says the other way round, or in another key. */
const SPECIAL: Readonly<Record<string, (value: unknown) => readonly [...Place, unknown]>> = {
  bf16: (value) => ['model', 'params_dtype', value === true ? 'bf16' : null],
  // a layout has query groups or not
  group_query_attention: () => ['model', '', null],
  disable_bias_linear: (value) => ['model', 'add_bias_linear', value !== true],
  no_gradient_accumulation_fusion: (value) => ['optimizer', 'gradient_accumulation_fusion', value !== true],
  no_overlap_p2p_communication: (value) => ['parallelism', 'overlap_p2p_comm', value === true ? false : null],
  use_tp_pp_dp_mapping: (value) => ['parallelism', 'order', value === true ? 'tp-cp-ep-pp-dp' : null],
  cp_comm_type: (value) => ['sequence', 'cp_comm_type', Array.isArray(value) && value.length === 1 ? value[0] : value],
};

/** Whether arguments can be said in a layout, or change nothing there. */
export const isPlaced = (name: string): boolean => PLACES.has(name) || name in SPECIAL || NEUTRAL.test(name);

/** The sections of a layout of some arguments; null where one has no place. */
export function sectionsOf(values: Inputs): Record<string, Record<string, unknown>> | null {
  const sections: Record<string, Record<string, unknown>> = { parallelism: {} };
  for (const [name, value] of Object.entries(values)) {
    const place = PLACES.get(name);
    const [section, key, said] = SPECIAL[name]?.(value) ?? [...(place ?? ['', '']), value === false ? null : value];
    if (!isPlaced(name)) {
      return null;
    }
    if (said !== null && section !== '') {
      sections[section] = { ...sections[section], [key]: said };
    }
  }
  return sections;
}

/** What the training script takes where a flag is absent, of keys without a default in the format. */
const SCRIPT: Inputs = {
  params_dtype: 'fp32',
  disable_bias_linear: false,
  position_embedding_type: 'learned_absolute',
  no_gradient_accumulation_fusion: false,
  moe_token_dispatcher_type: 'allgather',
};

/** A command line of the training script: arguments by name, switches true or false, absent ones null. */
export interface CommandLine {
  readonly world_size: number;
  readonly env: Readonly<Record<string, string>>;
  readonly arch?: number;
  readonly flags: Inputs;
}

/** The layout of a command line; null where it says what a layout cannot. */
export function commandLineText({ world_size, env, arch = 9, flags }: CommandLine, megatron?: string): string | null {
  const num_query_groups = flags.group_query_attention === true ? flags.num_query_groups : null;
  const sections = sectionsOf({ ...SCRIPT, ...flags, num_query_groups });
  const environment = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, Number(value)]));
  const cluster = { nodes: 1, gpus_per_node: world_size, gpu: arch < 10 ? 'H100' : 'B200' };
  return sections && layoutText({ world_size, cluster, megatron, environment, ...sections });
}
