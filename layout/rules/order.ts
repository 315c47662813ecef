import { DEFAULT_ORDER, ORDER_TOKENS } from '../format/keys';
import { nearest } from '../format/nearest';
import { Grid } from '../grid/grid';
import { type LayoutFacts, type ModuleFacts, orderOf } from '../topology/facts';
import { generatorSizes, parallelismDims } from '../topology/generators';
import { denseOrder, expertOrder, missingDim, missingMessage, orderProblem } from '../topology/order';
import { replaceFix } from './fixes';
import { either } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** Groups of larger worlds are not spelt out: nobody reads them, and a keystroke must not pay for them. */
const MAX_SPELT = 4096;

/** `parallelism` with its order, where both can be used. */
function ordered(facts: LayoutFacts): { module: ModuleFacts; order: string } | null {
  const [module] = facts.modules;
  const order = orderOf(facts.root);
  return module && !facts.heterogeneous && order !== undefined ? { module, order } : null;
}

function orderSpan({ root }: LayoutFacts, { nameSpan }: ModuleFacts) {
  const order = root.parallelism.value?.order;
  return order?.written ? order.span : nameSpan;
}

export const orderInvalid: Rule = {
  code: 'order-invalid',
  severity: 'error',
  title: 'A rank order that cannot be used',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`order` has a token that is no dimension, has one twice, or leaves out a dimension that is larger than 1.',
  why: 'The order says which dimension varies fastest over the ranks. Megatron-LM matches it loosely: an unknown token ends in a bare KeyError, and a repeated one gives groups that overlap.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  order: tp-pp
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  order: tp-dp-pp
`,
  sources: [otherSource('`RankGenerator` in megatron/core/parallel_state.py')],
  *check(facts) {
    const found = ordered(facts);
    if (!found) {
      return;
    }
    const { module, order } = found;
    const span = orderSpan(facts, module);
    const { unknown, repeated } = orderProblem(order);
    const fixes = [replaceFix(span, DEFAULT_ORDER)];
    const [wrong] = unknown;
    // Megatron-LM looks for dimensions that are left out before it looks at the tokens
    const sizes = generatorSizes(module);
    const predicts = sizes && missingMessage(denseOrder(order), sizes.dense);
    if (wrong !== undefined) {
      const near = nearest(wrong, ORDER_TOKENS);
      yield {
        message: `The order \`${order}\` has the token \`${wrong}\`; the dimensions are ${either(ORDER_TOKENS)}.${near ? ` Did you mean \`${near}\`?` : ''}`,
        span,
        predicts,
        fixes: near
          ? [
              replaceFix(
                span,
                order
                  .split('-')
                  .map((token) => (token === wrong ? near : token))
                  .join('-'),
              ),
              ...fixes,
            ]
          : fixes,
      };
    } else if (repeated.length > 0) {
      const once = [...new Set(order.toLowerCase().split('-'))].join('-');
      yield {
        message: `The order \`${order}\` names \`${repeated[0]}\` twice. Name each dimension once.`,
        span,
        predicts,
        fixes: [replaceFix(span, once), ...fixes],
      };
    } else {
      yield* missingReports(facts, module, order);
    }
  },
};

/** A dimension that the order leaves out and must name, looked for in the dense grid, then in the expert grid. */
function* missingReports(facts: LayoutFacts, module: ModuleFacts, order: string): Iterable<Report> {
  const sizes = generatorSizes(module);
  if (!sizes) {
    return;
  }
  const { dense, expert } = sizes;
  const inDense = missingDim(denseOrder(order), dense);
  const dim = inDense ?? (expert && missingDim(expertOrder(order), expert));
  if (dim === null) {
    return;
  }
  const size = (inDense === null && expert ? expert : dense)[dim];
  const span = orderSpan(facts, module);
  const tokens = order.split('-');
  const last = tokens.at(-1)?.toLowerCase() === 'pp' ? tokens.length - 1 : tokens.length;
  const before = dim === 'tp' ? 0 : last;
  const completed = [...tokens.slice(0, before), dim, ...tokens.slice(before)].join('-');
  yield {
    message: `The order \`${order}\` leaves out \`${dim}\`, which is ${size} here${size === 1 ? ' and must be named all the same' : ''}. Write \`${completed}\`.`,
    span,
    predicts: missingMessage(denseOrder(order), dense) ?? (expert && missingMessage(expertOrder(order), expert)),
    fixes: [...new Set([completed, DEFAULT_ORDER])].map((better) => replaceFix(span, better)),
  };
}

export const orderExpertMismatch: Rule = {
  code: 'order-expert-mismatch',
  severity: 'error',
  title: 'An order under which the expert grid has other pipelines',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`order` does not end in `pp`, `pp` is above 1, and `dp` differs from `expt_dp`; or the dense and the expert grid place their pipeline groups differently.',
  why: 'Dense and expert layers run in the same pipeline, so both grids must have the same pipeline groups. Only an order that ends in `pp` gives them that whatever the other sizes.',
  failing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  pp: 2
  ep: 2
  order: tp-cp-ep-pp-dp
`,
  passing: `layout: 1
world_size: 16
parallelism:
  tp: 2
  pp: 2
  ep: 2
  order: tp-cp-ep-dp-pp
`,
  sources: [otherSource('`initialize_model_parallel` in megatron/core/parallel_state.py')],
  *check(facts) {
    const found = ordered(facts);
    const dims = found && parallelismDims(facts.root, found.module);
    if (!found || !dims) {
      return;
    }
    const { module, order } = found;
    const { dp, exptDp, degrees } = module;
    const span = orderSpan(facts, module);
    const last = [
      ...order
        .toLowerCase()
        .split('-')
        .filter((token) => token !== 'pp'),
      'pp',
    ].join('-');
    const fixes = [...new Set([last, DEFAULT_ORDER])].map((better) => replaceFix(span, better));
    const related = module.fields.ep.written
      ? [{ message: `ep is ${degrees?.ep} here`, span: module.fields.ep.span }]
      : [];
    if (!order.endsWith('pp') && (degrees?.pp ?? 1) > 1 && dp !== exptDp) {
      yield {
        message: `The order \`${order}\` does not end in pp, so dp (${dp}) and expt_dp (${exptDp}) must be the same. Write \`${last}\`.`,
        span,
        related,
        predicts:
          'When not using pp-last rank ordering, the data parallel size of the attention and moe layers must be the same',
        fixes,
      };
      return;
    }
    const dense = new Grid(dims.dense);
    const expert = new Grid(dims.expert);
    if (strideOfPp(dense) !== strideOfPp(expert)) {
      yield {
        message: `Under the order \`${order}\` pipelines of dense layers join ranks ${strideOfPp(dense)} apart, those of experts ranks ${strideOfPp(expert)} apart. Write \`${last}\`.`,
        span,
        related,
        predicts:
          dense.size <= MAX_SPELT
            ? `Pipeline parallel groups are expected to be the same for Non-Expert and Expert part,     but got ${spelt(dense)} and ${spelt(expert)}`
            : null,
        fixes,
      };
    }
  },
};

/** Pipeline groups are the same lists exactly when their strides are: groups are numbered by their first ranks. */
function strideOfPp(grid: Grid): number {
  const axis = grid.axes.find(({ name }) => name === 'pp');
  return axis && axis.size > 1 ? axis.stride : 0;
}

/** All pipeline groups as Python prints them. */
function spelt(grid: Grid): string {
  const groups = grid.groups(['pp']);
  const lists = Array.from({ length: groups.count }, (_, i) => `[${groups.ranks(i).join(', ')}]`);
  return `[${lists.join(', ')}]`;
}
