import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { notPositive } from './not-positive';

test('not-positive', () => {
  expect(
    reports(notPositive, {
      'a degree of 0': job(8, 'tp: 0'),
      'a negative offset': 'layout: 1\nworld_size: 8\nmodules:\n  language: {rank_offset: -4, num_ranks: 8}\n',
    }),
  ).toMatchInlineSnapshot(`
    "a degree of 0: error at "0": \`parallelism.tp\` is 0, but must be at least 1.
      = suggestion: Change tp to 1: parallelism: {tp: [-0-]{+1+}}
    a negative offset: error at "-4": \`modules.language.rank_offset\` is -4, but must be 0 or more.
      = Megatron-LM: rank_offset must be non-negative, got -4
      = suggestion: Change rank_offset to 0: language: {rank_offset: [--4-]{+0+}, num_ranks: 8}"
  `);
});
