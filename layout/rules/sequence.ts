import { appendKey, removeField } from '../format/edit';
import type { SequenceKeys } from '../format/keys';
import type { Section } from '../format/spec';
import { type Degrees, type LayoutFacts, type ModuleFacts, valueOr } from '../topology/facts';
import { sequenceDivisor } from '../topology/sequence';
import { changeFix, replaceFix, suggestion } from './fixes';
import { either, nearestMultiples } from './numbers';
import type { Report, Rule } from './rule';
import { otherSource } from './source';

/** A grid whose sequences are described. */
interface Described {
  readonly module: ModuleFacts;
  readonly sequence: Section<SequenceKeys>;
  readonly degrees: Degrees;
  readonly sequenceParallel: boolean;
}

function* describedBy({ modules }: LayoutFacts): Iterable<Described> {
  for (const module of modules) {
    const sequence = module.sequence.value;
    if (sequence && module.degrees) {
      const sequenceParallel = valueOr(sequence.sequence_parallel, false) ?? false;
      yield { module, sequence, degrees: module.degrees, sequenceParallel };
    }
  }
}

export const sequenceDivisible: Rule = {
  code: 'sequence-divisible',
  severity: 'error',
  title: 'A sequence that does not divide among its ranks',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`seq_length` is not a multiple of `2 * cp` (with `cp` above 1), times `tp` under sequence parallelism; or it is longer than `max_seq_len`.',
  why: 'Each context-parallel rank takes one chunk from the front and one from the back of a sequence, and sequence parallelism cuts each share further. Packed sequences (`qkv_format: thd`) are padded each by itself and are exempt.',
  failing: `layout: 1
world_size: 8
parallelism:
  cp: 4
sequence:
  seq_length: 8196
`,
  passing: `layout: 1
world_size: 8
parallelism:
  cp: 4
sequence:
  seq_length: 8192
`,
  sources: [
    otherSource(
      '`PartitionAdapter.shard` in megatron/core/models/mimo/partition/utils.py; `validate_args` in megatron/training/arguments.py',
    ),
  ],
  *check(facts) {
    for (const described of describedBy(facts)) {
      const { seq_length: field, max_seq_len: most, tp_comm_overlap: overlap } = described.sequence;
      const length = field.value;
      if (length === undefined) {
        continue;
      }
      const undivided = undividedReport(facts, described, length);
      // the script compares the lengths whatever is overlapped; else `tp-comm-overlap-length` does
      const tooLong = most.value !== undefined && most.value < length && (facts.trainingScript || !overlap.value);
      if (tooLong && most.value !== undefined && undivided?.predicts !== SCRIPT_LENGTH) {
        yield {
          message: `seq_length ${length} is more than max_seq_len ${most.value}. Use max_seq_len ${length}, or a shorter sequence.`,
          span: most.span,
          related: [{ message: `seq_length is ${length} here`, span: field.span }],
          predicts: `max_position_embeddings (${most.value}) must be greater than or equal to seq_length (${length}).`,
          fixes: [changeFix('max_seq_len', most.span, length), changeFix('seq_length', field.span, most.value)],
        };
      } else if (undivided) {
        yield undivided;
      }
    }
  },
};

/** What the training script says of a length that context parallelism cannot cut, before it looks at anything else of it. */
const SCRIPT_LENGTH = 'seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.';

/** A length that does not divide among the ranks that share it; packed sequences are padded each by itself. */
function undividedReport(facts: LayoutFacts, described: Described, length: number): Report | null {
  const { module, sequence, degrees, sequenceParallel } = described;
  const { tp, cp } = degrees;
  const divisor = sequenceDivisor({ cp, tp, sequenceParallel: sequenceParallel && tp > 1 });
  if (sequence.qkv_format.value === 'thd' || length % divisor === 0) {
    return null;
  }
  const { span } = sequence.seq_length;
  const better = nearestMultiples(divisor, length);
  const scriptStops = cp > 1 && length % (2 * cp) !== 0;
  const parts = [...(cp > 1 ? [`2 x cp ${cp}`] : []), ...(sequenceParallel ? [`tp ${tp}`] : [])];
  const predicts = scriptStops ? SCRIPT_LENGTH : null;
  return {
    severity: facts.trainingScript && !scriptStops ? 'warning' : 'error',
    message: `seq_length ${length} is not a multiple of ${parts.join(' x ')} = ${divisor}. Use ${either([...better].sort((a, b) => a - b))}.`,
    span,
    related: module.fields.cp.written ? [{ message: `cp is ${cp} here`, span: module.fields.cp.span }] : [],
    predicts: facts.trainingScript
      ? predicts
      : `Sequence length should be divisible by ${divisor} for Sequence/Context parallelism`,
    fixes: better.map((size) => changeFix('seq_length', span, size)),
  };
}

export const sequenceParallelNeedsTp: Rule = {
  code: 'sequence-parallel-needs-tp',
  severity: 'error',
  title: 'Sequence parallelism without tp',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`sequence_parallel` is true and `tp` is 1.',
  why: 'Sequence parallelism spreads activations over the tensor-parallel ranks. The library stops; the training script switches it off with a warning.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 1
sequence:
  sequence_parallel: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
sequence:
  sequence_parallel: true
`,
  sources: [
    otherSource(
      '`ModelParallelConfig.__post_init__` in megatron/core/model_parallel_config.py; `validate_args` in megatron/training/arguments.py',
    ),
  ],
  *check(facts) {
    for (const { module, sequence, degrees, sequenceParallel } of describedBy(facts)) {
      if (sequenceParallel && degrees.tp === 1) {
        const { tp } = module.fields;
        yield {
          severity: facts.trainingScript ? 'warning' : 'error',
          message: 'Sequence parallelism needs tp above 1. Switch it off, or use tp 2 or more.',
          span: sequence.sequence_parallel.span,
          related: tp.written ? [{ message: 'tp is 1 here', span: tp.span }] : [],
          predicts: facts.trainingScript ? null : 'Cannot use sequence parallelism without tensor parallelism',
          fixes: [
            replaceFix(sequence.sequence_parallel.span, 'false'),
            ...(tp.written ? [changeFix('tp', tp.span, 2)] : []),
          ],
        };
      }
    }
  },
};

export const sequenceParallelWithExperts: Rule = {
  code: 'sequence-parallel-with-experts',
  severity: 'warning',
  title: 'Experts and tp without sequence parallelism',
  effect: 'the job runs, but slowly or not as the author thinks',
  what: '`ep` and `tp` are above 1 and `sequence_parallel` is off.',
  why: 'Without it every tensor-parallel rank sends the same tokens to the experts. Megatron-LM advises against it and its MoE layers are tested with it on.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  ep: 2
sequence:
  seq_length: 4096
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
  ep: 2
sequence:
  seq_length: 4096
  sequence_parallel: true
`,
  sources: [otherSource('`MoELayer` in megatron/core/transformer/moe/moe_layer.py')],
  *check(facts) {
    for (const { module, sequence, degrees } of describedBy(facts)) {
      const { sequence_parallel: field } = sequence;
      if (degrees.ep > 1 && degrees.tp > 1 && valueOr(field, false) === false) {
        const edit = field.written
          ? { span: field.span, newText: 'true' }
          : appendKey(facts.text, module.sequence.span, 'sequence_parallel: true');
        yield {
          message: `With ep ${degrees.ep} and tp ${degrees.tp} every tp rank sends the same tokens to the experts. Switch sequence_parallel on.`,
          span: field.written ? field.span : module.sequence.keySpan,
          related: [{ message: `ep is ${degrees.ep} here`, span: module.fields.ep.span }],
          fixes: edit ? [suggestion('Switch `sequence_parallel` on', [edit])] : [],
        };
      }
    }
  },
};

export const tpCommOverlapNeedsSp: Rule = {
  code: 'tp-comm-overlap-needs-sp',
  severity: 'error',
  title: 'Overlapped TP communication without sequence parallelism',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`tp_comm_overlap` is true and `sequence_parallel` is not.',
  why: 'What is overlapped with the matrix products is the all-gather and reduce-scatter that sequence parallelism brings.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
sequence:
  tp_comm_overlap: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
sequence:
  sequence_parallel: true
  tp_comm_overlap: true
`,
  sources: [otherSource('`validate_args` in megatron/training/arguments.py')],
  *check(facts) {
    for (const { sequence, degrees } of describedBy(facts)) {
      const { tp_comm_overlap: overlap, sequence_parallel: field } = sequence;
      // the script switches sequence parallelism off where there is no tensor parallelism
      const isOff = valueOr(field, false) === false || (facts.trainingScript && degrees.tp === 1);
      if (overlap.value === true && isOff) {
        yield {
          message:
            'tp_comm_overlap needs sequence_parallel, which needs tp above 1. Switch that on, or the overlap off.',
          span: overlap.span,
          predicts: 'Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled',
          fixes: [
            ...(field.written && field.value === false
              ? [suggestion('Switch `sequence_parallel` on', [{ span: field.span, newText: 'true' }])]
              : []),
            suggestion('Remove `tp_comm_overlap`', [removeField(facts.text, overlap)]),
          ],
        };
      }
    }
  },
};

export const tpCommOverlapLength: Rule = {
  code: 'tp-comm-overlap-length',
  severity: 'error',
  title: 'Overlapped TP communication for another length',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`tp_comm_overlap` and `sequence_parallel` are on and `seq_length` differs from `max_seq_len`.',
  why: 'The buffers of the overlap are made for one length only.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
sequence:
  seq_length: 4096
  max_seq_len: 8192
  sequence_parallel: true
  tp_comm_overlap: true
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
sequence:
  seq_length: 8192
  max_seq_len: 8192
  sequence_parallel: true
  tp_comm_overlap: true
`,
  sources: [otherSource('`PartitionAdapter.shard` in megatron/core/models/mimo/partition/utils.py')],
  *check(facts) {
    // the training script makes the buffers for `seq_length` itself
    for (const { sequence, sequenceParallel } of facts.trainingScript ? [] : describedBy(facts)) {
      const { tp_comm_overlap: overlap, seq_length: length, max_seq_len: most } = sequence;
      if (
        overlap.value &&
        sequenceParallel &&
        length.value !== undefined &&
        most.value !== undefined &&
        length.value !== most.value
      ) {
        yield {
          message: `tp_comm_overlap needs sequences of max_seq_len ${most.value}, but seq_length is ${length.value}. Make them the same.`,
          span: length.span,
          related: [{ message: `max_seq_len is ${most.value} here`, span: most.span }],
          predicts: 'TP Comm overlap requires Vision+Text token length == language_max_sequence_length',
          fixes: [changeFix('seq_length', length.span, most.value), changeFix('max_seq_len', most.span, length.value)],
        };
      }
    }
  },
};

export const denseMaskUnderCp: Rule = {
  code: 'dense-mask-under-cp',
  severity: 'error',
  title: 'A dense mask under context parallelism',
  effect: 'Megatron-LM raises, hangs or trains wrongly',
  what: '`attention_mask` is `dense` and `cp` is above 1.',
  why: 'Context parallelism splits a mask along its query dimension only, so a rank would apply the wrong part of it to its keys. A causal mask needs no splitting.',
  failing: `layout: 1
world_size: 8
parallelism:
  cp: 2
sequence:
  attention_mask: dense
`,
  passing: `layout: 1
world_size: 8
parallelism:
  cp: 2
sequence:
  attention_mask: causal
`,
  sources: [otherSource('`get_batch_on_this_cp_rank` in megatron/core/utils.py')],
  *check(facts) {
    for (const { module, sequence, degrees } of describedBy(facts)) {
      if (sequence.attention_mask.value === 'dense' && degrees.cp > 1) {
        yield {
          message: `A dense attention mask cannot be split over cp ${degrees.cp}. Use a causal mask, or cp 1.`,
          span: sequence.attention_mask.span,
          related: [{ message: `cp is ${degrees.cp} here`, span: module.fields.cp.span }],
          fixes: [
            replaceFix(sequence.attention_mask.span, 'causal'),
            ...(module.fields.cp.written ? [changeFix('cp', module.fields.cp.span, 1)] : []),
          ],
        };
      }
    }
  },
};
