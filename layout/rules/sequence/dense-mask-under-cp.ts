import { changeFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, megatron, type Rule } from '../rule';
import { eachSequence } from './describedSequences';

export const denseMaskUnderCp: Rule = {
  code: 'dense-mask-under-cp',
  severity: 'error',
  title: 'A dense mask under context parallelism',
  effect: 'each rank applies the wrong part of the mask, and the model trains wrongly',
  what: '`attention_mask` is `dense` and `cp` is above 1.',
  why: 'Context parallelism splits a mask along its query dimension only. A causal mask needs no splitting.',
  failing: job(8, 'cp: 2', 'sequence: {attention_mask: dense}'),
  sources: [megatron('megatron/core/utils.py', 'get_batch_on_this_cp_rank')],
  check: eachSequence(function* ({ module, sequence, degrees }) {
    const { cp } = module.fields;
    if (sequence.attention_mask.value === 'dense' && degrees.cp > 1) {
      yield {
        message: `Megatron-LM does not split a dense attention mask over cp ${degrees.cp} correctly. Use attention_mask causal, or cp 1.`,
        span: sequence.attention_mask.span,
        related: writtenRelated('cp', cp),
        fixes: [changeFix('attention_mask', sequence.attention_mask, 'causal'), changeFix('cp', cp, 1)],
      };
    }
  }),
};
