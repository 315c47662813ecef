import { changeFix } from '../fixes';
import { valueRelated } from '../related';
import { job, megatron, type Rule } from '../rule';
import { eachSequence } from './describedSequences';

export const tpCommOverlapLength: Rule = {
  code: 'tp-comm-overlap-length',
  severity: 'error',
  title: 'Overlapped TP communication for another sequence length',
  effect: 'Megatron-LM stops when it splits the first batch',
  what: '`tp_comm_overlap` and `sequence_parallel` are on and `seq_length` differs from `max_seq_len`.',
  why: 'The buffers of the overlap are made for sequences of `max_seq_len` only.',
  failing: job(
    8,
    'tp: 2',
    'sequence: {seq_length: 4096, max_seq_len: 8192, sequence_parallel: true, tp_comm_overlap: true}',
  ),
  sources: [megatron('megatron/core/models/mimo/partition/utils.py', 'PartitionAdapter.shard')],
  check: eachSequence(function* ({ sequence, sequenceParallel }, facts) {
    const { tp_comm_overlap: overlap, seq_length: length, max_seq_len: most } = sequence;
    // the training script makes the buffers for `seq_length` itself
    const isOverlapped = overlap.value === true && sequenceParallel && !facts.trainingScript;
    if (isOverlapped && length.value !== undefined && most.value !== undefined && length.value !== most.value) {
      yield {
        message: `tp_comm_overlap needs seq_length to equal max_seq_len: they are ${length.value} and ${most.value}. Use one of them for both.`,
        span: length.span,
        related: [valueRelated('max_seq_len', most)],
        predicts: 'TP Comm overlap requires Vision+Text token length == language_max_sequence_length',
        fixes: [changeFix('seq_length', length, most.value), changeFix('max_seq_len', most, length.value)],
      };
    }
  }),
};
