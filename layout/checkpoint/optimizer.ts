import { legacyModel, modelVerdict, resaved } from './model';
import {
  CHECKPOINTING,
  changes,
  DISTRIBUTED_OPTIMIZER,
  expertSizes,
  FRESH,
  otherModel,
  type Resume,
  STATES,
  TIED,
  told,
} from './resume';
import { hasExpertOptimizer } from './savedState';
import type { PartVerdict, WayOut } from './verdict';

const FULLY: WayOut = {
  what: 'Start the old layout once more and save so that every size may change.',
  command: '--dist-ckpt-optim-fully-reshardable',
};

export function optimizerVerdict(resume: Resume): PartVerdict {
  const { saved, now, format } = resume;
  if (otherModel(resume) !== null) {
    return told('optimizer', { outcome: 'lost', because: `${STATES.refused}: the model differs.` });
  }
  if (format === 'fsdp_dtensor' || (format === 'torch_dist' && now.megatronFsdp !== null)) {
    return asTheModel(resume);
  }
  if (saved.distributedOptimizer !== now.distributedOptimizer && format === 'torch_dist') {
    return otherOptimizer(resume);
  }
  if (saved.distributedOptimizer !== now.distributedOptimizer) {
    const side = saved.distributedOptimizer ? 'the first' : 'the second';
    return told('optimizer', {
      outcome: 'unknown',
      because: `${STATES.unknown}: only ${side} layout has use_distributed_optimizer, and no such pair was tried.`,
      ways: [FRESH],
    });
  }
  if (format === 'torch') {
    return legacyOptimizer(resume);
  }
  if (format !== 'torch_dist') {
    return asTheModel(resume);
  }
  return saved.distributedOptimizer ? distributedOptimizer(resume) : plainOptimizer(resume);
}

/** In these formats states are cut as the weights are, and go with them. */
function asTheModel(resume: Resume): PartVerdict {
  const verdict = modelVerdict(resume, STATES);
  // what the weights need is to leave the states behind
  return verdict.ways.includes(FRESH) ? { ...verdict, outcome: 'lost' } : verdict;
}

/** States of a distributed optimizer and of one that is not lie under other names, and in other shapes. */
function otherOptimizer(resume: Resume): PartVerdict {
  const [one, other] = resume.saved.distributedOptimizer ? ['first', 'second'] : ['second', 'first'];
  // where tp or pp changes, training stops before at a KeyError
  const isAsked = !resume.saved.distributedOptimizer && changes(resume, ['tp', 'pp']) === '';
  return told('optimizer', {
    outcome: 'lost',
    because: `The optimizer states cannot be loaded: the ${one} layout has use_distributed_optimizer, the ${other} does not.`,
    predicts: isAsked ? 'ShardedTensor.flattened_range is not supported.' : null,
    ways: [FRESH],
    source: `${DISTRIBUTED_OPTIMIZER} sharded_state_dict`,
    proof: 'run',
  });
}

function legacyOptimizer(resume: Resume): PartVerdict {
  const model = legacyModel(resume);
  if (model.outcome === 'loads') {
    return told('optimizer', { outcome: 'loads', because: `${STATES.loads}.` });
  }
  const keeps = hasExpertOptimizer(resume.saved) === hasExpertOptimizer(resume.now);
  return told('optimizer', {
    outcome: keeps ? 'after' : 'lost',
    because: keeps
      ? `${STATES.changed}, and the converter leaves them behind; writing the checkpoint anew keeps them.`
      : expertsApart(resume),
    ways: keeps ? [resaved(resume), FRESH] : [FRESH],
  });
}

function expertsApart({ saved }: Resume): string {
  const [one, other] = hasExpertOptimizer(saved) ? ['first', 'second'] : ['second', 'first'];
  return (
    `The optimizer states cannot be loaded: in the ${one} layout the experts have an optimizer of their own ` +
    `(ep above 1, or expt_tp other than tp), in the ${other} they share the dense one.`
  );
}

/** A distributed optimizer in a `torch_dist` checkpoint, by its sharding. */
function distributedOptimizer(resume: Resume): PartVerdict {
  const { saved, now } = resume;
  const isFull = saved.sharding !== 'dp_reshardable';
  const refused = mismatch(resume);
  const separate = hasExpertOptimizer(saved) !== hasExpertOptimizer(now);
  const blocked = changes(resume, ['gtpRemat', 'exptGtpRemat']);
  if (blocked !== '') {
    return told('optimizer', {
      outcome: 'unknown',
      because: `${STATES.unknown}: ${blocked}. The documentation of generalized tensor parallelism says so, a report on fully_reshardable states that they are neither written nor read there.`,
      ways: [FRESH],
      source: 'docs/api-guide/core/generalized_tensor_parallel.md; NVIDIA/Megatron-LM pull request 7162',
    });
  }
  if (saved.tied && !now.tied) {
    return told('optimizer', {
      outcome: 'lost',
      because: `The optimizer states cannot be loaded: ${TIED}.`,
      ways: [FRESH],
      proof: 'run',
    });
  }
  if (separate) {
    return told('optimizer', {
      outcome: 'lost',
      because: expertsApart(resume),
      predicts: isFull ? null : refused,
      ways: [FRESH],
      source: 'megatron/core/optimizer/__init__.py get_megatron_optimizer',
      proof: 'run',
    });
  }
  if (!isFull && now.paramsType === 'fp32') {
    return told('optimizer', {
      outcome: 'after',
      because: `${STATES.changed}: with parameters in fp32 Megatron-LM cannot write dp_reshardable states back, under the same layout neither.`,
      predicts: refused ?? 'a view of a leaf Variable that requires grad is being used in an in-place operation.',
      ways: [FULLY, FRESH],
      source: `${DISTRIBUTED_OPTIMIZER} load_parameter_state_from_dp_reshardable`,
      proof: 'run',
    });
  }
  const cut = isFull ? '' : bufferChanges(resume);
  if (cut === '') {
    return told('optimizer', {
      outcome: 'loads',
      because: `${STATES.loads} (${saved.sharding}).`,
      source: `${DISTRIBUTED_OPTIMIZER} sharded_param_state_${isFull ? 'fully' : 'dp'}_reshardable`,
      proof: 'run',
    });
  }
  return told('optimizer', {
    outcome: 'after',
    because: `${STATES.changed}: ${cut}. Saved as dp_reshardable, they follow the gradient buffers of each (tp, pp) rank.`,
    predicts: refused,
    ways: [FULLY, FRESH],
    source:
      refused === null
        ? `${DISTRIBUTED_OPTIMIZER} sharded_param_state_dp_reshardable`
        : `${CHECKPOINTING} load_checkpoint`,
    proof: 'run',
  });
}

/** What changes the buffers in which the states of one (tp, pp) rank lie; empty where nothing does. */
function bufferChanges(resume: Resume): string {
  const { saved, now } = resume;
  const sizes = changes(resume, [
    'tp',
    'pp',
    'vpp',
    ...expertSizes(resume),
    'paddedVocabulary',
    'bucketSize',
    'bufferTypes',
  ]);
  if (sizes !== '') {
    return sizes;
  }
  if (saved.tied !== now.tied) {
    return 'the second layout ties the output weights to the embedding';
  }
  return saved.stages === now.stages ? '' : 'the stages hold other layers';
}

/** What training says before it loads; null where tp and pp stay, and the loader dies later. */
function mismatch({ saved, now }: Resume): string | null {
  return saved.tp === now.tp && saved.pp === now.pp
    ? null
    : `(TP, PP) mismatch after resume ((${now.tp}, ${now.pp}) vs (${saved.tp}, ${saved.pp}) from checkpoint): ${(now.framework?.optimizerMismatch ?? ofMegatron)(saved.sharding)}`;
}

const ofMegatron = (sharding: string): string =>
  `not supported for DistributedOptimizer with sharding type ${sharding}. Please use \`--ckpt-fully-parallel-save\` flag during checkpoint saving.`;

function plainOptimizer(resume: Resume): PartVerdict {
  const { saved, now } = resume;
  const lost = saved.tied && !now.tied ? `The optimizer states cannot be loaded: ${TIED}.` : null;
  if (lost !== null || hasExpertOptimizer(saved) !== hasExpertOptimizer(now)) {
    return told('optimizer', { outcome: 'lost', because: lost ?? expertsApart(resume), ways: [FRESH] });
  }
  if ((saved.paramsType === 'fp32') !== (now.paramsType === 'fp32')) {
    return told('optimizer', {
      outcome: 'lost',
      because: `The optimizer states cannot be loaded: params_dtype ${saved.paramsType} → ${now.paramsType}, and an optimizer of parameters in fp32 names its states otherwise.`,
      ways: [FRESH],
      source: 'megatron/core/optimizer/optimizer.py sharded_state_dict',
      proof: 'run',
    });
  }
  return told('optimizer', {
    outcome: 'loads',
    because: `${STATES.loads}: without use_distributed_optimizer they are cut as the weights are.`,
    source: 'megatron/core/optimizer/optimizer.py sharded_state_dict',
    proof: 'run',
  });
}
