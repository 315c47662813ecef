import { writtenRelated } from '../related';
import { job, megatron, type Rule } from '../rule';
import { divisorOf, eachSequence } from './describedSequences';

export const packedPadding: Rule = {
  code: 'packed-padding',
  severity: 'information',
  title: 'To what each packed sequence is padded',
  effect: 'sequences that are not padded fail when a batch is split',
  what: 'Sequences are packed (`qkv_format: thd`) or differ in length (`variable_seq_lengths`), and context or sequence parallelism splits them.',
  why: 'Every sequence of a pack is split among the context-parallel ranks by itself, in two chunks a rank, so that each must divide, not `seq_length` alone.',
  failing: job(8, 'cp: 4', 'sequence: {seq_length: 8192, qkv_format: thd}'),
  passing: job(8, 'cp: 4', 'sequence: {seq_length: 8192}'),
  sources: [
    megatron('megatron/core/models/mimo/partition/utils.py', 'PartitionAdapter.shard'),
    megatron('megatron/core/tensor_parallel/mappings.py', '_split_along_first_dim'),
    'Transformer Engine, attention/dot_product_attention/context_parallel.py (`AttnFuncWithCPAndKVP2P`)',
  ],
  check: eachSequence(function* (described, facts) {
    const { module, sequence, degrees, sequenceParallel } = described;
    const { qkv_format: format, variable_seq_lengths: variable } = sequence;
    const field = format.value === 'thd' ? format : variable.value === true ? variable : null;
    const isSplit = sequenceParallel && degrees.tp > 1;
    const { divisor, factors } = divisorOf(facts, described);
    if (field && divisor > 1) {
      yield {
        message: `Each sequence is padded to a multiple of ${factors}.`,
        span: field.span,
        related: [
          ...writtenRelated('cp', module.fields.cp),
          ...(isSplit ? writtenRelated('tp', module.fields.tp) : []),
        ],
      };
    }
  }),
};
