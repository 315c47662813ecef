import { COMPARED, changes, expertSizes, otherModel, type Resume, TIED, told } from './resume';
import { hasExpertOptimizer } from './savedState';
import type { CheckpointFormat, PartVerdict, WayOut } from './verdict';

export function modelVerdict(resume: Resume): PartVerdict {
  const other = otherModel(resume);
  if (other !== null) {
    return told('model', {
      outcome: 'lost',
      because: 'The model does not load: the two layouts have models of other sizes.',
      predicts: other,
      source: COMPARED,
    });
  }
  return FORMATS[resume.format](resume);
}

/** Weights of Hugging Face have rows of their own. */
const FORMATS: Readonly<Record<CheckpointFormat, (resume: Resume) => PartVerdict>> = {
  torch: legacyModel,
  torch_dist: shardedModel,
  torch_dcp: dcpModel,
  fsdp_dtensor: fsdpModel,
  hf: dcpModel,
};

function shardedModel(resume: Resume): PartVerdict {
  if (resume.saved.tied && !resume.now.tied) {
    return told('model', {
      outcome: 'lost',
      because: `The model does not load: ${TIED}, so the checkpoint has no output layer.`,
      source: 'megatron/core/dist_checkpointing',
      proof: 'run',
    });
  }
  const gtp = changes(resume, ['gtpRemat', 'exptGtpRemat']);
  if (gtp !== '') {
    return told('model', {
      outcome: 'loads',
      because: `The model loads as it is and is resharded, by the documentation of generalized tensor parallelism: ${gtp}.`,
      source: 'docs/api-guide/core/generalized_tensor_parallel.md',
    });
  }
  const moved = changes(resume, ['tp', 'pp', 'vpp', ...expertSizes(resume), 'cp', 'dp', 'paddedVocabulary']);
  return told('model', {
    outcome: 'loads',
    because: moved === '' ? 'The model loads as it is.' : `The model loads as it is and is resharded: ${moved}.`,
    source: 'megatron/core/dist_checkpointing',
    proof: 'run',
  });
}

/** The legacy format has a file a (tp, pp, ep) rank, which holds its model chunks by number. */
export function legacyModel(resume: Resume): PartVerdict {
  const { saved, now } = resume;
  const cut = changes(resume, ['tp', 'pp', ...expertSizes(resume), 'vpp']);
  if (cut === '' && saved.stages === now.stages) {
    return told('model', { outcome: 'loads', because: 'The model loads as it is: tp, pp, vpp and ep stay.' });
  }
  const compared = (['tp', 'pp'] as const).find((name) => saved[name] !== now[name]);
  const argument = { tp: 'tensor_model_parallel_size', pp: 'pipeline_model_parallel_size' };
  return told('model', {
    outcome: 'after',
    because: `The model does not load as it is: ${cut === '' ? 'the stages hold other layers' : cut}, and this format has a file a (tp, pp, ep) rank.`,
    predicts:
      compared === undefined
        ? null
        : `${argument[compared]} value from checkpoint (${saved[compared]}) is not equal to the input argument value (${now[compared]}).`,
    ways: [...converted(resume), ...resaved(resume, false)],
    source: COMPARED,
  });
}

/** The converter of whole checkpoints, which takes the weights alone. */
function converted({ now }: Resume): readonly WayOut[] {
  const experts = now.experts === null ? '' : ` --target-expert-parallel-size ${now.ep}`;
  const sizes = `--target-tensor-parallel-size ${now.tp} --target-pipeline-parallel-size ${now.pp}${experts}`;
  return now.vpp > 1
    ? []
    : [
        {
          what: 'Convert the weights; optimizer and random states are left behind.',
          command: `python tools/checkpoint/convert.py --model-type GPT --loader core --saver core ${sizes} --load-dir LOAD --save-dir SAVE`,
        },
      ];
}

/** One start of the old layout that writes the checkpoint in the format that reshards. */
export function resaved({ saved, now }: Resume, withOptimizer: boolean): readonly WayOut[] {
  const keeps = withOptimizer && hasExpertOptimizer(saved) === hasExpertOptimizer(now);
  const sharding = keeps && saved.distributedOptimizer ? ' --dist-ckpt-optim-fully-reshardable' : '';
  return [
    {
      what: 'Start the old layout once, which writes the checkpoint in a format that reshards, and exits.',
      command: `--ckpt-convert-format torch_dist --ckpt-convert-save SAVE${sharding}`,
    },
  ];
}

function dcpModel(): PartVerdict {
  return told('model', {
    outcome: 'loads',
    because: 'The model loads as it is: FSDP2 saves DTensors, which torch reshards.',
    source: 'torch.distributed.checkpoint',
  });
}

function fsdpModel(resume: Resume): PartVerdict {
  if (!resume.now.megatronFsdp) {
    return told('model', {
      outcome: 'lost',
      because: 'The model does not load: this format needs Megatron-FSDP, which the second layout does not enable.',
      predicts: '--ckpt-format fsdp_dtensor is only tested with Megatron FSDP.',
      source: 'megatron/training/arguments.py validate_args',
    });
  }
  const cut = changes(resume, ['tp', ...expertSizes(resume), 'cp']);
  return cut === ''
    ? told('model', {
        outcome: 'loads',
        because: 'The model loads as it is: DTensors are resharded over the data-parallel ranks.',
        source: 'torch.distributed.checkpoint',
      })
    : told('model', {
        outcome: 'unknown',
        because: `Whether the model loads is not known: ${cut}, and no such pair of Megatron-FSDP was tried.`,
      });
}
