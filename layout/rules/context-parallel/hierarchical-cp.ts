import type { Fix } from '../../diagnostic';
import { type Field, valuesOf } from '../../format/spec';
import { MAX_LEVELS, valueOr } from '../../topology/facts';
import { changeFix, removeFix, replaceFix } from '../fixes';
import { countOf } from '../numbers';
import { writtenRelated } from '../related';
import { job, PARALLEL_STATE, type Rule, VALIDATE_ARGS } from '../rule';

export const hierarchicalCp: Rule = {
  code: 'hierarchical-cp',
  severity: 'error',
  title: 'The hierarchical sizes do not multiply to cp',
  what: `The product of \`hierarchical_context_parallel_sizes\` is not \`cp\`, or there are more than ${MAX_LEVELS} of them.`,
  why: 'Every context-parallel group is cut into levels, and the product of their sizes is `cp`. Megatron-LM stops with an assertion that has no message.',
  failing: job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 2]'),
  sources: [PARALLEL_STATE, VALIDATE_ARGS],
  *check({ text, root }) {
    const parallelism = root.parallelism.value;
    const field = parallelism?.hierarchical_context_parallel_sizes;
    const sizes = valuesOf(field?.value);
    const cp = parallelism && valueOr(parallelism.cp, 1);
    // an empty list counts as none
    if (!parallelism || !field || sizes.length === 0 || sizes.length !== field.value?.length || cp === undefined) {
      return;
    }
    const product = sizes.reduce((n, size) => n * size, 1);
    const related = writtenRelated('cp', parallelism.cp);
    const remove = removeFix(text, 'hierarchical_context_parallel_sizes', field);
    if (sizes.length > MAX_LEVELS) {
      const message = `${countOf(sizes.length, 'level')} are more than any cp can be cut into. Leave out those of 1.`;
      yield { message, span: field.span, related, fixes: [remove] };
    } else if (product !== cp) {
      yield {
        message: `The sizes multiply to ${sizes.length > 1 ? `${sizes.join(' x ')} = ${product}` : product}, but cp is ${cp}. Use sizes with product ${cp}, or cp ${product}.`,
        span: field.span,
        related,
        predicts: '',
        fixes: [...levelFixes(field, sizes, cp), remove, changeFix('cp', parallelism.cp, product)],
      };
    }
  },
};

/** The last level made to fit, where the others divide `cp`. */
function levelFixes(field: Field<unknown>, sizes: readonly number[], cp: number): Fix[] {
  const inner = sizes.slice(0, -1);
  const rest = cp / inner.reduce((n, size) => n * size, 1);
  return Number.isInteger(rest) ? [replaceFix(field.span, `[${[...inner, rest].join(', ')}]`)] : [];
}
