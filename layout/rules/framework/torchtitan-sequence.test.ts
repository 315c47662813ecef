import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { torchtitanSequence } from './torchtitan-sequence';

test('torchtitan-sequence', () => {
  const job = (ranks: number, degrees: string, length: number, more = '', micro = 1) =>
    `${of('torchtitan', ranks, degrees)}sequence: {seq_length: ${length}${more}}\nbatch: {micro_batch_size: ${micro}}\n`;
  const said = reports(torchtitanSequence, {
    'tp divides the length': job(4, 'tp: 4', 8192),
    'tp does not divide the length': job(4, 'tp: 4', 8190),
    'without sequence parallelism tp cuts no tokens': job(4, 'tp: 4', 8190, ', sequence_parallel: false'),
    'context parallelism cuts twice': job(4, 'cp: 4', 8196),
    both: job(8, 'cp: 2, tp: 2', 8196),
    'only the tokens of a micro-batch divide': job(4, 'tp: 4', 8190, '', 2),
    'a micro-batch that is not known': `${of('torchtitan', 4, 'tp: 4')}sequence: {seq_length: 8190}\n`,
    'one rank': job(1, 'tp: 1', 8191),
  });
  expect(said).toMatchInlineSnapshot(`
    "tp does not divide the length: warning at "8190": seq_length 8190 is not a multiple of tp 4. Use 8188 or 8192.
      = torchtitan: The number of tokens per pipeline microbatch (8190) must be divisible by 4 for the configured sequence/context parallelism.
      = at "4": tp is 4 here
      = suggestion: Change seq_length to 8188: sequence: {seq_length: [-8190-]{+8188+}}
      = suggestion: Change seq_length to 8192: sequence: {seq_length: [-8190-]{+8192+}}
    context parallelism cuts twice: warning at "8196": seq_length 8196 is not a multiple of 2 x cp 4 = 8. Use 8192 or 8200.
      = torchtitan: The number of tokens per pipeline microbatch (8196) must be divisible by 8 for the configured sequence/context parallelism.
      = at "4": cp is 4 here
      = suggestion: Change seq_length to 8192: sequence: {seq_length: [-8196-]{+8192+}}
      = suggestion: Change seq_length to 8200: sequence: {seq_length: [-8196-]{+8200+}}
    both: warning at "8196": seq_length 8196 is not a multiple of tp 2 x 2 x cp 2 = 8. Use 8192 or 8200.
      = torchtitan: The number of tokens per pipeline microbatch (8196) must be divisible by 8 for the configured sequence/context parallelism.
      = at "2": tp is 2 here
      = at "2": cp is 2 here
      = suggestion: Change seq_length to 8192: sequence: {seq_length: [-8196-]{+8192+}}
      = suggestion: Change seq_length to 8200: sequence: {seq_length: [-8196-]{+8200+}}
    only the tokens of a micro-batch divide: warning at "8190": seq_length 8190 is not a multiple of tp 4, only the 16380 tokens of a micro-batch are: versions of torchtitan that cut each sequence fail. Use 8188 or 8192.
      = at "4": tp is 4 here
      = at "2": micro_batch_size is 2 here
      = suggestion: Change seq_length to 8188: sequence: {seq_length: [-8190-]{+8188+}}
      = suggestion: Change seq_length to 8192: sequence: {seq_length: [-8190-]{+8192+}}
    a micro-batch that is not known: warning at "8190": seq_length 8190 is not a multiple of tp 4: versions of torchtitan that cut each sequence fail. Use 8188 or 8192.
      = at "4": tp is 4 here
      = suggestion: Change seq_length to 8188: sequence: {seq_length: [-8190-]{+8188+}}
      = suggestion: Change seq_length to 8192: sequence: {seq_length: [-8190-]{+8192+}}"
  `);
});
