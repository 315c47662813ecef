import { LANGUAGE_MODULE } from '../../format/names';
import type { Field } from '../../format/spec';
import { type LayoutFacts, type ModuleFacts, valueOr } from '../../topology/facts';
import { patternOf } from '../../topology/stages';
import { changeFix, changes, removeFix } from '../fixes';
import { eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { job, MIMO_ARGS, type Report, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';
import type { DescribedModel } from './describedModels';

export const experts: Rule = {
  code: 'experts',
  severity: 'error',
  title: 'ep does not divide the experts',
  what: '`num_experts` is not a multiple of `ep`; `ep` is above 1 in a model that is fully described and has no experts; or `moe_ffn_hidden_size` is written for such a model.',
  why: 'Each expert-parallel rank holds the same number of experts.',
  failing: job(16, 'ep: 8', 'model: {num_experts: 12}'),
  sources: [VALIDATE_ARGS, TRANSFORMER_CONFIG, MIMO_ARGS],
  *check(facts) {
    for (const module of facts.modules) {
      const model = module.model.value;
      // Megatron-LM looks at the experts before the other degrees, so those may be unusable
      const ep = valueOr(module.fields.ep, 1);
      if (!model || ep === undefined) {
        continue;
      }
      const field = model.num_experts;
      if (field.value !== undefined && field.value % ep !== 0) {
        yield unevenReport(facts, module, field, field.value, ep);
      } else if (hasNoExperts(model)) {
        yield* withoutExperts(facts, module, model, ep);
      }
    }
  },
};

/** Whether a model certainly has no experts. */
export function hasNoExperts(model: DescribedModel['model']): boolean {
  return !model.num_experts.written && isWhole(model);
}

/** Whether a model is described fully: one of which only some sizes are told may well have experts. */
function isWhole(model: DescribedModel['model']): boolean {
  const hasLayers = model.num_layers.written || patternOf(model) !== null;
  return hasLayers && model.hidden_size.written && model.num_attention_heads.written;
}

function unevenReport(
  facts: LayoutFacts,
  module: ModuleFacts,
  field: Field<number>,
  count: number,
  ep: number,
): Report {
  const sizes = nearestDivisors(count, ep, 3);
  const more = nearestMultiples(ep, count);
  const isMimoFlag = facts.mimoFlags && module.name === LANGUAGE_MODULE;
  return {
    message: `ep ${ep} does not divide ${count} experts. Use ep ${eitherNumber(sizes)}, or ${eitherNumber(more)} experts.`,
    span: module.fields.ep.span,
    related: [valueRelated('num_experts', field)],
    predicts: isMimoFlag
      ? `--num-experts (${count}) must be divisible by --llm-ep (${ep})`
      : 'Number of experts should be a multiple of expert model parallel_size.',
    fixes: [
      ...sizes.map((n) => changeFix('ep', module.fields.ep, n)),
      ...more.map((n) => changeFix('num_experts', field, n)),
    ],
  };
}

function* withoutExperts(
  { text, trainingScript }: LayoutFacts,
  module: ModuleFacts,
  { moe_ffn_hidden_size: width }: DescribedModel['model'],
  ep: number,
): Iterable<Report> {
  if (ep > 1) {
    yield {
      message: `ep is ${ep}, but the model has no experts. Write num_experts, or use ep 1.`,
      ...changes('ep', module.fields.ep, 1),
      predicts: trainingScript
        ? 'num_experts must be non None to use expert model parallelism'
        : 'num_moe_experts must be non None to use expert-parallel.',
    };
  } else if (width.written) {
    yield {
      message:
        'moe_ffn_hidden_size is the width of an expert, but the model has no experts. Write num_experts, or remove it.',
      span: width.keySpan,
      predicts:
        'moe_ffn_hidden_size is set but num_moe_experts is None. Please set num_moe_experts or remove moe_ffn_hidden_size.',
      fixes: [removeFix(text, 'moe_ffn_hidden_size', width)],
    };
  }
}
