import { sequenceDivisor } from '../../topology/sequence';
import { scattersRankByRank } from '../../topology/sequencePlans';
import { job } from '../examples';
import { writtenRelated } from '../related';
import type { Rule } from '../rule';
import { megatron } from '../source';
import { describedSequences } from './describedSequences';

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
  *check(facts) {
    for (const { module, sequence, degrees, sequenceParallel } of describedSequences(facts)) {
      const { qkv_format: format, variable_seq_lengths: variable } = sequence;
      const field = format.value === 'thd' ? format : variable.value === true ? variable : null;
      const isSplit = sequenceParallel && degrees.tp > 1;
      const isGpt = scattersRankByRank(facts);
      const { cp, tp } = degrees;
      const divisor = sequenceDivisor({ cp, tp, sequenceParallel: isSplit }, isGpt);
      if (field && divisor > 1) {
        const product =
          isSplit && cp > 1
            ? isGpt
              ? `cp ${cp} x lcm(2, tp ${tp}) = ${divisor}`
              : `2 x cp ${cp} x tp ${tp} = ${divisor}`
            : isSplit
              ? `tp ${tp}`
              : `2 x cp ${cp} = ${divisor}`;
        yield {
          message: `Each sequence is padded to a multiple of ${product}.`,
          span: field.span,
          related: [
            ...writtenRelated('cp', module.fields.cp),
            ...(isSplit ? writtenRelated('tp', module.fields.tp) : []),
          ],
        };
      }
    }
  },
};
