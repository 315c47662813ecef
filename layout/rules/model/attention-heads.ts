import type { Field } from '../../format/spec';
import { changeFix, changes } from '../fixes';
import { eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, type Report, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';
import { type DescribedModel, eachModel } from './describedModels';

export const attentionHeads: Rule = {
  code: 'attention-heads',
  severity: 'error',
  title: 'tp does not divide the attention heads',
  what: '`num_attention_heads` is not a multiple of `tp`. In a job of the training script, `hidden_size` must also be a multiple of `num_attention_heads`.',
  why: 'Each tensor-parallel rank holds whole heads, and each head an equal part of the hidden size.',
  failing: job(12, 'tp: 3', 'model: {num_attention_heads: 32}'),
  sources: [TRANSFORMER_CONFIG, VALIDATE_ARGS],
  check: eachModel(function* (described, facts) {
    const { num_attention_heads: heads, hidden_size: hidden, kv_channels: kv } = described.model;
    if (heads.value === undefined) {
      return;
    }
    const isUneven =
      facts.trainingScript && !kv.written && hidden.value !== undefined && hidden.value % heads.value !== 0;
    if (heads.value % described.degrees.tp !== 0) {
      yield headsReport(described, heads, heads.value, isUneven);
    } else if (isUneven) {
      yield hiddenReport(heads, heads.value, hidden, hidden.value ?? 0);
    }
  }),
};

function headsReport(
  { module, degrees }: DescribedModel,
  field: Field<number>,
  heads: number,
  isUneven: boolean,
): Report {
  const { tp } = module.fields;
  const sizes = nearestDivisors(heads, degrees.tp, 3);
  const more = nearestMultiples(degrees.tp, heads);
  return {
    message: `tp ${degrees.tp} does not divide ${heads} attention heads. Use tp ${eitherNumber(sizes)}, or ${eitherNumber(more)} heads.`,
    span: tp.written ? tp.span : field.span,
    related: [valueRelated('num_attention_heads', field)],
    // the script first asserts, without a message, that the heads divide the hidden size
    predicts: isUneven
      ? ''
      : `num_attention_heads (${heads}) must be a multiple of tensor_model_parallel_size (${degrees.tp}).`,
    fixes: [
      ...sizes.map((n) => changeFix('tp', tp, n)),
      ...more.map((n) => changeFix('num_attention_heads', field, n)),
    ],
  };
}

function hiddenReport(field: Field<number>, heads: number, hidden: Field<number>, size: number): Report {
  const sizes = nearestMultiples(heads, size);
  return {
    message: `num_attention_heads ${heads} does not divide hidden_size ${size}. Use hidden_size ${eitherNumber(sizes)}.`,
    ...changes('hidden_size', hidden, ...sizes),
    related: [valueRelated('num_attention_heads', field)],
    predicts: '',
  };
}
