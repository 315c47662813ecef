import type { CheckpointFact, Framework } from '../frameworks';
import type { LayoutFacts } from '../topology/facts';
import { modelVerdict } from './model';
import { optimizerVerdict } from './optimizer';
import { changes, type Resume, told } from './resume';
import { type SavedState, savedStates } from './savedState';
import { shardLinks } from './shards';
import { transferOf } from './transfer';
import {
  CHECKPOINT_FORMATS,
  CHECKPOINT_PARTS,
  type CheckpointFormat,
  type CheckpointPart,
  type CheckpointVerdict,
  type PartVerdict,
} from './verdict';

/**
 * What of a checkpoint that `before` saves can be loaded by `after`, a verdict a grid that both have. Both must be free of errors.
 * @param format of the checkpoint; the one that `before` names, or Megatron-LM's default, where null
 */
export function checkpointVerdicts(
  before: LayoutFacts,
  after: LayoutFacts,
  format: CheckpointFormat | null = null,
): readonly CheckpointVerdict[] {
  const loading = savedStates(after);
  return savedStates(before).flatMap((saved) => {
    const now = loading.find(({ module }) => module === saved.module);
    return now ? [verdictOf({ saved, now, format: format ?? formatOf(saved) })] : [];
  });
}

function formatOf({ format }: SavedState): CheckpointFormat {
  return CHECKPOINT_FORMATS.find((one) => one === format) ?? 'torch_dist';
}

function verdictOf(resume: Resume): CheckpointVerdict {
  const { saved, format } = resume;
  // the rerun engine is Megatron-LM's
  const saves = CHECKPOINT_PARTS.filter((part) => part !== 'rerun' || isMegatron(resume));
  const parts = saves.map((part) => partVerdict(resume, part));
  const outcomeOf = (part: CheckpointPart) => parts.find((one) => one.part === part)?.outcome ?? 'unknown';
  const isRead = isMegatron(resume) && outcomeOf('model') !== 'lost';
  return {
    module: saved.module,
    format,
    sharding: saved.distributedOptimizer ? saved.sharding : null,
    parts,
    transfer: isRead ? transferOf(resume, outcomeOf('optimizer')) : null,
    shards: isRead ? shardLinks(saved, resume.now) : null,
  };
}

/** Whether both sides save as Megatron-LM's training script does. */
const isMegatron = ({ saved, now }: Resume): boolean =>
  [saved, now].every(({ framework }) => framework === null || framework.rules.megatron !== 'none');

function rngVerdict(resume: Resume): PartVerdict {
  const { saved, now, format } = resume;
  if (format === 'fsdp_dtensor') {
    return told('rng', {
      outcome: 'loads',
      because: 'The random (RNG) states load: under Megatron-FSDP all tensor-parallel ranks have those of the first.',
      source: 'megatron/core/distributed/fsdp/mcore_fsdp_adapter.py sync_rng_states_across_tp_group',
      proof: 'run',
    });
  }
  if (format === 'torch_dist' && now.megatronFsdp !== null) {
    return told('rng', {
      outcome: 'lost',
      because: 'The random (RNG) states are lost: the converter to Megatron-FSDP leaves them behind.',
      source: 'tools/checkpoint/checkpoint_inspector.py convert_checkpoint',
    });
  }
  const cut = changes(resume, ['tp', 'pp']);
  if (cut === '' || format === 'torch_dcp') {
    return told('rng', { outcome: 'loads', because: 'The random (RNG) states load: tp and pp stay.' });
  }
  return told('rng', {
    outcome: 'lost',
    because: `The random (RNG) states are lost: ${cut}. Dropout draws other numbers from here on; the seed of the run starts anew.`,
    predicts:
      format === 'torch_dist'
        ? `(TP, PP) mismatch after resume ((${now.tp}, ${now.pp}) vs (${saved.tp}, ${saved.pp}) from checkpoint): RNG state will be ignored`
        : null,
    ways: format === 'torch' ? [{ what: 'Load without the random states.', command: '--no-load-rng' }] : [],
  });
}

function rerunVerdict(resume: Resume): PartVerdict {
  const cut = changes(resume, ['world', 'tp', 'pp', 'dp']);
  if (resume.format !== 'torch_dist' || resume.now.megatronFsdp !== null) {
    return told('rerun', {
      outcome: 'lost',
      because: 'The state of the rerun engine is read from torch_dist checkpoints alone.',
    });
  }
  return cut === ''
    ? told('rerun', { outcome: 'loads', because: 'The state of the rerun engine loads: world, tp, pp and dp stay.' })
    : told('rerun', {
        outcome: 'lost',
        because: `The state of the rerun engine is dropped: ${cut}.`,
        predicts: 'Job sharding has changed: Rerun state will be ignored',
      });
}

/** The samples that a run has consumed are counted in the checkpoint; the order of the data follows from the count. */
function dataVerdict({ saved, now }: Resume): PartVerdict {
  if (saved.globalBatch === null || now.globalBatch === null) {
    return told('data', {
      outcome: 'unknown',
      because:
        'The data continues at the consumed samples; whether a step takes as many as before is not known without global_batch_size.',
    });
  }
  const continues = `The data continues at the consumed samples, ${now.globalBatch} a step`;
  if (saved.globalBatch === now.globalBatch) {
    return told('data', { outcome: 'loads', because: `${continues} as before.` });
  }
  const changed = `${continues} in place of ${saved.globalBatch}`;
  // those with options of their own schedule in their own code
  return saved.framework?.checkpointOptions
    ? told('data', { outcome: 'loads', because: `${changed}: learning rate and step count shift.` })
    : told('data', {
        outcome: 'after',
        because: `${changed}. A learning-rate schedule in samples (--train-samples) goes on; one in iterations (--train-iters) is multiplied by the batch, and loading fails unless --use-checkpoint-opt_param-scheduler keeps the saved one.`,
        predicts: 'OptimizerParamScheduler: class input value',
        ways: [
          { what: 'Keep the saved schedule, which counts samples.', command: '--use-checkpoint-opt_param-scheduler' },
          { what: 'Follow the schedule of the flags from here on.', command: '--override-opt_param-scheduler' },
        ],
        source: SCHEDULE,
      });
}

const SCHEDULE =
  'megatron/training/training.py get_optimizer_param_scheduler, megatron/core/optimizer_param_scheduler.py _check_and_set';

const MEGATRON: Readonly<Record<CheckpointPart, (resume: Resume) => PartVerdict>> = {
  model: modelVerdict,
  optimizer: optimizerVerdict,
  rng: rngVerdict,
  rerun: rerunVerdict,
  data: dataVerdict,
};

/** What a framework's own rows say of a part, else Megatron-LM where its library saves, else that it is unknown. */
function partVerdict(resume: Resume, part: CheckpointPart): PartVerdict {
  const { saved, now, format } = resume;
  const framework = saved.framework ?? now.framework;
  const rows =
    format === 'hf' ? HUGGING_FACE : saved.framework?.name === now.framework?.name ? framework?.checkpoint : [];
  const fact = rows?.find(
    ({ parts, changed, when }) =>
      parts.includes(part) && (!changed || changes(resume, changed) !== '') && (!when || when(saved, now)),
  );
  if (fact) {
    return factVerdict(resume, part, fact);
  }
  return isMegatron(resume)
    ? inOwnOptions(MEGATRON[part](resume), framework)
    : told(part, {
        outcome: 'unknown',
        because: `What ${framework?.title ?? 'the framework'} does with ${PART_TITLES[part]} of another layout is not known here.`,
        source: framework?.source ?? '',
      });
}

function factVerdict(resume: Resume, part: CheckpointPart, fact: CheckpointFact): PartVerdict {
  const { changed, outcome, because, predicts = null, ways = [], source } = fact;
  const cut = changed ? `${changes(resume, changed)}, and ` : '';
  return told(part, {
    outcome,
    because: `${capitalized(PART_TITLES[part])} ${VERBS[outcome]}: ${cut}${because}`,
    predicts: typeof predicts === 'function' ? predicts(resume.saved, resume.now) : predicts,
    ways,
    source,
  });
}

/** A verdict with the options as the framework has them; a way that it does not offer is left out. */
function inOwnOptions(verdict: PartVerdict, framework: Framework | null): PartVerdict {
  const own = Object.entries(framework?.checkpointOptions ?? {});
  return {
    ...verdict,
    ways: verdict.ways.flatMap((way) => {
      const [, command = way.command] = own.find(([option]) => option === way.command) ?? [];
      return command === null ? [] : [{ ...way, command }];
    }),
  };
}

/** Weights in Hugging Face's format, which bridges write and read under any layout. */
const HUGGING_FACE: readonly CheckpointFact[] = [
  {
    parts: ['model'],
    outcome: 'loads',
    because: 'a bridge cuts the weights anew for any layout.',
    source: 'NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/checkpointing.py _load_hf_pretrained_checkpoint',
  },
  {
    parts: ['optimizer', 'rng', 'rerun', 'data'],
    outcome: 'lost',
    because: 'the format holds weights alone, and the job starts at step 0.',
    source: 'NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/checkpointing.py _load_hf_pretrained_checkpoint',
  },
];

const VERBS = { loads: 'load as they are', after: 'do not load as they are', lost: 'cannot be loaded' } as const;

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The parts of a checkpoint as texts name them. */
export const PART_TITLES: Readonly<Record<CheckpointPart, string>> = {
  model: 'the weights of the model',
  optimizer: 'the optimizer states',
  rng: 'the random (RNG) states',
  rerun: 'the rerun state',
  data: "the data loader's states",
};
