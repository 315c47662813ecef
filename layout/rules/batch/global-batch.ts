import type { Related } from '../../diagnostic';
import type { LayoutFacts } from '../../topology/facts';
import { isBefore, versionOf } from '../../topology/versions';
import { changes, insertFix } from '../fixes';
import { countOf, eitherNumber, nearestMultiples, productText } from '../numbers';
import { rematRelated, valueRelated } from '../related';
import { job, megatron, type Report, type Rule, VALIDATE_ARGS } from '../rule';
import { type BatchReplicas, batchReplicas, calculatorRefusal, tooFewMicroBatches } from './replicas';

export const globalBatch: Rule = {
  code: 'global-batch',
  severity: 'error',
  title: 'The replicas cannot share the global batch',
  what: '`global_batch_size` is not a multiple of `micro_batch_size * dp * gtp_remat`; or it is left out while `gtp_remat` is above 1.',
  why: 'Every replica runs whole micro-batches. The default of the global batch leaves out the factor `gtp_remat`, so a job with generalized TP must write the size.',
  failing: job(8, 'tp: 2', 'batch: {micro_batch_size: 2, global_batch_size: 12}'),
  sources: [
    VALIDATE_ARGS,
    megatron('megatron/core/num_microbatches_calculator.py', 'init_num_microbatches_calculator'),
  ],
  *check(facts) {
    const replicas = batchReplicas(facts);
    const field = facts.root.batch.value?.global_batch_size;
    if (!replicas || !field) {
      return;
    }
    const { step } = replicas;
    // the script checks the batch of evaluation all the same, which is this one where it has no sizes of its own
    const isScript = facts.trainingScript && !hasEvalBatch(facts) && !isBefore(versionOf(facts), 18);
    const isRounded = facts.root.batch.value?.decrease_batch_size_if_needed.value === true && !isScript;
    if (!field.written && replicas.gtp > 1 && !facts.heterogeneous) {
      yield missingReport(facts, replicas);
    } else if (field.value !== undefined && field.value % step !== 0 && !(isRounded && field.value >= step)) {
      const sizes = nearestMultiples(step, field.value);
      yield {
        message: isRounded
          ? `global_batch_size ${field.value} is rounded down to 0: it is less than ${stepText(replicas)}. Use ${eitherNumber(sizes)}.`
          : `global_batch_size ${field.value} is not a multiple of ${stepText(replicas)}. Use ${eitherNumber(sizes)}.`,
        ...changes('global_batch_size', field, ...sizes),
        related: [dpRelated(replicas)],
        predicts: isRounded ? tooFewMicroBatches(0) : prediction(isScript, replicas, field.value),
      };
    }
  },
};

const stepText = ({ micro, dp, gtp }: BatchReplicas): string =>
  productText({ micro_batch_size: micro, dp, gtp_remat: gtp });

function dpRelated({ module, dp }: BatchReplicas): Related {
  const { fields, ranks = 0, nameSpan } = module;
  return fields.dp.written
    ? valueRelated('dp', fields.dp)
    : { message: `${countOf(ranks, 'rank')} give dp ${dp}`, span: nameSpan };
}

function missingReport({ text, root }: LayoutFacts, replicas: BatchReplicas): Report {
  const { micro, dp, step } = replicas;
  return {
    message: `global_batch_size defaults to ${micro * dp}, which is not a multiple of ${stepText(replicas)}. Write global_batch_size ${step} or a multiple of it.`,
    span: root.batch.keySpan,
    related: rematRelated(replicas.module, 'gtp_remat'),
    predicts: prediction(true, replicas, micro * dp),
    fixes: [insertFix(text, root.batch.span, `global_batch_size: ${step}`)],
  };
}

/** Whether evaluation has sizes of its own, which the rule `eval-batch` judges. */
function hasEvalBatch({ root }: LayoutFacts): boolean {
  const batch = root.batch.value;
  return Boolean(batch?.eval_global_batch_size.written || batch?.eval_micro_batch_size.written);
}

/** The training script checks the batch of evaluation first, which is the same; the library only has its calculator. */
function prediction(trainingScript: boolean, replicas: BatchReplicas, size: number): string {
  const { micro, dp, gtp } = replicas;
  return trainingScript
    ? `eval_global_batch_size (${size}) must be divisible by eval_micro_batch_size (${micro}) * data_parallel_size (${dp}) * gtp_weight_remat_size (${gtp})`
    : calculatorRefusal(replicas, size);
}
