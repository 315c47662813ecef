import type { GridGroups, RankLists } from '../grid/grid';

/**
 * All process groups of one name in one grid, in the order Megatron-LM creates them. Ranks are computed on demand, by
 * arithmetic: a family of a million groups costs as much as one of eight.
 */
export interface GroupFamily {
  /** Megatron's name of the group, as in its communicator options: `tp`, `dp_cp`, `ep_dp`, ... */
  readonly name: string;
  /** The module whose grid it belongs to, or null for `parallelism`. */
  readonly module: string | null;
  /** Left out where the groups are not all those that some dimensions of a grid span. */
  readonly grid?: GridGroups;
  /** How many groups the family has. */
  readonly count: number;
  /** How many ranks its largest group has. */
  readonly size: number;
  /** The global ranks of group `index`, in the order in which Megatron passes them to `new_group`. */
  ranks(index: number): number[];
  /** The ranks of every group, as `ranks` gives them, at a fraction of the cost of asking one by one. */
  all(): RankLists;
  /** The indices of the groups that hold a global rank: none, one, or (hierarchical groups) several. */
  indicesOf(rank: number): number[];
}
