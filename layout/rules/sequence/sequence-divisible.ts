import type { Field } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { changeFix, changes } from '../fixes';
import { eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { job, megatron, type Report, type Rule, VALIDATE_ARGS } from '../rule';
import { type DescribedSequence, divisorOf, eachSequence } from './describedSequences';

export const sequenceDivisible: Rule = {
  code: 'sequence-divisible',
  severity: 'error',
  title: 'The sequence does not divide among its ranks',
  effect: 'Megatron-LM stops at the latest when it splits the first batch',
  what: '`seq_length` is not a multiple of `2 * cp` (with `cp` above 1); under sequence parallelism of `2 * cp * tp`, or in a file that describes a whole training job of `cp * lcm(2, tp)`. Or it is longer than `max_seq_len`, as is `decoder_seq_length`, which only the training script checks.',
  why: 'Each context-parallel rank takes one chunk from the front and one from the back of a sequence, and sequence parallelism cuts each share further. Packed sequences (`qkv_format: thd`) are padded one by one and are exempt.',
  failing: job(8, 'cp: 4', 'sequence: {seq_length: 8196}'),
  sources: [
    VALIDATE_ARGS,
    megatron('megatron/core/models/mimo/partition/utils.py', 'PartitionAdapter.shard'),
    megatron('megatron/core/tensor_parallel/mappings.py', '_reduce_scatter_along_first_dim'),
  ],
  check: eachSequence(function* (described, facts) {
    const { seq_length: field, max_seq_len: most, tp_comm_overlap: overlap } = described.sequence;
    const length = field.value;
    if (length === undefined) {
      return;
    }
    const undivided = undividedReport(facts, described, length);
    if (undivided) {
      yield undivided;
    }
    // the script compares the lengths whatever is overlapped; otherwise `tp-comm-overlap-length` does
    const isCompared = facts.trainingScript || !(overlap.value && described.sequenceParallel);
    if (isCompared && most.value !== undefined && most.value < length && undivided?.predicts !== SCRIPT_LENGTH) {
      yield tooLongReport(facts, field, length, most, most.value);
    } else {
      yield* tooLongDecoder(facts, described.sequence);
    }
  }),
};

/** The first check of a length in the training script. */
const SCRIPT_LENGTH = 'seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.';

function tooLongReport(
  { trainingScript }: LayoutFacts,
  field: Field<number>,
  length: number,
  most: Field<number>,
  limit: number,
): Report {
  return {
    // only the arguments of the script are compared
    severity: trainingScript ? 'error' : 'warning',
    message: `seq_length ${length} is more than max_seq_len ${limit}. Use max_seq_len ${length}, or seq_length ${limit}.`,
    span: most.span,
    related: [valueRelated('seq_length', field)],
    predicts: `max_position_embeddings (${limit}) must be greater than or equal to seq_length (${length}).`,
    fixes: [changeFix('max_seq_len', most, length), changeFix('seq_length', field, limit)],
  };
}

/** Sequences of the decoder that are longer than the buffers; the script compares them by an assert without a message. */
function* tooLongDecoder({ trainingScript }: LayoutFacts, sequence: DescribedSequence['sequence']): Iterable<Report> {
  const { max_seq_len: most, decoder_seq_length: field } = sequence;
  if (most.value !== undefined && field.value !== undefined && field.value > most.value) {
    yield {
      severity: trainingScript ? 'error' : 'warning',
      message: `decoder_seq_length ${field.value} is more than max_seq_len ${most.value}. Use max_seq_len ${field.value}, or decoder_seq_length ${most.value}.`,
      span: field.span,
      related: [valueRelated('max_seq_len', most)],
      predicts: '',
      fixes: [changeFix('max_seq_len', most, field.value), changeFix('decoder_seq_length', field, most.value)],
    };
  }
}

/** A length that does not divide among the ranks that share it. */
function undividedReport(facts: LayoutFacts, described: DescribedSequence, length: number): Report | null {
  const { module, sequence, degrees } = described;
  const { tp, cp } = degrees;
  const sequenceParallel = described.sequenceParallel && tp > 1;
  const { divisor, factors } = divisorOf(facts, described);
  if (sequence.qkv_format.value === 'thd' || length % divisor === 0) {
    return null;
  }
  const better = nearestMultiples(divisor, length);
  const scriptStops = cp > 1 && length % (2 * cp) !== 0;
  const isFoundLater = facts.trainingScript && !scriptStops;
  return {
    // the script does not compare the length with tp
    severity: isFoundLater ? 'warning' : 'error',
    message: `seq_length ${length} is not a multiple of ${factors}${isFoundLater ? ': the first step fails when it scatters the embeddings' : ''}. Use ${eitherNumber(better)}.`,
    ...changes('seq_length', sequence.seq_length, ...better),
    related: [
      ...(cp > 1 ? writtenRelated('cp', module.fields.cp) : []),
      ...(sequenceParallel ? writtenRelated('tp', module.fields.tp) : []),
    ],
    predicts: facts.trainingScript
      ? scriptStops
        ? SCRIPT_LENGTH
        : 'First dimension of the tensor should be divisible by tensor parallel size'
      : `Sequence length should be divisible by ${divisor} for Sequence/Context parallelism`,
  };
}
