import type { Fix } from '../diagnostic';
import { appendKey, removeField } from '../format/edit';
import { type Field, valuesOf } from '../format/spec';
import { type LayoutFacts, MAX_LEVELS, valueOr } from '../topology/facts';
import { changeFix, replaceFix, suggestion } from './fixes';
import { countOf, divisors } from './numbers';
import type { Rule } from './rule';
import { otherSource } from './source';

export const hierarchicalCp: Rule = {
  code: 'hierarchical-cp',
  severity: 'error',
  title: 'The levels of hierarchical context parallelism do not make cp',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: `The product of \`hierarchical_context_parallel_sizes\` is not \`cp\`, or there are more than ${MAX_LEVELS} of them.`,
  why: 'Every context-parallel group is cut into levels, of which the product is the group. Megatron-LM stops with an assertion that has no message.',
  failing: `layout: 1
world_size: 16
parallelism:
  cp: 8
  hierarchical_context_parallel_sizes: [2, 2]
`,
  passing: `layout: 1
world_size: 16
parallelism:
  cp: 8
  hierarchical_context_parallel_sizes: [2, 4]
`,
  sources: [
    otherSource(
      '`initialize_model_parallel` in megatron/core/parallel_state.py; `validate_args` in megatron/training/arguments.py',
    ),
  ],
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
    const related = parallelism.cp.written ? [{ message: `cp is ${cp} here`, span: parallelism.cp.span }] : [];
    const remove = suggestion('Remove `hierarchical_context_parallel_sizes`', [removeField(text, field)]);
    if (sizes.length > MAX_LEVELS) {
      const message = `${countOf(sizes.length, 'level')} are more than any cp can be cut into. Leave out those of 1.`;
      yield { message, span: field.span, related, fixes: [remove] };
    } else if (product !== cp) {
      yield {
        message: `The levels ${sizes.join(' x ')} = ${product} do not make cp ${cp}. Use sizes of which the product is ${cp}, or cp ${product}.`,
        span: field.span,
        related,
        predicts: '',
        fixes: [
          ...levelFixes(field, sizes, cp),
          remove,
          ...(parallelism.cp.written ? [changeFix('cp', parallelism.cp.span, product)] : []),
        ],
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

export const cpCommType: Rule = {
  code: 'cp-comm-type',
  severity: 'error',
  title: 'Hierarchical exchange without levels',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`cp_comm_type` is `a2a+p2p`, but `hierarchical_context_parallel_sizes` says nothing of the levels between which it changes over. A module of `modules` cannot say it.',
  why: 'All-to-all runs inside the first level and point-to-point between the others. Megatron-LM stops when it reads the arguments; a library call without them goes on with context parallelism switched off, and trains wrongly.',
  failing: `layout: 1
world_size: 16
parallelism:
  cp: 8
sequence:
  cp_comm_type: a2a+p2p
`,
  passing: `layout: 1
world_size: 16
parallelism:
  cp: 8
  hierarchical_context_parallel_sizes: [2, 4]
sequence:
  cp_comm_type: a2a+p2p
`,
  sources: [otherSource('`validate_args` in megatron/training/arguments.py')],
  *check(grids) {
    const { root, modules, text } = grids;
    const sizes = root.parallelism.value?.hierarchical_context_parallel_sizes;
    for (const { sequence, degrees, name } of modules) {
      const field = sequence.value?.cp_comm_type;
      if (field?.value === 'a2a+p2p' && !(name === null && sizes?.written)) {
        yield {
          message: `\`a2a+p2p\` needs the levels of context parallelism. Use \`p2p\`${name === null ? ', or write `hierarchical_context_parallel_sizes`' : ''}.`,
          span: field.span,
          related: sizes?.written
            ? [{ message: 'the levels here hold for `parallelism` only', span: sizes.keySpan }]
            : [],
          predicts: '--hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm',
          fixes: [
            ...(name === null ? levelsFix(grids, degrees?.cp ?? 1) : []),
            replaceFix(field.span, 'p2p'),
            suggestion('Remove `cp_comm_type`', [removeField(text, field)]),
          ],
        };
      }
    }
  },
};

/** Writes two levels: as many ranks inside a node as there may be, and the rest between nodes. */
function levelsFix({ text, root, modules }: LayoutFacts, cp: number): Fix[] {
  const perNode = root.cluster.value?.gpus_per_node.value ?? 8;
  const inside = Math.max(1, Math.floor(perNode / (modules[0]?.degrees?.tp ?? 1)));
  const level = divisors(cp, Math.min(inside, cp - 1)).at(-1) ?? 1;
  if (level === 1) {
    return [];
  }
  const line = `hierarchical_context_parallel_sizes: [${level}, ${cp / level}]`;
  const edit = appendKey(text, root.parallelism.span, line);
  return edit ? [suggestion(`Write ${countOf(level, 'rank')} inside a node x ${cp / level} nodes`, [edit])] : [];
}
