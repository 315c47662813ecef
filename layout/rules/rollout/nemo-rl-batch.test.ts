import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { nemoRlBatch } from './nemo-rl-batch';

test('nemo-rl-batch', () => {
  const of = (degrees: string, ...rest: readonly string[]) => job(16, degrees, 'launch: {family: nemo-rl}', ...rest);
  const samples = 'rl: {prompts_per_step: 32, samples_per_prompt: 16}';
  const said = reports(nemoRlBatch, {
    'one batch a step': of('tp: 2', samples, 'batch: {global_batch_size: 512}'),
    'no whole batches a step': of('tp: 2', samples, 'batch: {global_batch_size: 384}'),
    'no whole shards': of('tp: 2', 'batch: {global_batch_size: 20}'),
    'a critic that takes other batches': of(
      'tp: 2',
      samples,
      'batch: {global_batch_size: 512}',
      'phases: {critic: {engine: fsdp, global_batch_size: 300}}',
    ),
    'a critic with more data-parallel ranks': of(
      'tp: 2',
      'batch: {global_batch_size: 24}',
      'phases: {critic: {global_batch_size: 24}}',
    ),
    'padding that fits': of('tp: 2, cp: 2', 'sequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 64}'),
    'padding that leaves no room for a second sequence': of(
      'tp: 2',
      'sequence: {seq_length: 4096, qkv_format: thd, sequence_parallel: true, pad_multiple: 4096}',
    ),
    'padding for context parallelism': of('cp: 4', 'sequence: {qkv_format: thd, pad_multiple: 4}'),
    'padding for both': of('tp: 4, cp: 2', 'sequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: 8}'),
    'sequences that are not packed': of('tp: 4, cp: 2', 'sequence: {sequence_parallel: true, pad_multiple: 8}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "no whole batches a step: error at "384": prompts_per_step 32 x samples_per_prompt 16 = 512 samples, not a multiple of global_batch_size 384. Use global_batch_size 512.
      = NeMo-RL: Total batch size (512) is not a multiple of batch_size (384)
      = at "32": prompts_per_step is 32 here
      = at "16": samples_per_prompt is 16 here
      = suggestion: Change global_batch_size to 512: batch: {global_batch_size: [-384-]{+512+}}
    no whole shards: error at "20": global_batch_size 20 does not divide among 8 data-parallel ranks. Use global_batch_size 16 or 24.
      = NeMo-RL: Batch size (20) is not a multiple of shards (8)
      = suggestion: Change global_batch_size to 16: batch: {global_batch_size: [-20-]{+16+}}
      = suggestion: Change global_batch_size to 24: batch: {global_batch_size: [-20-]{+24+}}
    a critic that takes other batches: error at "300": prompts_per_step 32 x samples_per_prompt 16 = 512 samples, not a multiple of global_batch_size 300 of the critic. Use global_batch_size 512.
      = NeMo-RL: Total batch size (512) is not a multiple of batch_size (300)
      = at "32": prompts_per_step is 32 here
      = at "16": samples_per_prompt is 16 here
      = suggestion: Change global_batch_size to 512: phases: {critic: {engine: fsdp, global_batch_size: [-300-]{+512+}}}
      error at "300": global_batch_size 300 does not divide among 16 data-parallel ranks of the critic. Use global_batch_size 288 or 304.
      = NeMo-RL: Batch size (300) is not a multiple of shards (16)
      = suggestion: Change global_batch_size to 304: phases: {critic: {engine: fsdp, global_batch_size: [-300-]{+304+}}}
      = suggestion: Change global_batch_size to 288: phases: {critic: {engine: fsdp, global_batch_size: [-300-]{+288+}}}
    a critic with more data-parallel ranks: error at "24": global_batch_size 24 does not divide among 16 data-parallel ranks of the critic. Use global_batch_size 16 or 32.
      = NeMo-RL: Batch size (24) is not a multiple of shards (16)
      = suggestion: Change global_batch_size to 16: phases: {critic: {global_batch_size: [-24-]{+16+}}}
      = suggestion: Change global_batch_size to 32: phases: {critic: {global_batch_size: [-24-]{+32+}}}
    padding that leaves no room for a second sequence: warning at "4096": Each packed sequence is padded to a multiple of 4096 of the 4096 tokens of a pack, which then holds one sequence alone. Use pad_multiple 2.
      = at "4096": seq_length is 4096 here
      = suggestion: Change pad_multiple to 2: sequence: {seq_length: 4096, qkv_format: thd, sequence_parallel: true, pad_multiple: [-4096-]{+2+}}
    padding for context parallelism: error at "4": Each packed sequence is padded to a multiple of 4, but 2 x cp 4 = 8 ranks and chunks share it. Use pad_multiple 8.
      = NeMo-RL: make_sequence_length_divisible_by (4) is not a multiple of minimum_pad_factor (8).
      Please set policy.make_sequence_length_divisible_by to a multiple of 8.
      = at "4": cp is 4 here
      = suggestion: Change pad_multiple to 8: sequence: {qkv_format: thd, pad_multiple: [-4-]{+8+}}
    padding for both: error at "8": Each packed sequence is padded to a multiple of 8, but 2 x cp 2 x tp 4 = 16 ranks and chunks share it. Use pad_multiple 16.
      = NeMo-RL: make_sequence_length_divisible_by (8) is not a multiple of minimum_pad_factor (16).
      Please set policy.make_sequence_length_divisible_by to a multiple of 16.
      = at "2": cp is 2 here
      = at "4": tp is 4 here
      = suggestion: Change pad_multiple to 16: sequence: {qkv_format: thd, sequence_parallel: true, pad_multiple: [-8-]{+16+}}"
  `);
});
