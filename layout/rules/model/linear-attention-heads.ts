import { changes } from '../fixes';
import { eitherNumber, nearestMultiples, productText } from '../numbers';
import { writtenRelated } from '../related';
import { job, type Rule, TRANSFORMER_CONFIG } from '../rule';
import { eachModel } from './describedModels';

/** The gated delta net, and its name of before. */
const LINEAR_VARIANTS = ['gdn', 'gated_delta_net'];

export const linearAttentionHeads: Rule = {
  code: 'linear-attention-heads',
  severity: 'error',
  title: 'tp and cp do not divide the heads of linear attention',
  what: 'With `experimental_attention_variant: gdn`, `linear_num_key_heads` or `linear_num_value_heads` is not a multiple of `tp` times `cp`, or the value heads are not a multiple of the key heads.',
  why: 'Tensor- and context-parallel ranks share the heads of a gated delta net: each computes whole heads over the whole sequence.',
  failing: job(
    16,
    'tp: 4, cp: 4',
    'model: {experimental_attention_variant: gdn, linear_num_key_heads: 8, linear_num_value_heads: 32}',
  ),
  sources: [TRANSFORMER_CONFIG],
  check: eachModel(function* ({ module, model, degrees }) {
    const { experimental_attention_variant: variant, linear_num_key_heads: key, linear_num_value_heads: value } = model;
    const { tp, cp } = degrees;
    if (!LINEAR_VARIANTS.includes(variant.value ?? '')) {
      return;
    }
    if (key.value !== undefined && value.value !== undefined && value.value % key.value !== 0) {
      const better = nearestMultiples(key.value, value.value);
      yield {
        message: `linear_num_value_heads ${value.value} is not a multiple of linear_num_key_heads ${key.value}. Use ${eitherNumber(better)}.`,
        ...changes('linear_num_value_heads', value, ...better),
        related: writtenRelated('linear_num_key_heads', key),
        predicts: `linear_num_value_heads (${value.value}) must be a multiple of linear_num_key_heads (${key.value}).`,
      };
      return;
    }
    // value heads are a multiple of the key heads: one of the two diagnostics is enough
    const [name, field] = key.value === undefined ? ['linear_num_value_heads', value] : ['linear_num_key_heads', key];
    if (field.value !== undefined && field.value % (tp * cp) !== 0) {
      const better = nearestMultiples(tp * cp, field.value);
      yield {
        message: `${name} ${field.value} is not a multiple of ${productText({ tp, cp })}. Use ${eitherNumber(better)}.`,
        ...changes(name, field, ...better),
        related: [...writtenRelated('tp', module.fields.tp), ...writtenRelated('cp', module.fields.cp)],
        predicts: `self.${name}=${field.value} must be a multiple of (self.tensor_model_parallel_size=${tp} * self.context_parallel_size=${cp}).`,
      };
    }
  }),
};
