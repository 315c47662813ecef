import type { Fix } from '../../diagnostic';
import { appendKey } from '../../format/edit';
import { type Field, valuesOf } from '../../format/spec';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';
import { removeFix, replaceFix, setFix, suggestion } from '../fixes';
import { countOf, divisors } from '../numbers';
import { valueRelated } from '../related';
import { job, type Report, type Rule, TRANSFORMER_CONFIG, VALIDATE_ARGS } from '../rule';

export const cpCommType: Rule = {
  code: 'cp-comm-type',
  severity: 'error',
  title: 'cp_comm_type does not fit the context parallelism',
  effect: 'Megatron-LM stops; a library call trains without context parallelism',
  what: '`cp_comm_type` is `a2a+p2p` and `hierarchical_context_parallel_sizes` is not written (a module cannot have it); or a list of types has another length than the model has layers; or sparse attention (`experimental_attention_variant: dsa`) uses another type than `all_gather`.',
  why: 'The sizes are the levels: all-to-all runs inside the first, point-to-point between the others.',
  failing: job(16, 'cp: 8', 'sequence: {cp_comm_type: a2a+p2p}'),
  sources: [VALIDATE_ARGS, TRANSFORMER_CONFIG],
  *check(grids) {
    const { root, modules, text } = grids;
    const sizes = root.parallelism.value?.hierarchical_context_parallel_sizes;
    for (const module of modules) {
      const { sequence, model, degrees, name } = module;
      const field = sequence.value?.cp_comm_type;
      yield* lengthReport(grids, field, model, degrees?.cp ?? 1);
      yield* sparseReport(grids, module);
      if (field && waysOf(field).includes('a2a+p2p') && !(name === null && sizes?.written)) {
        yield {
          message: `a2a+p2p needs hierarchical_context_parallel_sizes${name === null ? '' : ', which a module cannot have'}. Use p2p${name === null ? ', or write them' : ''}.`,
          span: field.span,
          related: sizes?.written
            ? [{ message: 'the levels here hold for parallelism only', span: sizes.keySpan }]
            : [],
          predicts: '--hierarchical-context-parallel-sizes must be set when a2a+p2p is used in cp comm',
          fixes: [
            name === null ? levelsFix(grids, degrees?.cp ?? 1) : null,
            replaceFix(field.span, 'p2p'),
            removeFix(text, 'cp_comm_type', field),
          ],
        };
      }
    }
  },
};

/** The ways in which the layers of a file exchange keys and values; none where it does not say. */
export function waysOf(field: Field<string | readonly Field<string>[]> | undefined): readonly string[] {
  return typeof field?.value === 'string' ? [field.value] : valuesOf(field?.value);
}

/** A list with another number of ways than the model has layers. */
function* lengthReport(
  { text }: LayoutFacts,
  field: Field<string | readonly Field<string>[]> | undefined,
  model: ModuleFacts['model'],
  cp: number,
): Iterable<Report> {
  const layers = model.value?.num_layers.value;
  const ways = typeof field?.value === 'string' ? 1 : (field?.value?.length ?? 1);
  if (field && ways > 1 && cp > 1 && layers !== undefined && ways !== layers) {
    yield {
      message: `cp_comm_type lists ${countOf(ways, 'type')} for ${countOf(layers, 'layer')}. Use one a layer, or one for all.`,
      span: field.span,
      predicts: `Length of cp_comm_type (${ways}) should equal to the total number of transformer layers (${layers})!`,
      fixes: [removeFix(text, 'cp_comm_type', field)],
    };
  }
}

/** Sparse attention gathers keys and values before it chooses among them; `p2p` is the default. */
function* sparseReport({ text }: LayoutFacts, { fields, degrees, model, sequence }: ModuleFacts): Iterable<Report> {
  const variant = model.value?.experimental_attention_variant;
  const field = sequence.value?.cp_comm_type;
  const ways = waysOf(field);
  const isGathered = ways.length > 0 && ways.every((way) => way === 'all_gather');
  const isOpen = field?.written && ways.length === 0;
  if (variant?.value === 'dsa' && (degrees?.cp ?? 1) > 1 && !isGathered && !isOpen) {
    yield {
      message: 'Sparse attention under context parallelism needs cp_comm_type all_gather.',
      span: field?.written ? field.span : fields.cp.span,
      related: [valueRelated('experimental_attention_variant', variant)],
      predicts: 'DSAttention context parallelism currently supports cp_comm_type=allgather only.',
      fixes: [field && sequence.written ? setFix(text, sequence.span, 'cp_comm_type', field, 'all_gather') : null],
    };
  }
}

/** Writes two levels: as many ranks inside a node as there may be, and the rest between nodes. */
function levelsFix({ text, root, modules }: LayoutFacts, cp: number): Fix | null {
  const perNode = root.cluster.value?.gpus_per_node.value ?? 8;
  const inside = Math.max(1, Math.floor(perNode / (modules[0]?.degrees?.tp ?? 1)));
  const level = divisors(cp, Math.min(inside, cp - 1)).at(-1) ?? 1;
  const line = `hierarchical_context_parallel_sizes: [${level}, ${cp / level}]`;
  return level === 1
    ? null
    : suggestion(`Write ${countOf(level, 'rank')} inside a node x ${cp / level} nodes`, [
        appendKey(text, root.parallelism.span, line),
      ]);
}
