import { valueOr } from '../../topology/facts';
import { setFix } from '../fixes';
import { hasNoExperts } from '../model/experts';
import { writtenRelated } from '../related';
import { job, megatron, type Rule, stopsLater } from '../rule';
import { eachSequence } from './describedSequences';

/** What the MoE layer says in its first step; the missing space is Megatron's. */
const WORDS =
  'During training, performance may degrade if MoE and tensor parallelismare enabled without also enabling sequence parallelism.';

export const sequenceParallelWithExperts: Rule = {
  code: 'sequence-parallel-with-experts',
  severity: 'error',
  title: 'Experts and tensor parallelism without sequence parallelism',
  effect: 'Megatron-LM stops in the first MoE layer of a training step',
  what: 'The model has experts (`num_experts`, or `ep` above 1), `tp` is above 1 and `sequence_parallel` is off. In a file that does not say all that the training script asks for, this is a warning.',
  why: 'Without sequence parallelism every tensor-parallel rank sends the same tokens to the experts. Megatron-LM refuses to train so; it runs inference.',
  failing: job(
    8,
    'tp: 2, ep: 2',
    'model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, add_bias_linear: false}',
    'sequence: {seq_length: 4096}',
    'batch: {micro_batch_size: 1}',
  ),
  sources: [megatron('megatron/core/transformer/moe/moe_layer.py', 'MoELayer.forward')],
  check: eachSequence(function* ({ module, sequence, degrees }, facts) {
    const { sequence_parallel: field } = sequence;
    const model = module.model.value;
    const hasExperts = model?.num_experts.written === true || (degrees.ep > 1 && !(model && hasNoExperts(model)));
    // the overlap of TP communication needs sequence parallelism too, and its rule says so
    const isSaidOtherwise = sequence.tp_comm_overlap.value === true;
    if (hasExperts && degrees.tp > 1 && valueOr(field, false) === false && !isSaidOtherwise) {
      // a file that says less than its training script may leave out that sequences are parallel
      const isSaid = facts.trainingScript;
      yield {
        severity: isSaid ? 'error' : 'warning',
        predicts: isSaid ? WORDS : null,
        message: `Experts with tp ${degrees.tp} need sequence_parallel in training. Use sequence_parallel true, or tp 1.${stopsLater(facts, 'runs the first MoE layer')}`,
        span: field.written ? field.span : module.sequence.keySpan,
        related: [...writtenRelated('ep', module.fields.ep), ...writtenRelated('tp', module.fields.tp)],
        fixes: [setFix(facts.text, module.sequence.span, 'sequence_parallel', field, 'true')],
      };
    }
  }),
};
