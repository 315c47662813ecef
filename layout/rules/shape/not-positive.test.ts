import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { notPositive } from './not-positive';

const said = (text: string) => report(notPositive, text);

test('a degree of 0', () => {
  expect(said(job(8, 'tp: 0'))).toMatchInlineSnapshot(`
    "error[not-positive] at "0"
    \`parallelism.tp\` is 0, but must be at least 1.
    = suggestion: Change tp to 1
      - parallelism: {tp: 0}
      + parallelism: {tp: 1}"
  `);
});

test('a negative offset', () => {
  expect(
    said('layout: 1\nworld_size: 8\nmodules:\n  language: {rank_offset: -4, num_ranks: 8}\n'),
  ).toMatchInlineSnapshot(`
    "error[not-positive] at "-4"
    \`modules.language.rank_offset\` is -4, but must be 0 or more.
    = Megatron-LM: rank_offset must be non-negative, got -4
    = suggestion: Change rank_offset to 0
      -   language: {rank_offset: -4, num_ranks: 8}
      +   language: {rank_offset: 0, num_ranks: 8}"
  `);
});
