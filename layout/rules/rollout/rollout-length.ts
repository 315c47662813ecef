import { changeFix } from '../fixes';
import { valueRelated } from '../related';
import type { Rule } from '../rule';
import { FORMAT_SOURCE, otherSource } from '../source';

export const rolloutLength: Rule = {
  code: 'rollout-length',
  severity: 'warning',
  title: 'Prompt and response together are longer than the sequences of the trainer',
  effect: 'long samples are cut, or the model has no positions for them',
  what: '`max_prompt_length + max_response_length` is more than `seq_length`, or than `max_seq_len`.',
  why: 'The engine generates up to the longest response behind the longest prompt. What the trainer has no room for is truncated or fails when positions are looked up.',
  failing:
    'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nsequence: {seq_length: 4096}\nrl: {max_prompt_length: 1024, max_response_length: 4096}\n',
  sources: [
    FORMAT_SOURCE,
    otherSource('`max_model_len` in verl/workers/config/rollout.py (volcengine/verl at b178a3cd56)'),
  ],
  *check({ root }) {
    const rl = root.rl.value;
    const [prompt, response] = [rl?.max_prompt_length.value, rl?.max_response_length.value];
    const sequence = root.sequence.value;
    const limit = [
      { name: 'seq_length', field: sequence?.seq_length },
      { name: 'max_seq_len', field: sequence?.max_seq_len },
    ].find(({ field }) => field?.value !== undefined && (prompt ?? 0) + (response ?? 0) > field.value);
    if (!rl || prompt === undefined || response === undefined || !limit?.field?.value) {
      return;
    }
    const most = limit.field.value;
    yield {
      message: `max_prompt_length ${prompt} + max_response_length ${response} = ${prompt + response} tokens, more than ${limit.name} ${most}. Use ${limit.name} ${prompt + response}${most > prompt ? `, or max_response_length ${most - prompt}` : ''}.`,
      span: rl.max_response_length.span,
      related: [valueRelated(limit.name, limit.field), valueRelated('max_prompt_length', rl.max_prompt_length)],
      fixes: [
        changeFix(limit.name, limit.field, prompt + response),
        ...(most > prompt ? [changeFix('max_response_length', rl.max_response_length, most - prompt)] : []),
      ],
    };
  },
};
