import type { Field } from '../../format/spec';
import { type LayoutFacts, valueOr } from '../../topology/facts';
import { type Condition, conditionsOn, firstBroken } from '../conditions';
import { changeFix, removeFix, setFix } from '../fixes';
import { countOf } from '../numbers';
import { job, megatron, megatronDev, type Report, type Rule, VALIDATE_ARGS } from '../rule';

export const dynamicCp: Rule = {
  code: 'dynamic-cp',
  severity: 'error',
  title: 'Hybrid or dynamic context parallelism that cannot run',
  what: '`hybrid_context_parallel` (main) or `dynamic_context_parallel` (dev) is on with a pipeline (main), Megatron-FSDP, another data loader than `single`, no `calculate_per_token_loss`, an odd number of `dp * cp` ranks, or buffers shorter than a sequence. A number of ranks that is no power of two is a warning: the last group is short.',
  why: 'Each sequence runs on as many ranks as its length needs, in groups of 2, 4, 8 and so on that are cut out of the data-parallel ranks.',
  failing: job(6, 'tp: 2, hybrid_context_parallel: true'),
  passing: job(8, 'tp: 2, hybrid_context_parallel: true'),
  sources: [
    VALIDATE_ARGS,
    megatron('megatron/core/parallel_state.py', 'create_hybrid_dp_cp_groups'),
    megatronDev('megatron/core/parallel_state.py', 'create_dynamic_dp_cp_groups'),
  ],
  *check(facts) {
    const option = optionOf(facts);
    if (!option) {
      return;
    }
    const { text, trainingScript } = facts;
    const [script] = firstBroken(text, scriptConditions(facts, option));
    if (script) {
      yield { ...script, severity: trainingScript ? 'error' : 'warning' };
    }
    // a bare call of the library makes the groups all the same
    if (!script || !trainingScript) {
      const groups = firstBroken(text, [evenCondition(option)]);
      yield* groups.length > 0 || script ? groups : shortGroup(option);
    }
  },
};

/** The option that is on. */
interface Option {
  readonly name: 'hybrid_context_parallel' | 'dynamic_context_parallel';
  readonly title: 'Hybrid' | 'Dynamic';
  readonly field: Field<boolean>;
  /** Ranks in one data- and context-parallel group; undefined where they are open. */
  readonly ranks: number | undefined;
}

function optionOf({ root, modules }: LayoutFacts): Option | null {
  const { dynamic_context_parallel: dynamic, hybrid_context_parallel: hybrid } = root.parallelism.value ?? {};
  const [module] = modules;
  const ranks = module?.dp === undefined || !module.degrees ? undefined : module.dp * module.degrees.cp;
  if (dynamic?.value === true) {
    return { name: 'dynamic_context_parallel', title: 'Dynamic', field: dynamic, ranks };
  }
  return hybrid?.value === true ? { name: 'hybrid_context_parallel', title: 'Hybrid', field: hybrid, ranks } : null;
}

/** What the training script asks for, in its order. */
function scriptConditions(facts: LayoutFacts, option: Option): Condition[] {
  const common = commonConditions(facts, option);
  return option.title === 'Hybrid'
    ? common
    : [...common, ...packingConditions(facts, option), ...sizeConditions(facts, option)];
}

function commonConditions({ text, root, modules, trainingScript }: LayoutFacts, option: Option): Condition[] {
  const { name, title, field } = option;
  const { dataloader_type: loader, calculate_per_token_loss: perToken } = root.sequence.value ?? {};
  const graphs = root.cuda_graph.value?.enable_cuda_graph;
  const words = `${title} context parallelism`;
  const condition = conditionsOn(name, field);
  return [
    condition(
      title === 'Dynamic' || (modules[0]?.degrees?.pp ?? 1) === 1,
      `${name} excludes a pipeline. Use pp 1.`,
      `${words} not supported with pipeline parallelism`,
      changeFix('pp', modules[0]?.fields.pp, 1),
    ),
    condition(
      // main removes the option before it looks at it
      graphs?.value !== true,
      `${name} excludes CUDA graphs. Remove enable_cuda_graph.`,
      null,
      removeFix(text, 'enable_cuda_graph', graphs),
    ),
    condition(
      root.fsdp.value?.enabled.value !== true,
      `${name} excludes Megatron-FSDP. Use one of them.`,
      `${words} not supported with Megatron FSDP`,
    ),
    condition(
      (loader?.value ?? 'single') === 'single',
      `${name} needs dataloader_type single.`,
      `${words} only supported with single dataloader type`,
      changeFix('dataloader_type', loader, 'single'),
    ),
    condition(
      // a file that says nothing of its training script may well set it
      perToken?.value === true || (!trainingScript && perToken?.written !== true),
      `${name} needs calculate_per_token_loss. Write calculate_per_token_loss true under sequence.`,
      `${words} must be used with --calculate-per-token-loss`,
      perToken && root.sequence.written
        ? setFix(text, root.sequence.span, 'calculate_per_token_loss', perToken, 'true')
        : null,
    ),
  ];
}

/** What dynamic context parallelism asks of the scheduler, and CUDA graphs of packed sequences. */
function packingConditions({ root }: LayoutFacts, { name, field }: Option): Condition[] {
  const { sequence_packing_scheduler, pad_packed_seq_alignment, max_seqlen_per_dp_cp_rank } = root.sequence.value ?? {};
  const scheduler = sequence_packing_scheduler?.value;
  const padding = pad_packed_seq_alignment?.value;
  const buffer = max_seqlen_per_dp_cp_rank?.value;
  const hasGraphs = (root.cuda_graph.value?.cuda_graph_impl.value ?? 'none') !== 'none';
  const condition = conditionsOn(name, field);
  return [
    condition(
      scheduler === undefined || scheduler === 'default_dynamic_cp',
      `dynamic_context_parallel needs sequence_packing_scheduler default_dynamic_cp, not ${scheduler}.`,
      'Dynamic context parallelism requires sequence_packing_scheduler=default_dynamic_cp',
      sequence_packing_scheduler
        ? changeFix('sequence_packing_scheduler', sequence_packing_scheduler, 'default_dynamic_cp')
        : null,
    ),
    condition(
      !hasGraphs || pad_packed_seq_alignment?.written === true,
      'CUDA graphs of packed sequences need pad_packed_seq_alignment. Write pad_packed_seq_alignment max under sequence.',
      'THD CUDA Graph requires --pad-packed-seq-alignment to be set.',
    ),
    condition(
      !hasGraphs || typeof padding !== 'number' || padding === buffer,
      `CUDA graphs of packed sequences need pad_packed_seq_alignment max, or max_seqlen_per_dp_cp_rank ${buffer ?? 'of the same size'}.`,
      `THD CUDA Graph requires --pad-packed-seq-alignment='max' or --pad-packed-seq-alignment equal to --max-seqlen-per-dp-cp-rank (${buffer ?? 'None'}), got ${padding}.`,
    ),
  ];
}

/** What dynamic context parallelism asks of the sizes of groups and buffers. */
function sizeConditions({ root }: LayoutFacts, { name, field, ranks }: Option): Condition[] {
  const { min_dynamic_context_parallel_size: least, hybrid_context_parallel: hybrid } = root.parallelism.value ?? {};
  const smallest = (least && valueOr(least, 1)) ?? 1;
  const buffer = root.sequence.value?.max_seqlen_per_dp_cp_rank.value;
  const length = root.sequence.value?.seq_length.value;
  const total = ranks !== undefined && buffer !== undefined ? ranks * buffer : undefined;
  const condition = conditionsOn(name, field);
  return [
    condition(
      ranks === undefined || smallest <= ranks,
      `min_dynamic_context_parallel_size ${smallest} is above dp x cp ${ranks}. Use ${ranks} or less.`,
      `min_dynamic_context_parallel_size (${smallest}) must be <= dp_size * cp_size (${ranks})`,
      least && ranks ? changeFix('min_dynamic_context_parallel_size', least, ranks) : null,
    ),
    condition(
      total === undefined || length === undefined || total >= length,
      `The buffers of ${ranks} ranks hold ${total} tokens, fewer than seq_length ${length}. Use a larger max_seqlen_per_dp_cp_rank.`,
      `Packed sequence buffer size (${total}) must be >= single sequence max length (${length})`,
    ),
    condition(
      hybrid?.value !== true,
      'hybrid_context_parallel is the former name of dynamic_context_parallel. Use one of them.',
      'Cannot set both hybrid_context_parallel and dynamic_context_parallel. Please use dynamic_context_parallel only.',
    ),
    // the configuration, which is made last
    conditionsOn('min_dynamic_context_parallel_size', least ?? field)(
      smallest >= 1,
      `min_dynamic_context_parallel_size is ${smallest}, and no group is smaller than one rank. Use 1 or more.`,
      `min_dynamic_context_parallel_size must be >= 1, got ${smallest}`,
    ),
  ];
}

/** What the library itself asks for when it makes the groups. */
function evenCondition({ name, title, field, ranks }: Option): Condition {
  return conditionsOn(name, field)(
    ranks === undefined || ranks % 2 === 0,
    `${name} needs an even number of data- and context-parallel ranks; dp x cp is ${ranks}. Use another world or tp.`,
    `${title} context parallel requires an even number of ranks`,
  );
}

function* shortGroup({ field, ranks }: Option): Iterable<Report> {
  if (ranks !== undefined && (ranks & (ranks - 1)) !== 0) {
    const largest = 2 ** Math.floor(Math.log2(ranks) - 1);
    const rest = ranks % largest;
    yield {
      severity: 'warning',
      message: `dp x cp ${ranks} is no power of two${rest === 0 ? '' : `: the last group of ${largest} has ${countOf(rest, 'rank')}`}. Use a world that makes it one.`,
      span: field.span,
    };
  }
}
