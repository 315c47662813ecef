import { removeField } from '../format/edit';
import { LANGUAGE_MODULE } from '../format/names';
import type { Field } from '../format/spec';
import { type LayoutFacts, type ModuleFacts, valueOr } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import { divisors, either, nearestDivisors, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** The grids whose model is described. */
function* described({ modules }: LayoutFacts) {
  for (const module of modules) {
    const model = module.model.value;
    if (model && module.degrees) {
      yield { module, model, degrees: module.degrees };
    }
  }
}

const here = (name: string, { value, span }: Field<number>) => ({ message: `${name} is ${value} here`, span });

/** Fixes that change a written degree to one of some sizes. */
function degreeFixes(name: string, field: Field<number>, sizes: readonly number[]) {
  return field.written ? sizes.map((size) => changeFix(name, field.span, size)) : [];
}

export const attentionHeads: Rule = {
  code: 'attention-heads',
  severity: 'error',
  title: 'Attention heads that tp does not divide',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_attention_heads` is not a multiple of `tp`; or, for a job that the training script runs, does not divide `hidden_size`.',
  why: 'Each tensor-parallel rank holds whole heads, and each head an equal part of the hidden size.',
  failing: `layout: 1
world_size: 12
parallelism:
  tp: 3
model:
  num_attention_heads: 32
`,
  passing: `layout: 1
world_size: 12
parallelism:
  tp: 4
model:
  num_attention_heads: 32
`,
  sources: [
    otherSource(
      '`TransformerConfig.__post_init__` in megatron/core/transformer/transformer_config.py; `validate_args` in megatron/training/arguments.py',
    ),
  ],
  *check(facts) {
    for (const { module, model, degrees } of described(facts)) {
      const { num_attention_heads: field, hidden_size: hidden } = model;
      const heads = field.value;
      if (heads === undefined) {
        continue;
      }
      // an assertion without a message, and the first of the two that the script comes to
      const unequal = facts.trainingScript && hidden.value !== undefined && hidden.value % heads !== 0;
      if (heads % degrees.tp !== 0) {
        const { tp } = module.fields;
        const sizes = nearestDivisors(heads, degrees.tp, 3);
        const more = nearestMultiples(degrees.tp, heads);
        yield {
          message: `${heads} attention heads cannot be shared by tp ${degrees.tp}. Use tp ${either([...sizes].sort((a, b) => a - b))}, or ${either([...more].sort((a, b) => a - b))} heads.`,
          span: tp.written ? tp.span : field.span,
          related: [here('num_attention_heads', field)],
          predicts: unequal
            ? ''
            : `num_attention_heads (${heads}) must be a multiple of tensor_model_parallel_size (${degrees.tp}).`,
          fixes: [...degreeFixes('tp', tp, sizes), ...more.map((n) => changeFix('num_attention_heads', field.span, n))],
        };
      } else if (unequal && hidden.value !== undefined) {
        const sizes = nearestMultiples(heads, hidden.value);
        yield {
          message: `hidden_size ${hidden.value} is not a multiple of the ${heads} attention heads. Use hidden_size ${either([...sizes].sort((a, b) => a - b))}.`,
          span: hidden.span,
          related: [here('num_attention_heads', field)],
          predicts: '',
          fixes: sizes.map((size) => changeFix('hidden_size', hidden.span, size)),
        };
      }
    }
  },
};

export const queryGroups: Rule = {
  code: 'query-groups',
  severity: 'error',
  title: 'Key/value heads that fit no tp',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_query_groups` is neither a multiple nor a divisor of `tp`.',
  why: 'Key/value heads are either shared out to the tensor-parallel ranks or copied to several of them, evenly both ways.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 4
model:
  num_attention_heads: 24
  num_query_groups: 6
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 4
model:
  num_attention_heads: 24
  num_query_groups: 8
`,
  sources: [otherSource('`TransformerConfig.__post_init__` in megatron/core/transformer/transformer_config.py')],
  *check(facts) {
    for (const { module, model, degrees } of described(facts)) {
      const field = model.num_query_groups;
      const groups = field.value;
      const { tp } = degrees;
      const heads = model.num_attention_heads.value;
      // where tp does not divide the heads that diagnostic comes first
      if (groups === undefined || groups % tp === 0 || tp % groups === 0 || (heads !== undefined && heads % tp !== 0)) {
        continue;
      }
      const fitting = [...divisors(tp), ...nearestMultiples(tp, groups)].sort(
        (a, b) => Math.abs(a - groups) - Math.abs(b - groups),
      );
      const better = [...new Set(fitting)].slice(0, 3);
      yield {
        message: `${groups} query groups are neither a multiple nor a divisor of tp ${tp}. Use ${either([...better].sort((a, b) => a - b))}.`,
        span: field.span,
        related: module.fields.tp.written ? [here('tp', module.fields.tp)] : [],
        predicts: `num_query_groups (${groups}) must be a multiple or divisor of tensor_model_parallel_size (${tp}).`,
        fixes: better.map((size) => changeFix('num_query_groups', field.span, size)),
      };
    }
  },
};

export const experts: Rule = {
  code: 'experts',
  severity: 'error',
  title: 'Experts that ep does not divide',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`num_experts` is not a multiple of `ep`; `ep` is above 1 in a model that is described without experts; or `moe_ffn_hidden_size` is written for one.',
  why: 'Each expert-parallel rank holds the same number of experts.',
  failing: `layout: 1
world_size: 16
parallelism:
  ep: 8
model:
  num_experts: 12
`,
  passing: `layout: 1
world_size: 16
parallelism:
  ep: 4
model:
  num_experts: 12
`,
  sources: [
    otherSource(
      '`validate_args` in megatron/training/arguments.py; `TransformerConfig.__post_init__` in megatron/core/transformer/transformer_config.py',
    ),
  ],
  *check(facts) {
    for (const module of facts.modules) {
      const model = module.model.value;
      // other degrees may well be unusable: Megatron-LM looks at the experts first
      const ep = valueOr(module.fields.ep, 1);
      if (!model || ep === undefined) {
        continue;
      }
      const field = model.num_experts;
      if (field.value !== undefined) {
        yield* unevenExperts(facts, module, field, field.value, ep);
      } else if (!field.written) {
        yield* withoutExperts(facts, module, model, ep);
      }
    }
  },
};

function* unevenExperts(
  facts: LayoutFacts,
  module: ModuleFacts,
  field: Field<number>,
  count: number,
  ep: number,
): Iterable<Report> {
  if (count % ep === 0) {
    return;
  }
  const sizes = nearestDivisors(count, ep, 3);
  const more = nearestMultiples(ep, count);
  const flags = facts.mimoFlags && module.name === LANGUAGE_MODULE;
  yield {
    message: `${count} experts cannot be shared by ep ${ep}. Use ep ${either([...sizes].sort((a, b) => a - b))}, or ${either([...more].sort((a, b) => a - b))} experts.`,
    span: module.fields.ep.span,
    related: [here('num_experts', field)],
    predicts: flags
      ? `--num-experts (${count}) must be divisible by --llm-ep (${ep})`
      : 'Number of experts should be a multiple of expert model parallel_size.',
    fixes: [...degreeFixes('ep', module.fields.ep, sizes), ...more.map((n) => changeFix('num_experts', field.span, n))],
  };
}

function* withoutExperts(
  facts: LayoutFacts,
  module: ModuleFacts,
  model: NonNullable<ModuleFacts['model']['value']>,
  ep: number,
): Iterable<Report> {
  // a model of which only some facts are told may well have experts
  const whole = model.num_layers.written && model.hidden_size.written && model.num_attention_heads.written;
  if (ep > 1 && whole) {
    yield {
      message: `ep is ${ep}, but the model has no experts. Write num_experts, or use ep 1.`,
      span: module.fields.ep.span,
      predicts: facts.trainingScript
        ? 'num_experts must be non None to use expert model parallelism'
        : 'num_moe_experts must be non None to use expert-parallel.',
      fixes: degreeFixes('ep', module.fields.ep, [1]),
    };
  } else if (model.moe_ffn_hidden_size.written && whole) {
    yield {
      message:
        'moe_ffn_hidden_size is the width of an expert, but the model has no experts. Write num_experts, or leave it out.',
      span: model.moe_ffn_hidden_size.keySpan,
      predicts:
        'moe_ffn_hidden_size is set but num_moe_experts is None. Please set num_moe_experts or remove moe_ffn_hidden_size.',
      fixes: [suggestion('Remove `moe_ffn_hidden_size`', [removeField(facts.text, model.moe_ffn_hidden_size)])],
    };
  }
}

export const ffnShards: Rule = {
  code: 'ffn-shards',
  severity: 'warning',
  title: 'A feed-forward width that tp does not divide',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: '`ffn_hidden_size` is not a multiple of `tp`, or `moe_ffn_hidden_size` of `expt_tp`.',
  why: 'The feed-forward weights are cut across tensor-parallel ranks; a rest leaves the parts uneven or stops the model when it is built.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 8
model:
  ffn_hidden_size: 1860
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 8
model:
  ffn_hidden_size: 1856
`,
  sources: [otherSource('`divide` in megatron/core/utils.py, as called by the tensor-parallel layers')],
  *check(facts) {
    for (const { model, degrees } of described(facts)) {
      const widths = [
        ['ffn_hidden_size', model.ffn_hidden_size, 'tp', degrees.tp],
        ['moe_ffn_hidden_size', model.moe_ffn_hidden_size, 'expt_tp', degrees.exptTp],
      ] as const;
      for (const [name, field, by, size] of widths) {
        if (field.value !== undefined && field.value % size !== 0) {
          const better = nearestMultiples(size, field.value);
          yield {
            message: `${name} ${field.value} is not a multiple of ${by} ${size}. Use ${either([...better].sort((a, b) => a - b))}.`,
            span: field.span,
            fixes: better.map((width) => changeFix(name, field.span, width)),
          };
        }
      }
    }
  },
};
