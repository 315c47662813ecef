import { setFix } from '../fixes';
import { eitherNumber, nearestMultiples, productText } from '../numbers';
import { job, type Rule, VALIDATE_ARGS } from '../rule';
import { batchReplicas, globalBatchOf } from './replicas';

export const evalBatch: Rule = {
  code: 'eval-batch',
  severity: 'error',
  title: 'The replicas cannot share the batch of evaluation',
  what: '`eval_global_batch_size` (by default `global_batch_size`) is not a multiple of `eval_micro_batch_size * dp * gtp_remat`.',
  why: 'Evaluation divides its batch among the replicas as training does, with a micro-batch of its own.',
  failing: job(8, 'tp: 1', 'batch: {micro_batch_size: 1, global_batch_size: 16, eval_micro_batch_size: 4}'),
  sources: [VALIDATE_ARGS],
  *check(facts) {
    const replicas = batchReplicas(facts);
    const batch = facts.root.batch.value;
    if (!replicas || !batch) {
      return;
    }
    const { eval_micro_batch_size: microField, eval_global_batch_size: globalField } = batch;
    if (!microField.written && !globalField.written) {
      return;
    }
    const micro = microField.written ? microField.value : replicas.micro;
    const size = globalField.written ? globalField.value : globalBatchOf(facts, replicas);
    const step = (micro ?? 0) * replicas.dp * replicas.gtp;
    if (size !== undefined && step > 0 && size % step !== 0) {
      const sizes = nearestMultiples(step, size);
      const field = globalField.written ? globalField : microField;
      const name = microField.written ? 'eval_micro_batch_size' : 'micro_batch_size';
      const product = productText({ [name]: micro ?? 1, dp: replicas.dp, gtp_remat: replicas.gtp });
      yield {
        message: `eval_global_batch_size ${globalField.written ? size : `defaults to the global batch, ${size}, which`} is not a multiple of ${product}. Use ${eitherNumber(sizes)}.`,
        span: field.span,
        predicts: `eval_global_batch_size (${size}) must be divisible by eval_micro_batch_size (${micro}) * data_parallel_size (${replicas.dp}) * gtp_weight_remat_size (${replicas.gtp})`,
        fixes: sizes.map((n) => setFix(facts.text, facts.root.batch.span, 'eval_global_batch_size', globalField, n)),
      };
    }
  },
};
