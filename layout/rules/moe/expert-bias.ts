import { setFix } from '../fixes';
import { eachModel } from '../model/describedModels';
import { degreeRelated } from '../related';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';

export const expertBias: Rule = {
  code: 'expert-bias',
  severity: 'error',
  title: 'Experts with biases under tensor parallelism',
  what: '`num_experts` is written, `expt_tp` is above 1 and `add_bias_linear` is true. Where `add_bias_linear` is not written, this is a warning: Megatron-LM adds biases unless `--disable-bias-linear` is given.',
  why: 'The biases of experts are not cut, and Megatron-LM does not run them with expert tensor parallelism.',
  failing: job(
    8,
    'tp: 2, ep: 2',
    'model: {num_experts: 8, add_bias_linear: true}',
    'sequence: {sequence_parallel: true}',
  ),
  sources: [TRANSFORMER_CONFIG],
  check: eachModel(function* ({ module, model, degrees }, facts) {
    const { add_bias_linear: bias, num_experts: experts } = model;
    const isOpen = !bias.written && facts.trainingScript;
    if (experts.written && degrees.exptTp > 1 && (bias.value === true || isOpen)) {
      yield {
        severity: isOpen ? 'warning' : 'error',
        message: isOpen
          ? `Biases are Megatron-LM's default, and experts with biases need expt_tp 1; it is ${degrees.exptTp}. Write add_bias_linear false.`
          : `Experts with biases need expt_tp 1; it is ${degrees.exptTp}. Use add_bias_linear false, or expt_tp 1.`,
        span: isOpen ? experts.span : bias.span,
        related: degreeRelated(module, 'expt_tp'),
        predicts: 'Bias in Moe is only supported when ETP==1',
        fixes: [
          setFix(facts.text, module.model.span, 'add_bias_linear', bias, 'false'),
          isOpen ? null : setFix(facts.text, module.span, 'expt_tp', module.fields.expt_tp, 1),
        ],
      };
    }
  }),
};
