import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { rolloutLength } from './rollout-length';

test('rollout-length', () => {
  const of = (sequence: string, rl: string) => job(8, 'tp: 2', `sequence: {${sequence}}`, `rl: {${rl}}`);
  const nemo = (most: number, rl: string) =>
    job(
      8,
      'tp: 2',
      'launch: {family: nemo-rl}',
      'sequence: {seq_length: 4096}',
      `phases: {rollout: {engine: vllm, max_model_len: ${most}}}`,
      `rl: {${rl}}`,
    );
  const lengths = 'max_prompt_length: 1024, max_response_length: 3072';
  const said = reports(rolloutLength, {
    'both fit': of('seq_length: 4096', lengths),
    'longer than the sequence': of('seq_length: 2048', lengths),
    'the prompt alone is longer': of('seq_length: 512', lengths),
    'longer than the positions': of('seq_length: 4096, max_seq_len: 4000', lengths),
    'longer than the engine takes': job(
      8,
      'tp: 2',
      'phases: {rollout: {engine: vllm, max_model_len: 2048}}',
      `rl: {${lengths}}`,
    ),
    'NeMo-RL: a response as long as the sequence': nemo(4096, 'max_prompt_length: 1024, max_response_length: 4096'),
    'NeMo-RL: sequences that the engine ends': nemo(2048, 'max_prompt_length: 1024'),
    'NeMo-RL: the engine takes whole sequences': nemo(4096, 'max_prompt_length: 4096'),
    'longer than the positions of a named model': job(
      8,
      'tp: 2',
      'model: {from: Qwen/Qwen2.5-Math-7B}',
      'rl: {max_prompt_length: 1024, max_response_length: 4000}',
    ),
    'the response is not known': of('seq_length: 512', 'max_prompt_length: 1024'),
  });
  expect(said).toMatchInlineSnapshot(`
    "longer than the sequence: warning at "3072": max_prompt_length 1024 + max_response_length 3072 = 4096 tokens, more than seq_length 2048. Use seq_length 4096, or max_response_length 1024.
      = at "2048": seq_length is 2048 here
      = at "1024": max_prompt_length is 1024 here
      = suggestion: Change seq_length to 4096: sequence: {seq_length: [-2048-]{+4096+}}
      = suggestion: Change max_response_length to 1024: rl: {max_prompt_length: 1024, max_response_length: [-3072-]{+1024+}}
    the prompt alone is longer: warning at "3072": max_prompt_length 1024 + max_response_length 3072 = 4096 tokens, more than seq_length 512. Use seq_length 4096.
      = at "512": seq_length is 512 here
      = at "1024": max_prompt_length is 1024 here
      = suggestion: Change seq_length to 4096: sequence: {seq_length: [-512-]{+4096+}}
    longer than the positions: warning at "3072": max_prompt_length 1024 + max_response_length 3072 = 4096 tokens, more than max_seq_len 4000. Use max_seq_len 4096, or max_response_length 2976.
      = at "4000": max_seq_len is 4000 here
      = at "1024": max_prompt_length is 1024 here
      = suggestion: Change max_seq_len to 4096: sequence: {seq_length: 4096, max_seq_len: [-4000-]{+4096+}}
      = suggestion: Change max_response_length to 2976: rl: {max_prompt_length: 1024, max_response_length: [-3072-]{+2976+}}
    longer than the engine takes: warning at "3072": max_prompt_length 1024 + max_response_length 3072 = 4096 tokens, more than max_model_len 2048. Use max_model_len 4096, or max_response_length 1024.
      = at "2048": max_model_len is 2048 here
      = at "1024": max_prompt_length is 1024 here
      = suggestion: Change max_model_len to 4096: phases: {rollout: {engine: vllm, max_model_len: [-2048-]{+4096+}}}
      = suggestion: Change max_response_length to 1024: rl: {max_prompt_length: 1024, max_response_length: [-3072-]{+1024+}}
    NeMo-RL: sequences that the engine ends: warning at "2048": seq_length 4096 is more than the max_model_len 2048 of the engine, which ends sequences there. Use max_model_len 4096.
      = Megatron-LM: policy max_total_sequence_length (4096) is greater than the generation engine's max_model_len (2048).
      = at "4096": seq_length is 4096 here
      = suggestion: Change max_model_len to 4096: phases: {rollout: {engine: vllm, max_model_len: [-2048-]{+4096+}}}
    longer than the positions of a named model: warning at "4000": max_prompt_length 1024 + max_response_length 4000 = 5024 tokens, more than the 4096 positions of Qwen/Qwen2.5-Math-7B. Use max_response_length 3072, or extend its positions.
      = at "1024": max_prompt_length is 1024 here
      = suggestion: Change max_response_length to 3072: rl: {max_prompt_length: 1024, max_response_length: [-4000-]{+3072+}}"
  `);
});
