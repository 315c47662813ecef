import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { packedPadding } from './packed-padding';

test('packed-padding', () => {
  const said = reports(packedPadding, {
    'sequences of one length': job(8, 'cp: 4', 'sequence: {seq_length: 8192}'),
    'packed sequences that nothing splits': job(8, 'tp: 2', 'sequence: {seq_length: 8192, qkv_format: thd}'),
    'context parallelism': job(8, 'cp: 4', 'sequence: {seq_length: 8192, qkv_format: thd}'),
    'sequence parallelism': job(8, 'tp: 4', 'sequence: {qkv_format: thd, sequence_parallel: true}'),
    'both, of a multimodal partition': job(8, 'tp: 2, cp: 4', 'sequence: {qkv_format: thd, sequence_parallel: true}'),
    'both, of a GPT model': scriptJob(8, 'tp: 2, cp: 4', {
      sequence: 'seq_length: 64, variable_seq_lengths: true, sequence_parallel: true',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "context parallelism: information at "thd": Each sequence is padded to a multiple of 2 x cp 4 = 8.
      = at "4": cp is 4 here
    sequence parallelism: information at "thd": Each sequence is padded to a multiple of tp 4.
      = at "4": tp is 4 here
    both, of a multimodal partition: information at "thd": Each sequence is padded to a multiple of 2 x cp 4 x tp 2 = 16.
      = at "4": cp is 4 here
      = at "2": tp is 2 here
    both, of a GPT model: information at "true": Each sequence is padded to a multiple of cp 4 x lcm(2, tp 2) = 8.
      = at "4": cp is 4 here
      = at "2": tp is 2 here"
  `);
});
