import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { slimeBatch } from './slime-batch';

test('slime-batch', () => {
  const of = (global: number, rl: string, family = 'slime') =>
    job(8, 'tp: 2', `launch: {family: ${family}}`, `batch: {global_batch_size: ${global}}`, `rl: {${rl}}`);
  const samples = 'prompts_per_step: 32, samples_per_prompt: 8';
  const said = reports(slimeBatch, {
    'one update': of(256, samples),
    'two updates': of(128, samples),
    'samples are left over': of(200, samples),
    'fewer samples than a batch': of(512, samples),
    'the number of updates agrees': of(64, `${samples}, updates_per_step: 4`),
    'the number of updates disagrees': of(128, `${samples}, updates_per_step: 4`),
    'one sample a prompt': of(48, 'prompts_per_step: 64'),
    'another framework': of(200, samples, 'megatron-bridge'),
  });
  expect(said).toMatchInlineSnapshot(`
    "samples are left over: error at "200": prompts_per_step 32 x samples_per_prompt 8 = 256 samples, not a multiple of global_batch_size 200: 56 of them are never trained on. Use global_batch_size 128 or 256.
      = at "32": prompts_per_step is 32 here
      = at "8": samples_per_prompt is 8 here
      = suggestion: Change global_batch_size to 256: batch: {global_batch_size: [-200-]{+256+}}
      = suggestion: Change global_batch_size to 128: batch: {global_batch_size: [-200-]{+128+}}
    fewer samples than a batch: error at "512": prompts_per_step 32 x samples_per_prompt 8 = 256 samples, not a multiple of global_batch_size 512. Use global_batch_size 128 or 256.
      = slime: num_rollouts (256) < global_batch_size (512); need at least one rollout per step.
      = at "32": prompts_per_step is 32 here
      = at "8": samples_per_prompt is 8 here
      = suggestion: Change global_batch_size to 256: batch: {global_batch_size: [-512-]{+256+}}
      = suggestion: Change global_batch_size to 128: batch: {global_batch_size: [-512-]{+128+}}
    the number of updates disagrees: error at "128": prompts_per_step 32 x samples_per_prompt 8 = 256 samples / updates_per_step 4 = 64, but global_batch_size is 128. Use global_batch_size 64, or leave it out.
      = slime: global_batch_size 128 is not equal to rollout_batch_size 32 * n_samples_per_prompt 8 // num_steps_per_rollout 4
      = at "32": prompts_per_step is 32 here
      = at "8": samples_per_prompt is 8 here
      = at "4": updates_per_step is 4 here
      = suggestion: Change global_batch_size to 64: batch: {global_batch_size: [-128-]{+64+}}
    one sample a prompt: error at "48": prompts_per_step 64 x samples_per_prompt 1 = 64 samples, not a multiple of global_batch_size 48: 16 of them are never trained on. Use global_batch_size 32 or 64.
      = at "64": prompts_per_step is 64 here
      = suggestion: Change global_batch_size to 32: batch: {global_batch_size: [-48-]{+32+}}
      = suggestion: Change global_batch_size to 64: batch: {global_batch_size: [-48-]{+64+}}"
  `);
});
