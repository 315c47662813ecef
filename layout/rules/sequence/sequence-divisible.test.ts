import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { sequenceDivisible } from './sequence-divisible';

const sequence = (keys: string) => `sequence: {${keys}}`;

test('sequence-divisible', () => {
  const said = reports(sequenceDivisible, {
    'two chunks for each rank': job(8, 'cp: 4', sequence('seq_length: 8192')),
    'a packed sequence': job(8, 'cp: 4', sequence('seq_length: 100, qkv_format: thd')),
    'tp without sequence parallelism': job(8, 'tp: 4', sequence('seq_length: 101')),
    'context parallelism': job(8, 'cp: 4', sequence('seq_length: 100')),
    'sequence parallelism': job(8, 'tp: 4', sequence('seq_length: 101, sequence_parallel: true')),
    both: job(8, 'tp: 2, cp: 4', sequence('seq_length: 24, sequence_parallel: true')),
    'the training script compares the length with cp only': scriptJob(16, 'tp: 4, cp: 2', {
      sequence: 'seq_length: 12, sequence_parallel: true',
    }),
    'the training script with a tp that is odd': scriptJob(12, 'tp: 3, cp: 2', {
      model: 'num_layers: 8, hidden_size: 96, num_attention_heads: 6',
      sequence: 'seq_length: 18, sequence_parallel: true',
    }),
    'a longer sequence of the decoder': scriptJob(8, 'tp: 1', {
      sequence: 'seq_length: 64, max_seq_len: 64, decoder_seq_length: 128',
    }),
    'the training script has words of its own': scriptJob(16, 'cp: 4', { sequence: 'seq_length: 100' }),
    'longer than max_seq_len': job(8, 'tp: 2', sequence('seq_length: 8192, max_seq_len: 4096')),
  });
  expect(said).toMatchInlineSnapshot(`
    "context parallelism: error at "100": seq_length 100 is not a multiple of 2 x cp 4 = 8. Use 96 or 104.
      = Megatron-LM: Sequence length should be divisible by 8 for Sequence/Context parallelism
      = at "4": cp is 4 here
      = suggestion: Change seq_length to 96: sequence: {seq_length: [-100-]{+96+}}
      = suggestion: Change seq_length to 104: sequence: {seq_length: [-100-]{+104+}}
    sequence parallelism: error at "101": seq_length 101 is not a multiple of tp 4. Use 100 or 104.
      = Megatron-LM: Sequence length should be divisible by 4 for Sequence/Context parallelism
      = at "4": tp is 4 here
      = suggestion: Change seq_length to 100: sequence: {seq_length: [-101-]{+100+}, sequence_parallel: true}
      = suggestion: Change seq_length to 104: sequence: {seq_length: [-101-]{+104+}, sequence_parallel: true}
    both: error at "24": seq_length 24 is not a multiple of 2 x cp 4 x tp 2 = 16. Use 16 or 32.
      = Megatron-LM: Sequence length should be divisible by 16 for Sequence/Context parallelism
      = at "4": cp is 4 here
      = at "2": tp is 2 here
      = suggestion: Change seq_length to 16: sequence: {seq_length: [-24-]{+16+}, sequence_parallel: true}
      = suggestion: Change seq_length to 32: sequence: {seq_length: [-24-]{+32+}, sequence_parallel: true}
    the training script compares the length with cp only: warning at "12": seq_length 12 is not a multiple of cp 2 x lcm(2, tp 4) = 8: the first step fails when it scatters the embeddings. Use 8 or 16.
      = Megatron-LM: First dimension of the tensor should be divisible by tensor parallel size
      = at "2": cp is 2 here
      = at "4": tp is 4 here
      = suggestion: Change seq_length to 8: sequence: {seq_length: [-12-]{+8+}, sequence_parallel: true}
      = suggestion: Change seq_length to 16: sequence: {seq_length: [-12-]{+16+}, sequence_parallel: true}
    the training script with a tp that is odd: error at "18": seq_length 18 is not a multiple of cp 2 x lcm(2, tp 3) = 12. Use 12 or 24.
      = Megatron-LM: seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.
      = at "2": cp is 2 here
      = at "3": tp is 3 here
      = suggestion: Change seq_length to 12: sequence: {seq_length: [-18-]{+12+}, sequence_parallel: true}
      = suggestion: Change seq_length to 24: sequence: {seq_length: [-18-]{+24+}, sequence_parallel: true}
    a longer sequence of the decoder: error at "128": decoder_seq_length 128 is more than max_seq_len 64. Use max_seq_len 128, or decoder_seq_length 64.
      = Megatron-LM: an assertion without a message
      = at "64": max_seq_len is 64 here
      = suggestion: Change max_seq_len to 128: sequence: {seq_length: 64, max_seq_len: [-64-]{+128+}, decoder_seq_length: 128}
      = suggestion: Change decoder_seq_length to 64: sequence: {seq_length: 64, max_seq_len: 64, decoder_seq_length: [-128-]{+64+}}
    the training script has words of its own: error at "100": seq_length 100 is not a multiple of 2 x cp 4 = 8. Use 96 or 104.
      = Megatron-LM: seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.
      = at "4": cp is 4 here
      = suggestion: Change seq_length to 96: sequence: {seq_length: [-100-]{+96+}}
      = suggestion: Change seq_length to 104: sequence: {seq_length: [-100-]{+104+}}
    longer than max_seq_len: warning at "4096": seq_length 8192 is more than max_seq_len 4096. Use max_seq_len 8192, or seq_length 4096.
      = Megatron-LM: max_position_embeddings (4096) must be greater than or equal to seq_length (8192).
      = at "8192": seq_length is 8192 here
      = suggestion: Change max_seq_len to 8192: sequence: {seq_length: 8192, max_seq_len: [-4096-]{+8192+}}
      = suggestion: Change seq_length to 4096: sequence: {seq_length: [-8192-]{+4096+}, max_seq_len: 4096}"
  `);
});
