import type { SizedMesh } from '../frameworks';
import type { Dim } from '../grid/grid';

/** One grid of ranks with every degree known: `parallelism`, or one of `modules`. Plain data. */
export interface ResolvedModule {
  /** The module's name, or null for `parallelism`. */
  readonly name: string | null;
  /** The first global rank. */
  readonly rankOffset: number;
  /** How many ranks the grid has; fewer than its dims make where packed nonuniform TP leaves some out. */
  readonly numRanks: number;
  /** `tp`, `gtp_remat`, `cp`, `dp`, `pp` in rank order, the fastest first. */
  readonly dense: readonly Dim[];
  /** `expt_tp`, `ep`, `expt_gtp_remat`, `expt_dp`, `pp` in rank order, the fastest first, over the same ranks. */
  readonly expert: readonly Dim[];
}

/**
 * What nonuniform TP does to the grid: semantics of `NonuniformTPConfig` in
 * megatron/core/distributed/nonuniform_tp.py.
 */
export interface ResolvedNtp {
  readonly tpBase: number;
  readonly tpSpares: number;
  readonly numReducedTpDpRanks: number;
  /** The written map, or null where the file leaves it out (the last `tpSpares` slots are then removed). */
  readonly nonActive: readonly ResolvedNonActive[] | null;
  readonly failedRanks: readonly number[];
  readonly placement: 'nominal' | 'packed';
}

/** The local TP slots removed from one replica, or from one (cp, pp) slice of it. */
export interface ResolvedNonActive {
  readonly dp: number;
  readonly cp: number | null;
  readonly pp: number | null;
  readonly localRanks: readonly number[];
}

/** A whole layout with every number known: what groups, pictures and jobs are computed from. Plain data, a few KB. */
export interface ResolvedLayout {
  readonly name: string | null;
  /** Ranks in the job. */
  readonly worldSize: number;
  /** Machines, GPUs a machine and GPUs an NVLink domain; rank r lies on node floor(r / gpusPerNode). */
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly gpusPerNvlinkDomain: number;
  readonly mode: 'homogeneous' | 'colocated' | 'non_colocated';
  readonly modules: readonly ResolvedModule[];
  /** Whether the version makes groups of generalized TP, also where its degrees are 1. */
  readonly generalizedTp: boolean;
  /** `num_distributed_optimizer_instances`. */
  readonly optimizerInstances: number;
  readonly hierarchicalContextParallelSizes: readonly number[] | null;
  /** Whether Megatron-FSDP's separate all-gather communicators are made, for dense and for expert parameters. */
  readonly allGatherGroup: boolean;
  readonly expertAllGatherGroup: boolean;
  /** Groups of every power of two inside `dp_cp`: hybrid (main) or dynamic (dev) context parallelism. */
  readonly dynamicContextParallel: DynamicContextParallel | null;
  /** Whether Megatron-FSDP lays a device mesh over the groups, and whether the model has experts. */
  readonly fsdpMesh: { readonly experts: boolean } | null;
  readonly ntp: ResolvedNtp | null;
  /** The device meshes of another framework than Megatron-LM, whose process groups take the place of Megatron Core's; else none. */
  readonly meshes: readonly SizedMesh[];
}

/** Context parallelism whose groups differ from sequence to sequence. */
export interface DynamicContextParallel {
  readonly kind: 'hybrid' | 'dynamic';
  /** The smallest group of the kind `dynamic`. */
  readonly minSize: number;
}
