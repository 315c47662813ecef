import type { RlKeys, RootKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import { modelNamed } from '../../models';
import { changeFix, changes } from '../fixes';
import { valueRelated } from '../related';
import { FORMAT_SOURCE, inFramework, job, type Report, type Rule } from '../rule';

export const rolloutLength: Rule = {
  code: 'rollout-length',
  severity: 'warning',
  title: 'Prompt and response together are longer than the sequences of the trainer',
  effect: 'long samples are cut, or the model has no positions for them',
  what: '`max_prompt_length + max_response_length` is more than `seq_length`, than `max_seq_len`, than `max_model_len` of the phase `rollout`, or than the positions of a model that is named. For NeMo-RL, whose longest response is as long as a sequence: `seq_length` is above `max_model_len`.',
  why: 'The engine generates up to the longest response behind the longest prompt. What the trainer has no room for is truncated or fails when positions are looked up.',
  failing: job(8, 'tp: 2', 'sequence: {seq_length: 4096}', 'rl: {max_prompt_length: 1024, max_response_length: 4096}'),
  sources: [
    FORMAT_SOURCE,
    inFramework('volcengine/verl', 'verl/workers/config/rollout.py', 'max_model_len'),
    inFramework('NVIDIA-NeMo/RL', 'nemo_rl/experience/rollouts.py', 'run_async_nemo_gym_rollout'),
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
        : rl && tooLongReport(rl, root, limits);
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

function tooLongReport(rl: Section<RlKeys>, root: Section<RootKeys>, limits: readonly Limit[]): Report | null {
  const [prompt, response] = [rl.max_prompt_length.value, rl.max_response_length.value];
  if (prompt === undefined || response === undefined) {
    return null;
  }
  const tokens = prompt + response;
  const limit = limits.find(({ field }) => field?.value !== undefined && tokens > field.value);
  // an engine takes the positions of the model for its longest sequence where nothing else is said
  const isSaid = limits.slice(1).some(({ field }) => field?.written);
  const model = isSaid ? undefined : modelNamed(root.model.value?.from.value ?? '');
  const most = limit?.field?.value ?? model?.context ?? Number.POSITIVE_INFINITY;
  if (tokens <= most) {
    return null;
  }
  const sum = `max_prompt_length ${prompt} + max_response_length ${response} = ${tokens} tokens, more than`;
  const shorter = most > prompt ? `max_response_length ${most - prompt}` : '';
  return {
    message: limit
      ? `${sum} ${limit.name} ${most}. Use ${limit.name} ${tokens}${shorter && `, or ${shorter}`}.`
      : `${sum} the ${most} positions of ${model?.name}.${shorter && ` Use ${shorter}, or extend its positions.`}`,
    span: rl.max_response_length.span,
    related: [
      ...(limit?.field ? [valueRelated(limit.name, limit.field)] : []),
      valueRelated('max_prompt_length', rl.max_prompt_length),
    ],
    fixes: [
      ...(limit ? [changeFix(limit.name, limit.field, tokens)] : []),
      ...(shorter ? [changeFix('max_response_length', rl.max_response_length, most - prompt)] : []),
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
        ...changes('max_model_len', most, sequence.value),
        related: [valueRelated('seq_length', sequence)],
        predicts: `policy max_total_sequence_length (${sequence.value}) is greater than the generation engine's max_model_len (${most.value}).`,
      }
    : null;
}
