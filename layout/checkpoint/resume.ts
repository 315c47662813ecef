import { COMPARED_SIZES, type SavedState } from './savedState';
import type { CheckpointFormat, CheckpointPart, PartVerdict, WayOut } from './verdict';

/** A checkpoint of one layout, and the layout that loads it. */
export interface Resume {
  readonly saved: SavedState;
  readonly now: SavedState;
  readonly format: CheckpointFormat;
}

export const CHECKPOINTING = 'megatron/training/checkpointing.py';
export const DISTRIBUTED_OPTIMIZER = 'megatron/core/optimizer/distrib_optimizer.py';

type Verdict = Pick<PartVerdict, 'outcome' | 'because'> & Partial<PartVerdict>;

/** A part's verdict; what is left out is that nothing is said and the loader's source was read. */
export function told(part: CheckpointPart, verdict: Verdict): PartVerdict {
  return { part, predicts: null, ways: [], source: `${CHECKPOINTING} load_checkpoint`, proof: 'read', ...verdict };
}

/** `tp 2 → 4, pp 1 → 2`: the named sizes that differ; empty where none does. */
export function changes({ saved, now }: Resume, names: readonly (keyof SavedState & keyof typeof KEYS)[]): string {
  return names
    .filter((name) => saved[name] !== now[name])
    .map((name) => `${KEYS[name]} ${saved[name] ?? 'unknown'} → ${now[name] ?? 'unknown'}`)
    .join(', ');
}

/** The sizes that verdicts name, by the key of the layout. */
const KEYS = {
  world: 'world_size',
  tp: 'tp',
  pp: 'pp',
  vpp: 'vpp',
  cp: 'cp',
  dp: 'dp',
  ep: 'ep',
  exptTp: 'expt_tp',
  gtpRemat: 'gtp_remat',
  exptGtpRemat: 'expt_gtp_remat',
  paddedVocabulary: 'padded vocabulary',
  bucketSize: 'gradient buckets of',
  bufferTypes: 'types',
} as const;

/** The sizes of the experts' grid, which a dense model leaves as they are. */
export function expertSizes({ saved, now }: Resume): readonly ('ep' | 'exptTp')[] {
  return saved.experts === null && now.experts === null ? [] : ['ep', 'exptTp'];
}

/** The first size of the model that differs, as `check_checkpoint_args` compares them. */
export function otherModel({ saved, now }: Resume): string | null {
  const name = COMPARED_SIZES.find(
    (one) => saved.sizes[one] !== null && now.sizes[one] !== null && saved.sizes[one] !== now.sizes[one],
  );
  return name === undefined
    ? null
    : `${name} value from checkpoint (${saved.sizes[name]}) is not equal to the input argument value (${now.sizes[name]}).`;
}

export const COMPARED = `${CHECKPOINTING} check_checkpoint_args`;

/** Why neither weights nor states of the output layer can be loaded. */
export const TIED = 'the first layout ties the output weights to the embedding, the second does not';

/** How sentences speak of tensors that are loaded. */
export interface Wording {
  readonly part: CheckpointPart;
  readonly loads: string;
  readonly changed: string;
  readonly refused: string;
  readonly unknown: string;
  readonly resharded: string;
}

export const MODEL: Wording = {
  part: 'model',
  loads: 'The model loads as it is',
  changed: 'The model does not load as it is',
  refused: 'The model does not load',
  unknown: 'Whether the model loads is not known',
  resharded: 'is resharded',
};

export const STATES: Wording = {
  part: 'optimizer',
  loads: 'The optimizer states load as they are',
  changed: 'The optimizer states do not load as they are',
  refused: 'The optimizer states do not load',
  unknown: 'Whether the optimizer states load is not known',
  resharded: 'are resharded',
};

/** The job starts without the saved optimizer states. */
export const FRESH: WayOut = { what: 'Start with fresh optimizer states.', command: '--no-load-optim' };
