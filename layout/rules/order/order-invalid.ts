import { DEFAULT_ORDER, ORDER_TOKENS } from '../../format/keys';
import { nearest } from '../../format/nearest';
import { generatorSizes, injectsGtp } from '../../topology/generators';
import { denseOrder, expertOrder, missingDim, orderPrediction, orderProblem } from '../../topology/order';
import { changeFix } from '../fixes';
import { either } from '../numbers';
import { job, megatron, type Rule } from '../rule';
import { ordered, orderSpan } from './ordered';

export const orderInvalid: Rule = {
  code: 'order-invalid',
  severity: 'error',
  title: 'A rank order that cannot be used',
  effect: 'Megatron-LM stops on every rank, or builds groups that overlap',
  what: '`order` has a token that is no dimension, has one twice, or leaves out a dimension that is larger than 1.',
  why: 'The order says which dimension varies fastest over the ranks. Megatron-LM matches it loosely: an unknown token ends in a bare KeyError, and a repeated one gives groups that overlap.',
  failing: job(16, 'tp: 2, order: tp-pp'),
  sources: [megatron('megatron/core/parallel_state.py', 'RankGenerator')],
  *check(facts) {
    const found = ordered(facts);
    if (!found) {
      return;
    }
    const { module, order } = found;
    const field = facts.root.parallelism.value?.order;
    const span = orderSpan(facts, module);
    const { unknown, repeated } = orderProblem(order);
    const fixes = [changeFix('order', field, DEFAULT_ORDER)];
    const [wrong] = unknown;
    // Megatron-LM looks for dimensions that are left out before it looks at the tokens
    const sizes = generatorSizes(module);
    const gtp = injectsGtp(facts.root, module);
    const predicts = sizes && orderPrediction(order, sizes.dense, sizes.expert, gtp);
    if (wrong !== undefined) {
      const near = nearest(
        wrong,
        ORDER_TOKENS.filter((token) => !order.toLowerCase().split('-').includes(token)),
      );
      yield {
        message: `${wrong === '' ? 'An empty word' : `'${wrong}'`} in the order is no dimension. ${near ? `Did you mean ${near}?` : `Use ${either(ORDER_TOKENS)}.`}`,
        span,
        predicts,
        fixes: near
          ? [
              changeFix(
                'order',
                field,
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
        message: `The order names ${repeated[0]} twice. Name each dimension once.`,
        span,
        predicts,
        fixes: [changeFix('order', field, once), ...fixes],
      };
    } else if (sizes) {
      const missing = missingReport(order, sizes, gtp, module.dp !== module.exptDp);
      if (missing) {
        const better = [...new Set([missing.better, DEFAULT_ORDER])];
        yield { message: missing.message, span, predicts, fixes: better.map((one) => changeFix('order', field, one)) };
      }
    }
  },
};

/** A dimension that the order leaves out and must name, looked for in the dense grid, then in the expert grid. */
function missingReport(
  order: string,
  { dense, expert }: NonNullable<ReturnType<typeof generatorSizes>>,
  gtp: boolean,
  isPpLast: boolean,
): { readonly message: string; readonly better: string } | null {
  const inDense = missingDim(denseOrder(order, gtp), dense);
  const missing = (tokens: string) =>
    missingDim(denseOrder(tokens, gtp), dense) ?? (expert && missingDim(expertOrder(tokens, gtp), expert));
  const dim = missing(order);
  if (dim === null) {
    return null;
  }
  const size = (inDense === null && expert ? expert : dense)[dim];
  const better = completed(order, missing, isPpLast);
  const why = size === 1 ? 'must be named even where it is 1' : `is ${size}`;
  return { message: `The order leaves out ${dim}, which ${why}. Write ${better}.`, better };
}

/**
 * An order with every dimension that it must name.
 * @param missing the first dimension that an order leaves out
 * @param isPpLast whether only an order that ends in pp gives dense and expert layers the same pipelines
 */
function completed(order: string, missing: (order: string) => string | null, isPpLast: boolean): string {
  let tokens = order.split('-');
  for (const _ of ORDER_TOKENS) {
    const dim = missing(tokens.join('-'));
    const isLast = tokens.at(-1)?.toLowerCase() === 'pp';
    const at = dim === 'tp' ? 0 : tokens.length - (isLast ? 1 : 0);
    tokens = dim === null ? tokens : [...tokens.slice(0, at), dim, ...tokens.slice(at)];
  }
  const others = tokens.filter((token) => token.toLowerCase() !== 'pp');
  return (isPpLast && others.length < tokens.length ? [...others, 'pp'] : tokens).join('-');
}
