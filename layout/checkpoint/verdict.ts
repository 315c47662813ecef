import type { OptimizerSharding } from './savedState';
import type { ShardLinks } from './shards';

/** The formats of Megatron-LM's checkpoints (`--ckpt-format`), and that of Hugging Face's weights. */
export const CHECKPOINT_FORMATS = ['torch', 'torch_dist', 'torch_dcp', 'fsdp_dtensor', 'hf'] as const;

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

/** What becomes of a part, as tables say it. */
export const OUTCOME_WORDS: Readonly<Record<CheckpointOutcome, string>> = {
  loads: 'loads',
  after: 'not as it is',
  lost: 'lost',
  unknown: 'not known',
};

/** The parts as columns of tables name them. */
export const PART_NAMES: Readonly<Record<CheckpointPart, string>> = {
  model: 'model',
  optimizer: 'optimizer',
  rng: 'RNG state',
  rerun: 'rerun state',
  data: 'data order',
};

/** `model loads, optimizer not as it is, RNG state lost`: what is kept of a checkpoint, with the names of modules. */
export const keptText = (verdicts: readonly CheckpointVerdict[]): string =>
  verdicts
    .map(({ module, parts }) => {
      const kept = parts
        .filter(({ part }) => KEPT.includes(part))
        .map(({ part, outcome }) => `${PART_NAMES[part]} ${OUTCOME_WORDS[outcome]}`)
        .join(', ');
      return module === null ? kept : `${module}: ${kept}`;
    })
    .join('; ');

const KEPT: readonly CheckpointPart[] = ['model', 'optimizer', 'rng'];

/** What a rank of a pipeline stage reads, in bytes. */
export interface StageReads {
  readonly weightsBytes: number;
  readonly statesBytes: number;
}

/** What it takes to load a checkpoint, in bytes and seconds. */
export interface CheckpointTransfer {
  /** Of the checkpoint: all weights once, and all optimizer states once. */
  readonly weightsBytes: number;
  readonly statesBytes: number;
  /** Of a rank of each stage that loads, stage 0 first. */
  readonly stages: readonly StageReads[];
  /** Of the rank that reads most, and of all ranks. */
  readonly perRankBytes: number;
  readonly allRanksBytes: number;
  /** What a GPU reads through the network a second; null where it is not known. */
  readonly bytesPerSecond: number | null;
  /** Whether that was measured, or assumed of the kind of GPU. */
  readonly isMeasured: boolean;
  /** No load is quicker than the network; null where its speed is not known. */
  readonly seconds: number | null;
  /** Main memory of a node in which optimizer states lie whole while they are read; 0 where they are read in shards. */
  readonly nodeBytes: number;
  /** Main memory of the one host on which `tools/checkpoint/convert.py` runs. */
  readonly converterBytes: number;
}

/** What a layout can take from a checkpoint that another one saved. */
export interface CheckpointVerdict {
  /** The module's name; null for `parallelism`. */
  readonly module: string | null;
  readonly format: CheckpointFormat;
  /** How the optimizer's states are cut; null for an optimizer that is not distributed. */
  readonly sharding: OptimizerSharding | null;
  readonly parts: readonly PartVerdict[];
  /** Null where a size is not known. */
  readonly transfer: CheckpointTransfer | null;
  /** Which stages hold what others load; null where layers are not known, or nothing is loaded. */
  readonly shards: ShardLinks | null;
}
