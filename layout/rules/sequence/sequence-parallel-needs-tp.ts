import { changeFix } from '../fixes';
import { writtenRelated } from '../related';
import { job, megatron, type Rule, VALIDATE_ARGS } from '../rule';
import { eachSequence } from './describedSequences';

export const sequenceParallelNeedsTp: Rule = {
  code: 'sequence-parallel-needs-tp',
  severity: 'warning',
  title: 'Sequence parallelism without tensor parallelism',
  effect: 'the training script switches sequence parallelism off; a bare configuration stops',
  what: '`sequence_parallel` is true and `tp` is 1.',
  why: 'Sequence parallelism spreads activations over the tensor-parallel ranks. With `tp` 1 there is nothing to spread them over.',
  failing: job(8, 'tp: 1', 'sequence: {sequence_parallel: true}'),
  sources: [megatron('megatron/core/model_parallel_config.py', 'ModelParallelConfig.__post_init__'), VALIDATE_ARGS],
  check: eachSequence(function* ({ module, sequence, degrees, sequenceParallel }, facts) {
    if (sequenceParallel && degrees.tp === 1) {
      const { tp } = module.fields;
      yield {
        message: 'sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.',
        span: sequence.sequence_parallel.span,
        related: writtenRelated('tp', tp),
        predicts: facts.trainingScript ? null : 'Cannot use sequence parallelism without tensor parallelism',
        fixes: [changeFix('sequence_parallel', sequence.sequence_parallel, 'false'), changeFix('tp', tp, 2)],
      };
    }
  }),
};
