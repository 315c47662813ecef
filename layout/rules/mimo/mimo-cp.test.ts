import { expect, test } from 'vitest';
import { job, modules, reports } from '../testing';
import { mimoCp } from './mimo-cp';

test('mimo-cp', () => {
  const said = reports(mimoCp, {
    'cp of an encoder': modules(8, 'images: {num_ranks: 4, cp: 2}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    parallelism: job(8, 'cp: 2'),
    'the language model': modules(
      8,
      'images: {num_ranks: 4, tp: 2}',
      'language: {rank_offset: 4, num_ranks: 4, cp: 2}',
    ),
    'an error for the flags of examples/mimo, which give dp': modules(
      8,
      'images: {dp: 2, tp: 2}',
      'language: {rank_offset: 4, dp: 2, cp: 2}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "the language model: warning at "2": The training loop of examples/mimo runs with cp 1 only. Use cp 1, for instance with tp 2.
      = Megatron-LM: hetero MIMO training currently supports CP=1 only
      = suggestion: Change cp to 1: language: {rank_offset: 4, num_ranks: 4, cp: [-2-]{+1+}}
    an error for the flags of examples/mimo, which give dp: error at "2": The training loop of examples/mimo runs with cp 1 only. Use cp 1, for instance with tp 2.
      = Megatron-LM: hetero MIMO training currently supports CP=1 only"
  `);
});
