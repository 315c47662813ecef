import { appendKey } from '../format/edit';
import { LANGUAGE_MODULE } from '../format/names';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';
import { changeFix, suggestion } from './fixes';
import { countOf, either, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** The replicas that share a batch, and its sizes as far as they are known. */
interface Batch {
  readonly module: ModuleFacts;
  readonly micro: number;
  readonly dp: number;
  readonly gtp: number;
}

/** `parallelism`, or the language module, with a known micro-batch. */
function batchOf({ root, modules, heterogeneous }: LayoutFacts): Batch | null {
  const module = heterogeneous ? modules.find(({ name }) => name === LANGUAGE_MODULE) : modules[0];
  const micro = root.batch.value?.micro_batch_size.value;
  return module?.degrees && module.dp !== undefined && micro !== undefined
    ? { module, micro, dp: module.dp, gtp: module.degrees.gtpRemat }
    : null;
}

export const globalBatch: Rule = {
  code: 'global-batch',
  severity: 'error',
  title: 'A global batch that the replicas cannot share',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`global_batch_size` is not a multiple of `micro_batch_size * dp` (times `gtp_remat`); or generalized TP is used and it is not written.',
  why: 'Every replica runs whole micro-batches. The default of the global batch forgets the factor of generalized TP, so with it the size must be written.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
batch: {micro_batch_size: 2, global_batch_size: 12}
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
batch: {micro_batch_size: 2, global_batch_size: 16}
`,
  sources: [
    otherSource(
      '`validate_args` in megatron/training/arguments.py; `init_num_microbatches_calculator` in megatron/core/num_microbatches_calculator.py',
    ),
  ],
  *check(facts) {
    const batch = batchOf(facts);
    const field = facts.root.batch.value?.global_batch_size;
    if (!batch || !field) {
      return;
    }
    const { micro, dp, gtp } = batch;
    const step = micro * dp * gtp;
    if (!field.written && gtp > 1 && !facts.heterogeneous) {
      yield missingReport(facts, batch, step);
    } else if (field.value !== undefined && field.value % step !== 0) {
      const sizes = nearestMultiples(step, field.value);
      const product = `micro_batch_size ${micro} x dp ${dp}${gtp > 1 ? ` x gtp_remat ${gtp}` : ''} = ${step}`;
      yield {
        message: `global_batch_size ${field.value} is not a multiple of ${product}. Use ${either([...sizes].sort((a, b) => a - b))}.`,
        span: field.span,
        related: [{ message: `dp is ${dp} here`, span: batch.module.nameSpan }],
        predicts: batchPrediction(facts, batch, field.value),
        fixes: sizes.map((size) => changeFix('global_batch_size', field.span, size)),
      };
    }
  },
};

function missingReport(facts: LayoutFacts, batch: Batch, step: number): Report {
  const edit = appendKey(facts.text, facts.root.batch.span, `global_batch_size: ${step}`);
  return {
    message: `With generalized TP the default of global_batch_size, ${batch.micro * batch.dp}, forgets gtp_remat ${batch.gtp}. Write global_batch_size ${step} or a multiple.`,
    span: facts.root.batch.keySpan,
    predicts: batchPrediction({ ...facts, trainingScript: true }, batch, batch.micro * batch.dp),
    fixes: edit ? [suggestion(`Insert \`global_batch_size: ${step}\``, [edit])] : [],
  };
}

/** The training script checks the batch of evaluation first, which is the same; the library knows its calculator only. */
function batchPrediction({ trainingScript }: LayoutFacts, { micro, dp, gtp }: Batch, size: number): string {
  return trainingScript
    ? `eval_global_batch_size (${size}) must be divisible by eval_micro_batch_size (${micro}) * data_parallel_size (${dp}) * gtp_weight_remat_size (${gtp})`
    : `global batch size (${size}) is not divisible by micro batch size (${micro}) times data parallel size (${dp * gtp})`;
}

export const virtualPipelineWindow: Rule = {
  code: 'virtual-pipeline-window',
  severity: 'error',
  title: 'Too few micro-batches for the interleaved schedule',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: 'The number of micro-batches that a virtual stage runs in a row (`microbatch_group_size_per_vp_stage`, by default `pp`) is below `pp`, above the number of micro-batches, or leaves a rest smaller than `pp`.',
  why: 'The interleaved schedule runs micro-batches in groups; a group smaller than the pipeline would wait for itself.',
  failing: `layout: 1
world_size: 8
parallelism:
  pp: 4
  vpp: 2
batch: {micro_batch_size: 1, global_batch_size: 4}
`,
  passing: `layout: 1
world_size: 8
parallelism:
  pp: 4
  vpp: 2
batch: {micro_batch_size: 1, global_batch_size: 16}
`,
  sources: [
    otherSource('`forward_backward_pipelining_with_interleaving` in megatron/core/pipeline_parallel/schedules.py'),
  ],
  *check(facts) {
    const batch = batchOf(facts);
    const fields = facts.root.parallelism.value;
    const global = facts.root.batch.value?.global_batch_size;
    const pp = batch?.module.degrees?.pp ?? 1;
    if (!batch || !fields || fields.vpp.value === undefined || pp === 1 || global?.value === undefined) {
      return;
    }
    const count = global.value / (batch.micro * batch.dp * batch.gtp);
    const field = fields.microbatch_group_size_per_vp_stage;
    const size = field.written ? field.value : pp;
    if (size === undefined || !Number.isInteger(count)) {
      return;
    }
    const rest = count % size;
    if (size >= pp && size <= count && (rest === 0 || rest >= pp)) {
      return;
    }
    const whole = batch.micro * batch.dp * batch.gtp * pp;
    const better = nearestMultiples(whole, global.value);
    const why =
      size < pp ? `less than pp ${pp}` : size > count ? 'more than there are' : `a rest of ${rest}, less than pp ${pp}`;
    yield {
      message: `${countOf(count, 'micro-batch').replace(/hs$/, 'hes')} in groups of ${size}: ${why}. Use groups of ${pp}, or global_batch_size ${either([...better].sort((a, b) => a - b))}.`,
      span: field.written ? field.span : global.span,
      related: [{ message: `vpp is ${fields.vpp.value} here`, span: fields.vpp.span }],
      fixes: [
        ...(field.written ? [changeFix('microbatch_group_size_per_vp_stage', field.span, pp)] : []),
        ...better.map((value) => changeFix('global_batch_size', global.span, value)),
      ],
    };
  },
};
