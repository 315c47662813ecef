import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { verlBatch } from './verl-batch';

test('verl-batch', () => {
  const fsdp = (rl: string, ...more: readonly string[]) =>
    ['layout: 1', 'world_size: 8', 'launch: {family: verl, engine: fsdp}', `rl: {${rl}}`, ...more, ''].join('\n');
  const megatron = (rl: string, batch: string) =>
    job(16, 'tp: 2, pp: 2', 'launch: {family: verl}', `batch: {${batch}}`, `rl: {${rl}}`);
  const said = reports(verlBatch, {
    'FSDP: samples divide among the GPUs': fsdp('prompts_per_step: 256, mini_batch_size: 64'),
    'FSDP: samples do not divide': fsdp('prompts_per_step: 100, mini_batch_size: 50'),
    'FSDP: several samples a prompt divide': fsdp('prompts_per_step: 100, samples_per_prompt: 4, mini_batch_size: 50'),
    'FSDP: the default mini-batch is larger than the step': fsdp('prompts_per_step: 128'),
    'FSDP: a mini-batch larger than the step': fsdp('prompts_per_step: 64, mini_batch_size: 96'),
    'FSDP: a mini-batch of fewer samples than ranks': fsdp('prompts_per_step: 64, mini_batch_size: 4'),
    'FSDP: parts of a mini-batch are no whole micro-batches': fsdp(
      'prompts_per_step: 64, mini_batch_size: 48',
      'batch: {micro_batch_size: 4}',
    ),
    'FSDP: Ulysses leaves fewer data-parallel ranks': fsdp(
      'prompts_per_step: 64, mini_batch_size: 8',
      'parallelism: {ulysses: 4}',
      'batch: {micro_batch_size: 4}',
    ),
    'FSDP: dynamic micro-batches need equal parts alone': fsdp(
      'prompts_per_step: 63, mini_batch_size: 63, dynamic_batch: true',
    ),
    'FSDP: mini-batches that leave a smaller one': fsdp('prompts_per_step: 96, mini_batch_size: 64'),
    'Megatron: mini-batches that leave a smaller one': megatron(
      'prompts_per_step: 48, mini_batch_size: 32',
      'micro_batch_size: 4',
    ),
    'FSDP: a sample that no micro-batch holds': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64, dynamic_batch: true, max_tokens_per_gpu: 4096, max_prompt_length: 2048, max_response_length: 8192',
      'parallelism: {ulysses: 2}',
    ),
    'FSDP: the default holds the longest sample': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64, dynamic_batch: true, max_prompt_length: 1024, max_response_length: 8192',
    ),
    'FSDP: the default is too small': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64, dynamic_batch: true, max_prompt_length: 1024, max_response_length: 16384',
    ),
    'Megatron: micro-batches of all replicas': megatron(
      'prompts_per_step: 48, mini_batch_size: 16',
      'micro_batch_size: 4',
    ),
    'an interleaved pipeline with a micro-batch a mini-batch': job(
      16,
      'tp: 2, pp: 2, vpp: 2',
      'launch: {family: verl}',
      'batch: {micro_batch_size: 4}',
      'rl: {prompts_per_step: 64, mini_batch_size: 16}',
    ),
    'a critic with micro-batches that do not fit': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64',
      'phases: {critic: {engine: fsdp, micro_batch_size: 3}}',
    ),
    'a critic that Ulysses leaves fewer ranks': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64',
      'phases: {critic: {engine: fsdp, ulysses: 4, micro_batch_size: 32}}',
    ),
    'a critic with larger mini-batches than the step': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64',
      'phases: {critic: {engine: fsdp, mini_batch_size: 128}}',
    ),
    'a critic whose ranks take nothing': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64',
      'phases: {critic: {engine: fsdp, mini_batch_size: 4, micro_batch_size: 1}}',
    ),
    'a critic on Megatron runs over the grid of the actor': megatron(
      'prompts_per_step: 40, mini_batch_size: 40, dynamic_batch: true',
      'micro_batch_size: 1',
    ).concat('phases: {critic: {pp: 1}}\n'),
    'a critic on Megatron whose mini-batches leave a part': megatron(
      'prompts_per_step: 48, mini_batch_size: 48',
      'micro_batch_size: 1',
    ).concat('phases: {critic: {tp: 2, pp: 2, mini_batch_size: 32}}\n'),
    'a critic with long samples': fsdp(
      'prompts_per_step: 64, mini_batch_size: 64, dynamic_batch: true, max_tokens_per_gpu: 65536, max_prompt_length: 2048, max_response_length: 32768',
      'phases: {critic: {engine: fsdp}}',
    ),
    'Megatron: not a multiple of them': megatron('prompts_per_step: 50, mini_batch_size: 16', 'micro_batch_size: 4'),
  });
  expect(said).toMatchInlineSnapshot(`
    "FSDP: samples do not divide: error at "100": prompts_per_step 100 is not a multiple of 8 GPUs. Use prompts_per_step 96 or 104.
      = verl: real_train_batch_size (100) must be divisible by minimal possible batch size (8)
      = suggestion: Change prompts_per_step to 96: rl: {prompts_per_step: [-100-]{+96+}, mini_batch_size: 50}
    FSDP: the default mini-batch is larger than the step: error at "128": prompts_per_step 128 is less than mini_batch_size 256 (verl's default). Use mini_batch_size 128 or less.
      = verl: train_batch_size (128) must be >= actor.ppo_mini_batch_size (256)
    FSDP: a mini-batch larger than the step: error at "96": prompts_per_step 64 is less than mini_batch_size 96. Use mini_batch_size 64 or less.
      = verl: train_batch_size (64) must be >= actor.ppo_mini_batch_size (96)
      = at "64": prompts_per_step is 64 here
      = suggestion: Change mini_batch_size to 64: rl: {prompts_per_step: 64, mini_batch_size: [-96-]{+64+}}
    FSDP: a mini-batch of fewer samples than ranks: error at "4": mini_batch_size 4 leaves nothing for each of 8 data-parallel ranks. Use a mini_batch_size of at least 8.
      = verl: ppo_mini_batch_size 0 should be larger than 0 after normalization
      = suggestion: Change mini_batch_size to 8: rl: {prompts_per_step: 64, mini_batch_size: [-4-]{+8+}}
    FSDP: parts of a mini-batch are no whole micro-batches: error at "48": Each of 8 data-parallel ranks takes 6 samples of a mini-batch (mini_batch_size 48 / 8), not a multiple of micro_batch_size 4.
      = verl: normalized ppo_mini_batch_size 6 should be divisible by ppo_micro_batch_size_per_gpu 4
      = at "4": micro_batch_size is 4 here
    FSDP: dynamic micro-batches need equal parts alone: error at "63": prompts_per_step 63 is not a multiple of 8 data-parallel ranks. Use prompts_per_step 56 or 64.
      = verl: only support equal chunk. Got size of DataProto 63 and chunk 8.
      = suggestion: Change prompts_per_step to 56: rl: {prompts_per_step: [-63-]{+56+}, mini_batch_size: 63, dynamic_batch: true}
    FSDP: mini-batches that leave a smaller one: warning at "64": mini_batch_size 64 does not divide prompts_per_step 96: the last update of a step takes 4 of 8 samples a rank. Use mini_batch_size 32 or 48.
      = at "96": prompts_per_step is 96 here
      = suggestion: Change mini_batch_size to 48: rl: {prompts_per_step: 96, mini_batch_size: [-64-]{+48+}}
      = suggestion: Change mini_batch_size to 32: rl: {prompts_per_step: 96, mini_batch_size: [-64-]{+32+}}
    Megatron: mini-batches that leave a smaller one: error at "32": mini_batch_size 32 does not divide prompts_per_step 48. Use mini_batch_size 16 or 24.
      = verl: 12 % 8 != 0
      = at "48": prompts_per_step is 48 here
      = suggestion: Change mini_batch_size to 24: rl: {prompts_per_step: 48, mini_batch_size: [-32-]{+24+}}
      = suggestion: Change mini_batch_size to 16: rl: {prompts_per_step: 48, mini_batch_size: [-32-]{+16+}}
    FSDP: a sample that no micro-batch holds: error at "4096": max_prompt_length 2048 + max_response_length 8192 = 10240 tokens do not fit into a micro-batch of max_tokens_per_gpu 4096 x 2 GPUs that share a sequence = 8192. Use max_tokens_per_gpu 5120 or more.
      = verl: max_token_len must be greater than the sequence length. Got max_token_len=8192 and max_seq_len=10240
      = at "8192": max_response_length is 8192 here
      = suggestion: Change max_tokens_per_gpu to 5120: rl: {prompts_per_step: 64, mini_batch_size: 64, dynamic_batch: true, max_tokens_per_gpu: [-4096-]{+5120+}, max_prompt_length: 2048, max_response_length: 8192}
    FSDP: the default is too small: error at "16384": max_prompt_length 1024 + max_response_length 16384 = 17408 tokens do not fit into a micro-batch of max_tokens_per_gpu 16384 (verl's default). Use max_tokens_per_gpu 17408 or more.
      = verl: max_token_len must be greater than the sequence length. Got max_token_len=16384 and max_seq_len=17408
    an interleaved pipeline with a micro-batch a mini-batch: error at "16": vpp with pp 2 needs at least 2 micro-batches in a mini-batch; mini_batch_size 16 / dp 4 / micro_batch_size 4 gives 1. Use mini_batch_size 32.
      = Megatron Core: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=2 , M=1]
      = at "2": vpp is 2 here
      = suggestion: Change mini_batch_size to 32: rl: {prompts_per_step: 64, mini_batch_size: [-16-]{+32+}}
    a critic with micro-batches that do not fit: error at "64": Each of 8 data-parallel ranks of the critic takes 8 samples of a mini-batch (mini_batch_size 64 / 8), not a multiple of micro_batch_size 3.
      = verl: normalized ppo_mini_batch_size 8 should be divisible by ppo_micro_batch_size_per_gpu 3
      = at "3": micro_batch_size is 3 here
    a critic with larger mini-batches than the step: error at "128": prompts_per_step 64 is less than mini_batch_size 128 of the critic. Use mini_batch_size 64 or less.
      = verl: train_batch_size (64) must be >= critic.ppo_mini_batch_size (128)
      = at "64": prompts_per_step is 64 here
      = suggestion: Change mini_batch_size to 64: phases: {critic: {engine: fsdp, mini_batch_size: [-128-]{+64+}}}
    a critic whose ranks take nothing: error at "4": mini_batch_size 4 of the critic leaves nothing for each of 8 data-parallel ranks. Use a mini_batch_size of at least 8.
      = verl: normalized ppo_mini_batch_size 0 should be larger than ppo_micro_batch_size_per_gpu 1
      = suggestion: Change mini_batch_size to 8: phases: {critic: {engine: fsdp, mini_batch_size: [-4-]{+8+}, micro_batch_size: 1}}
    a critic on Megatron whose mini-batches leave a part: error at "32": mini_batch_size 32 of the critic does not divide prompts_per_step 48. Use mini_batch_size 16 or 24.
      = verl: 12 % 8 != 0
      = at "48": prompts_per_step is 48 here
      = suggestion: Change mini_batch_size to 24: phases: {critic: {tp: 2, pp: 2, mini_batch_size: [-32-]{+24+}}}
      = suggestion: Change mini_batch_size to 16: phases: {critic: {tp: 2, pp: 2, mini_batch_size: [-32-]{+16+}}}
    a critic with long samples: error at "32768": max_prompt_length 2048 + max_response_length 32768 = 34816 tokens do not fit into a micro-batch of the critic of max_tokens_per_gpu 32768 (verl's default). Use max_tokens_per_gpu 34816 or more.
      = verl: max_token_len must be greater than the sequence length. Got max_token_len=32768 and max_seq_len=34816
    Megatron: not a multiple of them: error at "50": prompts_per_step 50 is not a multiple of dp 4 x micro_batch_size 4 = 16. Use prompts_per_step 48 or 64.
      = verl: real_train_batch_size (50) must be divisible by minimal possible batch size (16)
      = suggestion: Change prompts_per_step to 48: rl: {prompts_per_step: [-50-]{+48+}, mini_batch_size: 16}
      = suggestion: Change prompts_per_step to 64: rl: {prompts_per_step: [-50-]{+64+}, mini_batch_size: 16}"
  `);
});
