import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { sequenceDivisible } from './sequence-divisible';

const said = (text: string) => report(sequenceDivisible, text);
const sequence = (keys: string) => `sequence: {${keys}}`;

test.each([
  ['two chunks for each rank', job(8, 'cp: 4', sequence('seq_length: 8192'))],
  ['a packed sequence', job(8, 'cp: 4', sequence('seq_length: 100, qkv_format: thd'))],
  ['tp without sequence parallelism', job(8, 'tp: 4', sequence('seq_length: 101'))],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('context parallelism', () => {
  expect(said(job(8, 'cp: 4', sequence('seq_length: 100')))).toMatchInlineSnapshot(`
    "error[sequence-divisible] at "100"
    seq_length 100 is not a multiple of 2 x cp 4 = 8. Use 96 or 104.
    = Megatron-LM: Sequence length should be divisible by 8 for Sequence/Context parallelism
    = at "4": cp is 4 here
    = suggestion: Change seq_length to 96
      - sequence: {seq_length: 100}
      + sequence: {seq_length: 96}
    = suggestion: Change seq_length to 104
      - sequence: {seq_length: 100}
      + sequence: {seq_length: 104}"
  `);
});

test('sequence parallelism', () => {
  expect(said(job(8, 'tp: 4', sequence('seq_length: 101, sequence_parallel: true')))).toMatchInlineSnapshot(`
    "error[sequence-divisible] at "101"
    seq_length 101 is not a multiple of tp 4. Use 100 or 104.
    = Megatron-LM: Sequence length should be divisible by 4 for Sequence/Context parallelism
    = at "4": tp is 4 here
    = suggestion: Change seq_length to 100
      - sequence: {seq_length: 101, sequence_parallel: true}
      + sequence: {seq_length: 100, sequence_parallel: true}
    = suggestion: Change seq_length to 104
      - sequence: {seq_length: 101, sequence_parallel: true}
      + sequence: {seq_length: 104, sequence_parallel: true}"
  `);
});

test('both', () => {
  expect(said(job(8, 'tp: 2, cp: 4', sequence('seq_length: 24, sequence_parallel: true')))).toMatchInlineSnapshot(`
    "error[sequence-divisible] at "24"
    seq_length 24 is not a multiple of 2 x cp 4 x tp 2 = 16. Use 16 or 32.
    = Megatron-LM: Sequence length should be divisible by 16 for Sequence/Context parallelism
    = at "4": cp is 4 here
    = at "2": tp is 2 here
    = suggestion: Change seq_length to 16
      - sequence: {seq_length: 24, sequence_parallel: true}
      + sequence: {seq_length: 16, sequence_parallel: true}
    = suggestion: Change seq_length to 32
      - sequence: {seq_length: 24, sequence_parallel: true}
      + sequence: {seq_length: 32, sequence_parallel: true}"
  `);
});

test('the training script compares the length with cp only', () => {
  const text = scriptJob(16, 'tp: 2, cp: 4', { sequence: 'seq_length: 24, sequence_parallel: true' });
  expect(said(text)).toMatchInlineSnapshot(`
    "warning[sequence-divisible] at "24"
    seq_length 24 is not a multiple of 2 x cp 4 x tp 2 = 16. Use 16 or 32.
    = at "4": cp is 4 here
    = at "2": tp is 2 here
    = suggestion: Change seq_length to 16
      - sequence: {seq_length: 24, sequence_parallel: true}
      + sequence: {seq_length: 16, sequence_parallel: true}
    = suggestion: Change seq_length to 32
      - sequence: {seq_length: 24, sequence_parallel: true}
      + sequence: {seq_length: 32, sequence_parallel: true}"
  `);
});

test('the training script has words of its own', () => {
  expect(said(scriptJob(16, 'cp: 4', { sequence: 'seq_length: 100' }))).toMatchInlineSnapshot(`
    "error[sequence-divisible] at "100"
    seq_length 100 is not a multiple of 2 x cp 4 = 8. Use 96 or 104.
    = Megatron-LM: seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1.
    = at "4": cp is 4 here
    = suggestion: Change seq_length to 96
      - sequence: {seq_length: 100}
      + sequence: {seq_length: 96}
    = suggestion: Change seq_length to 104
      - sequence: {seq_length: 100}
      + sequence: {seq_length: 104}"
  `);
});

test('longer than max_seq_len', () => {
  expect(said(job(8, 'tp: 2', sequence('seq_length: 8192, max_seq_len: 4096')))).toMatchInlineSnapshot(`
    "error[sequence-divisible] at "4096"
    seq_length 8192 is more than max_seq_len 4096. Use max_seq_len 8192, or seq_length 4096.
    = Megatron-LM: max_position_embeddings (4096) must be greater than or equal to seq_length (8192).
    = at "8192": seq_length is 8192 here
    = suggestion: Change max_seq_len to 8192
      - sequence: {seq_length: 8192, max_seq_len: 4096}
      + sequence: {seq_length: 8192, max_seq_len: 8192}
    = suggestion: Change seq_length to 4096
      - sequence: {seq_length: 8192, max_seq_len: 4096}
      + sequence: {seq_length: 4096, max_seq_len: 4096}"
  `);
});
