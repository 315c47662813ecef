import type { CheckpointFact } from '../frameworks';
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
  const parts = isMegatron(resume)
    ? [modelVerdict(resume), optimizerVerdict(resume), rngVerdict(resume), rerunVerdict(resume), dataVerdict(resume)]
    : otherFramework(resume);
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

const CHANGED_RANKS = ['tp', 'pp'] as const;

function rngVerdict(resume: Resume): PartVerdict {
  const { saved, now, format } = resume;
  const cut = changes(resume, CHANGED_RANKS);
  if (cut === '' || format === 'torch_dcp') {
    return told('rng', { outcome: 'loads', because: 'The random (RNG) states load: tp and pp stay.' });
  }
  const seeds = 'Dropout draws other numbers from here on; the seed of the run starts anew.';
  if (format === 'fsdp_dtensor') {
    return told('rng', {
      outcome: 'lost',
      because: `The random (RNG) states are lost where a (pp, tp) rank is new: ${cut}. ${seeds}`,
      predicts: 'WARNING: RNG state not found for current TP/PP rank',
    });
  }
  return told('rng', {
    outcome: 'lost',
    because: `The random (RNG) states are lost: ${cut}. ${seeds}`,
    predicts:
      format === 'torch_dist'
        ? `(TP, PP) mismatch after resume ((${now.tp}, ${now.pp}) vs (${saved.tp}, ${saved.pp}) from checkpoint): RNG state will be ignored`
        : null,
    ways: format === 'torch' ? [{ what: 'Load without the random states.', command: '--no-load-rng' }] : [],
  });
}

function rerunVerdict(resume: Resume): PartVerdict {
  const cut = changes(resume, ['world', 'tp', 'pp', 'dp']);
  if (resume.format !== 'torch_dist') {
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
  return saved.globalBatch === now.globalBatch
    ? told('data', {
        outcome: 'loads',
        because: `The data continues at the consumed samples, ${now.globalBatch} a step as before.`,
      })
    : told('data', {
        outcome: 'loads',
        because: `The data continues at the consumed samples, but a step takes ${now.globalBatch} in place of ${saved.globalBatch}: learning rate and step count shift.`,
      });
}

/** What is known of a framework that has checkpoints of its own. */
function otherFramework({ saved, now }: Resume): readonly PartVerdict[] {
  const framework = saved.framework ?? now.framework;
  const own = saved.framework?.name === now.framework?.name ? saved.framework?.checkpoint : undefined;
  const otherWorld = saved.world === now.world ? undefined : own?.otherWorld;
  const loader = saved.dp === now.dp ? undefined : own?.dataOfOtherDp;
  const facts: Partial<Record<CheckpointPart, CheckpointFact | undefined>> = {
    model: otherWorld?.model ?? own?.states,
    optimizer: otherWorld?.optimizer ?? own?.states,
    data: loader && { ...loader, because: `dp ${saved.dp} → ${now.dp}, and ${loader.because}` },
  };
  return CHECKPOINT_PARTS.map((part) => {
    const fact = facts[part];
    return fact
      ? told(part, { ...fact, because: `${capitalized(PART_TITLES[part])} ${VERBS[fact.outcome]}: ${fact.because}` })
      : told(part, {
          outcome: 'unknown',
          because: `What ${framework?.title ?? 'the framework'} does with ${PART_TITLES[part]} of another layout is not known here.`,
          source: framework?.source ?? '',
        });
  });
}

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
