import type { OptimizerSharding } from './savedState';

/** The formats of Megatron-LM's checkpoints (`--ckpt-format`). */
export const CHECKPOINT_FORMATS = ['torch', 'torch_dist', 'torch_dcp', 'fsdp_dtensor'] as const;

export type CheckpointFormat = (typeof CHECKPOINT_FORMATS)[number];

/** The parts of a checkpoint, in the order in which they are told. */
export const CHECKPOINT_PARTS = ['model', 'optimizer', 'rng', 'rerun', 'data'] as const;

export type CheckpointPart = (typeof CHECKPOINT_PARTS)[number];

/**
 * `loads`: as it is. `after`: once one of the ways out is taken. `lost`: the job starts without it. `unknown`: neither a run nor
 * the source of the framework tells.
 */
export type CheckpointOutcome = 'loads' | 'after' | 'lost' | 'unknown';

/** A way to go on. */
export interface WayOut {
  /** What to do, a sentence. */
  readonly what: string;
  /** The flags or the command. */
  readonly command: string;
}

/** What becomes of one part of a checkpoint. */
export interface PartVerdict {
  readonly part: CheckpointPart;
  readonly outcome: CheckpointOutcome;
  /** Why, a sentence with the numbers. */
  readonly because: string;
  /** What the framework says, word for word; null where it says nothing, or dies of an error of Python. */
  readonly predicts: string | null;
  readonly ways: readonly WayOut[];
  /** Where the framework decides so. */
  readonly source: string;
  /** Whether such a pair was saved and loaded by the framework's own code (`tools/megatron/reshard`), or its source was read. */
  readonly proof: 'run' | 'read';
}

/** What a layout can take from a checkpoint that another one saved. */
export interface CheckpointVerdict {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly format: CheckpointFormat;
  /** How the optimizer's states are cut; null for an optimizer that is not distributed. */
  readonly sharding: OptimizerSharding | null;
  readonly parts: readonly PartVerdict[];
}
