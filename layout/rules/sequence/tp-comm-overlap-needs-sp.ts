import { valueOr } from '../../topology/facts';
import { removeFix, setFix } from '../fixes';
import { job, type Rule, VALIDATE_ARGS } from '../rule';
import { eachSequence } from './describedSequences';

export const tpCommOverlapNeedsSp: Rule = {
  code: 'tp-comm-overlap-needs-sp',
  severity: 'error',
  title: 'Overlapped TP communication without sequence parallelism',
  what: '`tp_comm_overlap` is true and `sequence_parallel` is off. It is a warning in a file that does not describe a whole training job: only the training script checks it.',
  why: 'The overlap hides the all-gather and the reduce-scatter of sequence parallelism behind matrix products. Without sequence parallelism there are none.',
  failing: job(
    8,
    'tp: 2',
    'model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8}',
    'sequence: {seq_length: 64, tp_comm_overlap: true}',
    'batch: {micro_batch_size: 1}',
  ),
  sources: [VALIDATE_ARGS],
  check: eachSequence(function* ({ module, sequence, degrees }, facts) {
    const { tp_comm_overlap: overlap, sequence_parallel: field } = sequence;
    const isOff = valueOr(field, false) === false;
    // the script switches sequence parallelism off where tp is 1
    const isSwitchedOff = facts.trainingScript && degrees.tp === 1;
    if (overlap.value === true && (isOff || isSwitchedOff)) {
      const needed = degrees.tp > 1 ? 'sequence_parallel' : 'sequence_parallel and tp above 1';
      yield {
        // only the script checks it: the library does without the overlap
        severity: facts.trainingScript ? 'error' : 'warning',
        message: `tp_comm_overlap needs ${needed}. ${degrees.tp > 1 ? 'Use sequence_parallel true, or remove' : 'Remove'} tp_comm_overlap.`,
        span: overlap.span,
        predicts: 'Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled',
        fixes: [
          isOff && degrees.tp > 1 ? setFix(facts.text, module.sequence.span, 'sequence_parallel', field, 'true') : null,
          removeFix(facts.text, 'tp_comm_overlap', overlap),
        ],
      };
    }
  }),
};
