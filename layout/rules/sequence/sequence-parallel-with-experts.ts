import { valueOr } from '../../topology/facts';
import { changeFix, insertFix } from '../fixes';
import { writtenRelated } from '../related';
import type { Rule } from '../rule';
import { megatron } from '../source';
import { describedSequences } from './described';

export const sequenceParallelWithExperts: Rule = {
  code: 'sequence-parallel-with-experts',
  severity: 'warning',
  title: 'Experts and tensor parallelism without sequence parallelism',
  effect: 'Megatron-LM stops in the first MoE layer of a training step',
  what: '`ep` and `tp` are above 1 and `sequence_parallel` is off.',
  why: 'Without sequence parallelism every tensor-parallel rank sends the same tokens to the experts. Megatron-LM refuses to train so; it runs inference.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  ep: 2
sequence:
  seq_length: 4096
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  ep: 2
sequence:
  seq_length: 4096
  sequence_parallel: true
`,
  sources: [megatron('megatron/core/transformer/moe/moe_layer.py', 'MoELayer.forward')],
  *check(facts) {
    for (const { module, sequence, degrees } of describedSequences(facts)) {
      const { sequence_parallel: field } = sequence;
      if (degrees.ep > 1 && degrees.tp > 1 && valueOr(field, false) === false) {
        yield {
          message: `Experts with tp ${degrees.tp} need sequence_parallel in training. Use sequence_parallel true, or tp 1.`,
          span: field.written ? field.span : module.sequence.keySpan,
          related: [...writtenRelated('ep', module.fields.ep), ...writtenRelated('tp', module.fields.tp)],
          fixes: [
            field.written
              ? changeFix('sequence_parallel', field.span, 'true')
              : insertFix(facts.text, module.sequence.span, 'sequence_parallel: true'),
          ],
        };
      }
    }
  },
};
