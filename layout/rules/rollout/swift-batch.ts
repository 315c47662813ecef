import type { RlKeys, RootKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';
import { changeFix, changes } from '../fixes';
import { divisors, eitherNumber, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { inFramework, type Report, type Rule } from '../rule';

export const swiftBatch: Rule = {
  code: 'swift-batch',
  severity: 'error',
  title: 'The samples of a step are no whole updates or no whole prompts',
  effect: 'ms-swift stops before it builds the model',
  what: 'In an ms-swift job on Megatron Core: `generation_batch_size` is not `global_batch_size * updates_per_step` (`steps_per_generation`), no multiple of `global_batch_size`, or no multiple of `samples_per_prompt` (`num_generations`); or its prompts are no multiple of the data-parallel ranks times `micro_batch_size`. Where it is left out it is `global_batch_size * updates_per_step`. On transformers: `samples_per_prompt` does not divide `micro_batch_size` times the world times `updates_per_step` (`gradient_accumulation_steps` where it is left out).',
  why: 'The samples of a step are generated prompt by prompt and trained on in whole updates.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: ms-swift}\nparallelism: {tp: 2}\nbatch: {global_batch_size: 32}\nrl: {generation_batch_size: 48, samples_per_prompt: 8}\n',
  sources: [
    inFramework('modelscope/ms-swift', 'swift/megatron/arguments/megatron_args.py', 'RLHFMegatronArgumentsMixin'),
  ],
  *check(facts) {
    const { root, framework, world } = facts;
    const rl = root.rl.value;
    if (framework?.engine === 'transformers') {
      yield* transformersReports(rl, root.batch.value, world.size);
      return;
    }
    const global = root.batch.value?.global_batch_size;
    if (!rl || !global?.value) {
      return;
    }
    const { generation_batch_size: field, updates_per_step: updates, samples_per_prompt: samples } = rl;
    const size = global.value;
    const expected = size * (updates.value ?? 1);
    const generated = field.value ?? expected;
    const related = [valueRelated('global_batch_size', global), ...writtenRelated('updates_per_step', updates)];
    if (field.value !== undefined && updates.value !== undefined && field.value !== expected) {
      yield {
        message: `generation_batch_size ${field.value} is not global_batch_size ${size} x updates_per_step ${updates.value} = ${expected}. Use generation_batch_size ${expected}.`,
        ...changes('generation_batch_size', field, expected),
        related,
        predicts: `generation_batch_size (${field.value}) must equal global_batch_size (${size}) * steps_per_generation (${updates.value}) = ${expected}.`,
      };
    } else if (field.value !== undefined && updates.value === undefined && field.value % size !== 0) {
      const better = nearestMultiples(size, field.value);
      yield {
        message: `generation_batch_size ${field.value} is not a multiple of global_batch_size ${size}. Use generation_batch_size ${eitherNumber(better)}.`,
        ...changes('generation_batch_size', field, ...better),
        related,
        predicts: `generation_batch_size (${field.value}) must be divisible by global_batch_size (${size})`,
      };
    } else if (samples.value !== undefined && generated % samples.value !== 0) {
      const better = nearestMultiples(samples.value, size);
      yield {
        message: `samples_per_prompt ${samples.value} does not divide the ${generated} samples of a step. Use a global_batch_size of ${eitherNumber(better)}.`,
        span: samples.span,
        related: field.written ? [valueRelated('generation_batch_size', field)] : related,
        predicts: `generation_batch_size (${generated}) must be divisible by num_generations (${samples.value}).`,
        fixes: field.written ? [] : better.map((one) => changeFix('global_batch_size', global, one)),
      };
    } else if (samples.value !== undefined) {
      yield* promptReports(facts, generated, samples);
    }
  },
};

/** Each data-parallel rank takes whole micro-batches of prompts (`validate_batch_dp_alignment`). */
function* promptReports({ root, modules }: LayoutFacts, generated: number, samples: Field<number>): Iterable<Report> {
  const dp = modules[0]?.dp;
  const micro = root.batch.value?.micro_batch_size.value ?? 1;
  const count = samples.value ?? 1;
  const prompts = generated / count;
  if (dp === undefined || prompts % (dp * micro) === 0) {
    return;
  }
  const made = `generation_batch_size ${generated} / samples_per_prompt ${count} = ${prompts} prompts`;
  const better = nearestMultiples(dp * micro, prompts).map((one) => one * count);
  yield {
    message: `${made}, not a multiple of dp ${dp}${micro > 1 ? ` x micro_batch_size ${micro}` : ''}. Use a generation_batch_size of ${eitherNumber(better)}.`,
    span: samples.span,
    predicts:
      prompts % dp === 0
        ? `Per-device rollout prompt count (${prompts / dp}) = (generation_batch_size (${generated}) // num_generations (${count})) // dp_size (${dp}) must be divisible by micro_batch_size (${micro}).`
        : `num_rollout_prompt (${prompts}) = generation_batch_size (${generated}) // num_generations (${count}) must be divisible by dp_size (${dp}).`,
  };
}

/** `_init_generation_batch_params` in swift/rlhf_trainers/args_mixin.py: the samples of a step are those of all ranks. */
function* transformersReports(
  rl: Section<RlKeys> | undefined,
  batch: Section<RootKeys>['batch']['value'],
  ranks: number | undefined,
): Iterable<Report> {
  const samples = rl?.samples_per_prompt;
  const micro = batch?.micro_batch_size.value;
  if (!rl || !samples?.written || !samples.value || samples.value === 1 || !micro || ranks === undefined) {
    return;
  }
  const steps = rl.updates_per_step.value ?? batch?.gradient_accumulation_steps.value ?? 1;
  const generated = rl.generation_batch_size.value ?? micro * ranks * steps;
  if (generated % samples.value !== 0) {
    const better = divisors(generated)
      .filter((one) => one > 1)
      .slice(-3);
    const made = rl.generation_batch_size.written
      ? `generation_batch_size ${generated}`
      : `micro_batch_size ${micro} x ${ranks} ranks x ${steps} = ${generated} samples of a step`;
    yield {
      message: `samples_per_prompt ${samples.value} does not divide ${made}.${better.length > 0 ? ` Use samples_per_prompt ${eitherNumber(better)}, or another batch.` : ''}`,
      ...changes('samples_per_prompt', samples, ...better.toReversed()),
      predicts: `generation_batch_size (${generated}) must be evenly divisible by num_generations (${samples.value}). Valid values: [${divisors(
        generated,
      )
        .filter((one) => one > 1)
        .join(', ')}].`,
    };
  }
}
