import { type LayoutFacts, valueOr } from '../../topology/facts';
import { type Condition, firstBroken } from '../conditions';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { megatron, megatronDev } from '../source';

export const dynamicCp: Rule = {
  code: 'dynamic-cp',
  severity: 'error',
  title: 'Hybrid or dynamic context parallelism that cannot run',
  effect: 'Megatron-LM stops on every rank',
  what: '`hybrid_context_parallel` (main) or `dynamic_context_parallel` (dev) is on with a pipeline (main), Megatron-FSDP, another data loader than `single`, no `calculate_per_token_loss`, an odd number of `dp * cp` ranks, or buffers shorter than a sequence. A number of ranks that is no power of two is a warning: the last group is short.',
  why: 'Each sequence runs on as many ranks as its length needs, in groups of 2, 4, 8 and so on that are cut out of the data-parallel ranks.',
  failing: `layout: 1
world_size: 6
parallelism:
  tp: 2
  hybrid_context_parallel: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  hybrid_context_parallel: true
`,
  sources: [
    megatron('megatron/training/arguments.py', 'validate_args'),
    megatron('megatron/core/parallel_state.py', 'create_hybrid_dp_cp_groups'),
    megatronDev('megatron/core/parallel_state.py', 'create_dynamic_dp_cp_groups'),
  ],
  *check(facts) {
    const parallelism = facts.root.parallelism.value;
    const isDynamic = parallelism?.dynamic_context_parallel.value === true;
    const isHybrid = parallelism?.hybrid_context_parallel.value === true;
    if (!isDynamic && !isHybrid) {
      return;
    }
    const script = firstBroken(facts.text, isDynamic ? dynamicConditions(facts) : hybridConditions(facts));
    // a bare call of the library makes the groups all the same
    const severity = facts.trainingScript ? 'error' : 'warning';
    yield* script.map((report) => ({ ...report, severity }) as const);
    const groups = firstBroken(facts.text, evenCondition(facts, isDynamic));
    if (script.length === 0 || !facts.trainingScript) {
      yield* groups.length > 0 || script.length > 0 ? groups : shortGroup(facts, isDynamic);
    }
  },
};

interface Common {
  readonly name: string;
  readonly title: string;
  readonly noPipeline: boolean;
}

function commonConditions(facts: LayoutFacts, { name, title, noPipeline }: Common): Condition[] {
  const { root, modules } = facts;
  const field = root.parallelism.value?.[name === 'hybrid_context_parallel' ? name : 'dynamic_context_parallel'];
  const sequence = root.sequence.value;
  if (!field) {
    return [];
  }
  const base = { name, field };
  const perToken = sequence?.calculate_per_token_loss;
  return [
    {
      ...base,
      holds: !noPipeline || (modules[0]?.degrees?.pp ?? 1) === 1,
      message: `${name} excludes a pipeline. Use pp 1.`,
      predicts: `${title} not supported with pipeline parallelism`,
    },
    {
      ...base,
      // main removes the option before it looks at it
      holds: root.cuda_graph.value?.enable_cuda_graph.value !== true,
      message: `${name} excludes CUDA graphs. Leave enable_cuda_graph out.`,
      predicts: null,
    },
    {
      ...base,
      holds: root.fsdp.value?.enabled.value !== true,
      message: `${name} excludes Megatron-FSDP. Use one of them.`,
      predicts: `${title} not supported with Megatron FSDP`,
    },
    {
      ...base,
      holds: (sequence?.dataloader_type.value ?? 'single') === 'single',
      message: `${name} needs dataloader_type single.`,
      predicts: `${title} only supported with single dataloader type`,
    },
    {
      ...base,
      // a file that says nothing of its training script may well set it
      holds: perToken?.value === true || (!facts.trainingScript && perToken?.written !== true),
      message: `${name} needs calculate_per_token_loss. Write calculate_per_token_loss true under sequence.`,
      predicts: `${title} must be used with --calculate-per-token-loss`,
    },
  ];
}

function hybridConditions(facts: LayoutFacts): Condition[] {
  const name = 'hybrid_context_parallel';
  return commonConditions(facts, { name, title: 'Hybrid context parallelism', noPipeline: true });
}

/** What the library itself asks for when it makes the groups. */
function evenCondition(facts: LayoutFacts, isDynamic: boolean): Condition[] {
  const name = isDynamic ? 'dynamic_context_parallel' : 'hybrid_context_parallel';
  const field = facts.root.parallelism.value?.[name];
  const ranks = dpCpOf(facts);
  const title = isDynamic ? 'Dynamic' : 'Hybrid';
  return field
    ? [
        {
          name,
          field,
          holds: ranks === undefined || ranks % 2 === 0,
          message: `${name} needs an even number of data- and context-parallel ranks; dp x cp is ${ranks}. Use another world or tp.`,
          predicts: `${title} context parallel requires an even number of ranks`,
        },
      ]
    : [];
}

function dynamicConditions(facts: LayoutFacts): Condition[] {
  const { root } = facts;
  const parallelism = root.parallelism.value;
  const ranks = dpCpOf(facts);
  if (!parallelism) {
    return [];
  }
  const name = 'dynamic_context_parallel';
  const base = { name, field: parallelism.dynamic_context_parallel };
  const smallest = valueOr(parallelism.min_dynamic_context_parallel_size, 1) ?? 1;
  const buffer = root.sequence.value?.max_seqlen_per_dp_cp_rank.value;
  const length = root.sequence.value?.seq_length.value;
  const total = ranks !== undefined && buffer !== undefined ? ranks * buffer : undefined;
  return [
    ...commonConditions(facts, { name, title: 'Dynamic context parallelism', noPipeline: false }),
    ...packingConditions(facts, base),
    {
      ...base,
      holds: ranks === undefined || smallest <= ranks,
      message: `min_dynamic_context_parallel_size ${smallest} is above dp x cp ${ranks}. Use ${ranks} or less.`,
      predicts: `min_dynamic_context_parallel_size (${smallest}) must be <= dp_size * cp_size (${ranks})`,
    },
    {
      ...base,
      holds: total === undefined || length === undefined || total >= length,
      message: `The buffers of ${ranks} ranks hold ${total} tokens, fewer than seq_length ${length}. Use a larger max_seqlen_per_dp_cp_rank.`,
      predicts: `Packed sequence buffer size (${total}) must be >= single sequence max length (${length})`,
    },
    {
      ...base,
      holds: parallelism.hybrid_context_parallel.value !== true,
      message: 'hybrid_context_parallel is the former name of dynamic_context_parallel. Use one of them.',
      predicts:
        'Cannot set both hybrid_context_parallel and dynamic_context_parallel. Please use dynamic_context_parallel only.',
    },
    // the configuration, which is made last
    {
      ...base,
      name: 'min_dynamic_context_parallel_size',
      field: parallelism.min_dynamic_context_parallel_size,
      holds: smallest >= 1,
      message: `min_dynamic_context_parallel_size is ${smallest}, and no group is smaller than one rank. Use 1 or more.`,
      predicts: `min_dynamic_context_parallel_size must be >= 1, got ${smallest}`,
    },
  ];
}

/** What dynamic context parallelism asks of the scheduler, and CUDA graphs of packed sequences. */
function packingConditions({ root }: LayoutFacts, base: Pick<Condition, 'name' | 'field'>): Condition[] {
  const sequence = root.sequence.value;
  const scheduler = sequence?.sequence_packing_scheduler.value;
  const padding = sequence?.pad_packed_seq_alignment;
  const buffer = sequence?.max_seqlen_per_dp_cp_rank.value;
  const graphs = root.cuda_graph.value?.cuda_graph_impl.value ?? 'none';
  return [
    {
      ...base,
      holds: scheduler === undefined || scheduler === 'default_dynamic_cp',
      message: `dynamic_context_parallel needs the scheduler default_dynamic_cp, not ${scheduler}.`,
      predicts: 'Dynamic context parallelism requires sequence_packing_scheduler=default_dynamic_cp',
    },
    {
      ...base,
      holds: graphs === 'none' || padding?.written === true,
      message:
        'CUDA graphs of packed sequences need pad_packed_seq_alignment. Write pad_packed_seq_alignment max under sequence.',
      predicts: 'THD CUDA Graph requires --pad-packed-seq-alignment to be set.',
    },
    {
      ...base,
      holds: graphs === 'none' || typeof padding?.value !== 'number' || padding.value === buffer,
      message: `CUDA graphs of packed sequences need pad_packed_seq_alignment max, or max_seqlen_per_dp_cp_rank ${buffer ?? 'of the same size'}.`,
      predicts: `THD CUDA Graph requires --pad-packed-seq-alignment='max' or --pad-packed-seq-alignment equal to --max-seqlen-per-dp-cp-rank (${buffer ?? 'None'}), got ${padding?.value}.`,
    },
  ];
}

/** Ranks in one data- and context-parallel group; undefined where they are open. */
function dpCpOf({ modules }: LayoutFacts): number | undefined {
  const [module] = modules;
  return module?.dp === undefined || !module.degrees ? undefined : module.dp * module.degrees.cp;
}

function* shortGroup(facts: LayoutFacts, isDynamic: boolean): Iterable<Report> {
  const parallelism = facts.root.parallelism.value;
  const ranks = dpCpOf(facts);
  const field = isDynamic ? parallelism?.dynamic_context_parallel : parallelism?.hybrid_context_parallel;
  if (field && ranks !== undefined && (ranks & (ranks - 1)) !== 0) {
    const largest = 2 ** Math.floor(Math.log2(ranks) - 1);
    const rest = ranks % largest;
    yield {
      severity: 'warning',
      message: `dp x cp ${ranks} is no power of two${rest === 0 ? '' : `: the last group of ${largest} has ${countOf(rest, 'rank')}`}. Use a world that makes it one.`,
      span: field.span,
    };
  }
}
