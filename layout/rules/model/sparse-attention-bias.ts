import { patternOf } from '../../topology/stages';
import { setFix } from '../fixes';
import { job, megatron, type Rule, TRANSFORMER_CONFIG } from '../rule';
import { eachModel } from './describedModels';

export const sparseAttentionBias: Rule = {
  code: 'sparse-attention-bias',
  severity: 'error',
  title: 'Sparse attention with biases',
  what: 'A hybrid pattern has sparse attention (`D`), or `experimental_attention_variant` is `dsa`, and linear layers have biases.',
  why: 'Sparse attention is built on absorbed multi-latent attention, whose products have no place for a bias. Megatron-LM adds biases unless it is told not to.',
  failing: job(8, 'tp: 1', 'model: {hybrid_layer_pattern: MDMD, add_bias_linear: true}'),
  sources: [TRANSFORMER_CONFIG, megatron('megatron/training/argument_utils.py', 'core_transformer_config_from_args')],
  check: eachModel(function* ({ module, model }, facts) {
    const { add_bias_linear: bias, experimental_attention_variant: variant } = model;
    const isSparse = (patternOf(model)?.includes('D') ?? false) || variant.value === 'dsa';
    const isOpen = !bias.written && facts.trainingScript;
    if (isSparse && (bias.value === true || isOpen)) {
      yield {
        severity: isOpen ? 'warning' : 'error',
        message: isOpen
          ? 'Megatron-LM adds biases unless it is told not to, and sparse attention has none. Write add_bias_linear false.'
          : 'Sparse attention has no biases. Use add_bias_linear false.',
        span: isOpen ? model.num_attention_heads.span : bias.span,
        predicts:
          'DSA uses AbsorbedMLASelfAttention, which requires add_bias_linear=False. Disable linear bias for DSA configs.',
        fixes: [setFix(facts.text, module.model.span, 'add_bias_linear', bias, 'false')],
      };
    }
  }),
};
