import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { denseProduct } from './dense-product';

const said = (text: string) => report(denseProduct, text);

test('the derived dp may be written', () => {
  expect(said(job(16, 'tp: 4, dp: 4'))).toBe('');
});

test('one degree beside dp', () => {
  expect(said(job(16, 'tp: 4, dp: 2'))).toMatchInlineSnapshot(`
    "error[dense-product] at "2"
    dp is 2, but 16 ranks / tp 4 = 4. Write dp 4, or leave it out.
    = at "16": world_size is 16 here
    = at "4": tp is 4 here
    = suggestion: Change dp to 4
      - parallelism: {tp: 4, dp: 2}
      + parallelism: {tp: 4, dp: 4}
    = suggestion: Change world_size to 8
      - world_size: 16
      + world_size: 8"
  `);
});

test('several degrees beside dp', () => {
  expect(said(job(16, 'tp: 2, pp: 2, dp: 2'))).toMatchInlineSnapshot(`
    "error[dense-product] at "2"
    dp is 2, but 16 ranks / (tp 2 x pp 2) = 4. Write dp 4, or leave it out.
    = at "16": world_size is 16 here
    = at "2": tp is 2 here
    = at "2": pp is 2 here
    = suggestion: Change dp to 4
      - parallelism: {tp: 2, pp: 2, dp: 2}
      + parallelism: {tp: 2, pp: 2, dp: 4}
    = suggestion: Change world_size to 8
      - world_size: 16
      + world_size: 8"
  `);
});

test('no degree beside dp', () => {
  expect(said(job(16, 'dp: 2'))).toMatchInlineSnapshot(`
    "error[dense-product] at "2"
    dp is 2, but 16 ranks give 16. Write dp 16, or leave it out.
    = at "16": world_size is 16 here
    = suggestion: Change dp to 16
      - parallelism: {dp: 2}
      + parallelism: {dp: 16}
    = suggestion: Change world_size to 2
      - world_size: 16
      + world_size: 2"
  `);
});

test('a module with num_ranks and dp', () => {
  expect(said('layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, dp: 2}\n')).toMatchInlineSnapshot(`
    "error[dense-product] at "2"
    dp is 2, but 8 ranks / tp 2 = 4. Write dp 4, or leave it out.
    = at "8": num_ranks is 8 here
    = at "2": tp is 2 here
    = suggestion: Change dp to 4
      -   language: {num_ranks: 8, tp: 2, dp: 2}
      +   language: {num_ranks: 8, tp: 2, dp: 4}"
  `);
});

test('ranks that do not divide are reported alone', () => {
  expect(said(job(16, 'tp: 3, dp: 2')).split('\n')[0]).toBe('error[dense-factorization] at "3"');
});
