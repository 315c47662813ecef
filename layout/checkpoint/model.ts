import {
  COMPARED,
  changes,
  expertSizes,
  FRESH,
  MODEL,
  otherModel,
  type Resume,
  TIED,
  told,
  type Wording,
} from './resume';
import { hasExpertOptimizer } from './savedState';
import type { CheckpointFormat, PartVerdict, WayOut } from './verdict';

/**
 * What becomes of the model, or of optimizer states that are cut as the weights are.
 * @param words how to speak of them
 */
export function modelVerdict(resume: Resume, words = MODEL): PartVerdict {
  const other = otherModel(resume);
  if (other !== null) {
    return told(words.part, {
      outcome: 'lost',
      because: `${words.refused}: the two layouts have models of other sizes.`,
      predicts: other,
      source: COMPARED,
    });
  }
  return FORMATS[resume.format](resume, words);
}

/** Weights of Hugging Face have rows of their own. */
const FORMATS: Readonly<Record<CheckpointFormat, (resume: Resume, words: Wording) => PartVerdict>> = {
  torch: legacyModel,
  torch_dist: shardedModel,
  torch_dcp: (_, words) => dcpModel(words),
  fsdp_dtensor: fsdpModel,
  hf: (_, words) => dcpModel(words),
};

function shardedModel(resume: Resume, words: Wording): PartVerdict {
  if (resume.now.megatronFsdp !== null) {
    return told(words.part, {
      outcome: 'after',
      because: `${words.changed}: the second layout enables Megatron-FSDP, which reads no torch_dist.`,
      predicts: "KeyError: 'model'",
      ways: [
        {
          what: 'Convert the checkpoint, with --swiglu for a gated model; --dump-param-to-param-group-map of the old layout and print-torch-dcp-in-json make MAP.json.',
          command:
            'torchrun tools/checkpoint/checkpoint_inspector.py convert-torch-dist-to-fsdp-dtensor LOAD SAVE --param-to-param-group-map-json MAP.json',
        },
      ],
      source: 'docs/user-guide/features/megatron_fsdp.md',
      proof: 'run',
    });
  }
  if (resume.saved.tied && !resume.now.tied) {
    return withoutOutputLayer(words, null, SHARDED);
  }
  const gtp = changes(resume, ['gtpRemat', 'exptGtpRemat']);
  if (gtp !== '') {
    return told(words.part, {
      outcome: 'loads',
      because: `${words.loads} and ${words.resharded}, by the documentation of generalized tensor parallelism: ${gtp}.`,
      source: 'docs/api-guide/core/generalized_tensor_parallel.md',
    });
  }
  return resharded(resume, words, ['tp', 'pp', 'vpp', ...expertSizes(resume), 'cp', 'dp', 'paddedVocabulary'], SHARDED);
}

const SHARDED = 'megatron/core/dist_checkpointing';
const DCP = 'torch.distributed.checkpoint';

/** What loads, with the sizes that change. */
function resharded(resume: Resume, words: Wording, sizes: Parameters<typeof changes>[1], source: string): PartVerdict {
  const moved = changes(resume, sizes);
  return told(words.part, {
    outcome: 'loads',
    because: `${words.loads}${moved === '' ? '' : ` and ${words.resharded}: ${moved}`}.`,
    source,
    proof: 'run',
  });
}

function withoutOutputLayer(words: Wording, predicts: string | null, source: string): PartVerdict {
  return told(words.part, {
    outcome: 'lost',
    because: `${words.refused}: ${TIED}, so the checkpoint has no output layer.`,
    predicts,
    source,
    proof: 'run',
  });
}

/** The legacy format has a file a (tp, pp, ep) rank, which holds its model chunks by number. */
export function legacyModel(resume: Resume): PartVerdict {
  const { saved, now } = resume;
  const cut = changes(resume, ['tp', 'pp', ...expertSizes(resume), 'vpp']);
  if (cut === '' && saved.stages === now.stages) {
    return told('model', { outcome: 'loads', because: `${MODEL.loads}: tp, pp, vpp and ep stay.` });
  }
  const compared = (['tp', 'pp'] as const).find((name) => saved[name] !== now[name]);
  const argument = { tp: 'tensor_model_parallel_size', pp: 'pipeline_model_parallel_size' };
  return told('model', {
    outcome: 'after',
    because: `${MODEL.changed}: ${cut === '' ? 'the stages hold other layers' : cut}, and this format has a file a (tp, pp, ep) rank.`,
    predicts:
      compared === undefined
        ? null
        : `${argument[compared]} value from checkpoint (${saved[compared]}) is not equal to the input argument value (${now[compared]}).`,
    ways: [...converted(resume), resaved(resume)],
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

/** One start of the old layout that writes the checkpoint in the format that reshards, with the optimizer where that can be loaded. */
export function resaved({ saved, now }: Resume): WayOut {
  const keeps = saved.distributedOptimizer && hasExpertOptimizer(saved) === hasExpertOptimizer(now);
  const sharding = keeps ? ' --dist-ckpt-optim-fully-reshardable' : '';
  return {
    what: 'Start the old layout once more: it writes the checkpoint in a format that reshards, and exits.',
    command: `--ckpt-convert-format torch_dist --ckpt-convert-save SAVE${sharding}`,
  };
}

function dcpModel(words: Wording): PartVerdict {
  return told(words.part, {
    outcome: 'loads',
    because: `${words.loads}: FSDP2 saves DTensors, which torch reshards.`,
    source: DCP,
  });
}

function fsdpModel(resume: Resume, words: Wording): PartVerdict {
  const { saved, now } = resume;
  if (now.megatronFsdp === null) {
    return told(words.part, {
      outcome: 'lost',
      because: `${words.refused}: this format needs Megatron-FSDP, which the second layout does not enable.`,
      predicts: '--ckpt-format fsdp_dtensor is only tested with Megatron FSDP.',
      source: 'megatron/training/arguments.py validate_args',
    });
  }
  if (saved.megatronFsdp === 2 || now.megatronFsdp === 2) {
    return told(words.part, {
      outcome: 'unknown',
      because: `${words.unknown}: no checkpoint of Megatron-FSDP version 2 was tried.`,
    });
  }
  if (saved.tied && !now.tied) {
    return withoutOutputLayer(words, 'Missing key in checkpoint state_dict: model.module.output_layer.weight.', DCP);
  }
  if (saved.paddedVocabulary !== now.paddedVocabulary) {
    return otherVocabulary(resume, words);
  }
  return (saved.paramsType === 'fp32') === (now.paramsType === 'fp32')
    ? resharded(resume, words, ['tp', ...expertSizes(resume), 'cp', 'dp'], DCP)
    : otherStates(resume, words);
}

/**
 * An optimizer of parameters in fp32 names its states otherwise. Megatron-FSDP does not go from loaded weights to main weights of
 * its own, so that in half precision weights are not loaded without states.
 */
function otherStates({ saved, now }: Resume, words: Wording): PartVerdict {
  const name = now.paramsType === 'fp32' ? 'module.module' : 'module.module.module';
  return told(words.part, {
    outcome: now.paramsType === 'fp32' ? 'after' : 'lost',
    because: `${words.changed}: params_dtype ${saved.paramsType} → ${now.paramsType}, under which the optimizer states have other names, and both are loaded together.`,
    predicts: `Missing key in checkpoint state_dict: optimizer.state.${name}.embedding.word_embeddings.weight.exp_avg.`,
    ways: now.paramsType === 'fp32' ? [FRESH] : [],
    source: DCP,
    proof: 'run',
  });
}

/** DTensors keep their size: the embedding must have as many rows as before. */
function otherVocabulary(resume: Resume, words: Wording): PartVerdict {
  const { saved, now } = resume;
  const rows = saved.paddedVocabulary ?? 0;
  const size = ({ paddedVocabulary, sizes }: Resume['saved']) =>
    `torch.Size([${paddedVocabulary}, ${sizes.hidden_size}])`;
  const isKnown = [saved, now].every((one) => one.paddedVocabulary !== null && one.sizes.hidden_size !== null);
  return told(words.part, {
    outcome: isKnown ? 'after' : 'unknown',
    because: `${isKnown ? words.changed : words.unknown}: ${changes(resume, ['paddedVocabulary'])}.`,
    predicts: isKnown
      ? `Size mismatch between saved ${size(saved)} and current: ${size(now)} for model.module.embedding.word_embeddings.weight`
      : null,
    ways:
      isKnown && rows % now.tp === 0
        ? [
            {
              what: 'Pad the vocabulary to as many rows as before.',
              command: `--make-vocab-size-divisible-by ${rows / now.tp}`,
            },
          ]
        : [],
    source: DCP,
    proof: 'run',
  });
}
