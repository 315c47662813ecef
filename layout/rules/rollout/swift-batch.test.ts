import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { swiftBatch } from './swift-batch';

test('swift-batch', () => {
  const of = (global: number, rl: string, launch = 'family: ms-swift') =>
    job(8, 'tp: 2', `launch: {${launch}}`, `batch: {global_batch_size: ${global}}`, `rl: {${rl}}`);
  const said = reports(swiftBatch, {
    'one update': of(64, 'samples_per_prompt: 8'),
    'prompts are not whole': of(60, 'samples_per_prompt: 8'),
    'several updates make whole prompts': of(16, 'samples_per_prompt: 8, updates_per_step: 2'),
    'fewer prompts than data-parallel ranks': of(16, 'samples_per_prompt: 8'),
    'prompts that are no whole micro-batches': of(32, 'samples_per_prompt: 8').replace(
      'batch: {',
      'batch: {micro_batch_size: 2, ',
    ),
    'a batch of several updates': of(32, 'generation_batch_size: 128, samples_per_prompt: 8'),
    'a batch that is no whole updates': of(32, 'generation_batch_size: 48, samples_per_prompt: 8'),
    'another number of updates': of(32, 'generation_batch_size: 128, updates_per_step: 2'),
    'on transformers the batch has other parts': of(
      60,
      'samples_per_prompt: 8',
      'family: ms-swift, engine: transformers',
    ),
    'transformers: generations that no step holds':
      'layout: 1\nworld_size: 7\nlaunch: {family: ms-swift, engine: transformers}\nbatch: {micro_batch_size: 1}\nrl: {samples_per_prompt: 8}\n',
    'transformers: accumulated steps hold them':
      'layout: 1\nworld_size: 4\nlaunch: {family: ms-swift, engine: transformers}\nbatch: {micro_batch_size: 1, gradient_accumulation_steps: 4}\nrl: {samples_per_prompt: 8}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "prompts are not whole: error at "8": samples_per_prompt 8 does not divide the 60 samples of a step. Use a global_batch_size of 56 or 64.
      = ms-swift: generation_batch_size (60) must be divisible by num_generations (8).
      = at "60": global_batch_size is 60 here
      = suggestion: Change global_batch_size to 64: batch: {global_batch_size: [-60-]{+64+}}
    fewer prompts than data-parallel ranks: error at "8": generation_batch_size 16 / samples_per_prompt 8 = 2 prompts, not a multiple of dp 4. Use a generation_batch_size of 32.
      = ms-swift: num_rollout_prompt (2) = generation_batch_size (16) // num_generations (8) must be divisible by dp_size (4).
    prompts that are no whole micro-batches: error at "8": generation_batch_size 32 / samples_per_prompt 8 = 4 prompts, not a multiple of dp 4 x micro_batch_size 2. Use a generation_batch_size of 64.
      = ms-swift: Per-device rollout prompt count (1) = (generation_batch_size (32) // num_generations (8)) // dp_size (4) must be divisible by micro_batch_size (2).
    a batch that is no whole updates: error at "48": generation_batch_size 48 is not a multiple of global_batch_size 32. Use generation_batch_size 32 or 64.
      = ms-swift: generation_batch_size (48) must be divisible by global_batch_size (32)
      = at "32": global_batch_size is 32 here
      = suggestion: Change generation_batch_size to 32: rl: {generation_batch_size: [-48-]{+32+}, samples_per_prompt: 8}
      = suggestion: Change generation_batch_size to 64: rl: {generation_batch_size: [-48-]{+64+}, samples_per_prompt: 8}
    another number of updates: error at "128": generation_batch_size 128 is not global_batch_size 32 x updates_per_step 2 = 64. Use generation_batch_size 64.
      = ms-swift: generation_batch_size (128) must equal global_batch_size (32) * steps_per_generation (2) = 64.
      = at "32": global_batch_size is 32 here
      = at "2": updates_per_step is 2 here
      = suggestion: Change generation_batch_size to 64: rl: {generation_batch_size: [-128-]{+64+}, updates_per_step: 2}
    transformers: generations that no step holds: error at "8": samples_per_prompt 8 does not divide micro_batch_size 1 x 7 ranks x 1 = 7 samples of a step. Use samples_per_prompt 7, or another batch.
      = ms-swift: generation_batch_size (7) must be evenly divisible by num_generations (8). Valid values: [7].
      = suggestion: Change samples_per_prompt to 7: rl: {samples_per_prompt: [-8-]{+7+}}"
  `);
});
