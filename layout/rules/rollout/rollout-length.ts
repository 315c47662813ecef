import type { RlKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import { changeFix } from '../fixes';
import { valueRelated } from '../related';
import type { Report, Rule } from '../rule';
import { FORMAT_SOURCE, otherSource } from '../source';

export const rolloutLength: Rule = {
  code: 'rollout-length',
  severity: 'warning',
  title: 'Prompt and response together are longer than the sequences of the trainer',
  effect: 'long samples are cut, or the model has no positions for them',
  what: '`max_prompt_length + max_response_length` is more than `seq_length`, than `max_seq_len`, or than `max_model_len` of the phase `rollout`. For NeMo-RL, whose longest response is as long as a sequence: `seq_length` is above `max_model_len`.',
  why: 'The engine generates up to the longest response behind the longest prompt. What the trainer has no room for is truncated or fails when positions are looked up.',
  failing:
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nsequence: {seq_length: 4096}\nrl: {max_prompt_length: 1024, max_response_length: 4096}\n',
  sources: [
    FORMAT_SOURCE,
    otherSource('`max_model_len` in verl/workers/config/rollout.py (volcengine/verl at b178a3cd56)'),
    otherSource('`run_async_nemo_gym_rollout` in nemo_rl/experience/rollouts.py (NVIDIA-NeMo/RL at 7ea279abfb)'),
  ],
  *check({ root, framework }) {
    const rl = root.rl.value;
    const sequence = root.sequence.value;
    const engine = root.phases.value?.find(({ name }) => name === 'rollout')?.value;
    const limits = [
      { name: 'seq_length', field: sequence?.seq_length },
      { name: 'max_seq_len', field: sequence?.max_seq_len },
      { name: 'max_model_len', field: engine?.max_model_len },
    ];
    // NeMo-RL's max_new_tokens is up to the length of a sequence, which holds the prompt too
    const report =
      framework?.name === 'nemo-rl'
        ? nemoReport(sequence?.seq_length, engine?.max_model_len)
        : rl && tooLongReport(rl, limits);
    if (report) {
      yield report;
    }
  },
};

/** A length that is held against others. */
interface Limit {
  readonly name: string;
  readonly field: Field<number> | undefined;
}

function tooLongReport(rl: Section<RlKeys>, limits: readonly Limit[]): Report | null {
  const [prompt, response] = [rl.max_prompt_length.value, rl.max_response_length.value];
  const limit = limits.find(({ field }) => field?.value !== undefined && (prompt ?? 0) + (response ?? 0) > field.value);
  if (prompt === undefined || response === undefined || !limit?.field?.value) {
    return null;
  }
  const most = limit.field.value;
  return {
    message: `max_prompt_length ${prompt} + max_response_length ${response} = ${prompt + response} tokens, more than ${limit.name} ${most}. Use ${limit.name} ${prompt + response}${most > prompt ? `, or max_response_length ${most - prompt}` : ''}.`,
    span: rl.max_response_length.span,
    related: [valueRelated(limit.name, limit.field), valueRelated('max_prompt_length', rl.max_prompt_length)],
    fixes: [
      changeFix(limit.name, limit.field, prompt + response),
      ...(most > prompt ? [changeFix('max_response_length', rl.max_response_length, most - prompt)] : []),
    ],
  };
}

function nemoReport(sequence: Field<number> | undefined, most: Field<number> | undefined): Report | null {
  if (most?.value === undefined) {
    return null;
  }
  return sequence?.value !== undefined && sequence.value > most.value
    ? {
        message: `seq_length ${sequence.value} is more than the max_model_len ${most.value} of the engine, which ends sequences there. Use max_model_len ${sequence.value}.`,
        span: most.span,
        related: [valueRelated('seq_length', sequence)],
        predicts: `policy max_total_sequence_length (${sequence.value}) is greater than the generation engine's max_model_len (${most.value}).`,
        fixes: [changeFix('max_model_len', most, sequence.value)],
      }
    : null;
}
