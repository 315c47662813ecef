import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { numberTooLarge } from './number-too-large';

test('number-too-large', () => {
  const said = reports(numberTooLarge, {
    'a number that is not exact': job(8, `tp: ${'9'.repeat(20)}`),
    'a world beyond 32 bits': job(2 ** 32, 'tp: 2'),
    'a module beyond 32 bits': `layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: ${2 ** 32}}}\n`,
  });
  expect(said).toMatchInlineSnapshot(`
    "a number that is not exact: error at "99999999999999999999": 99999999999999999999 is larger than any number of ranks, layers or bytes.
    a world beyond 32 bits: error at "4294967296": 4,294,967,296 ranks are more than the 2^31 that a world can have.
    a module beyond 32 bits: error at "4294967296": 4,294,967,296 ranks are more than the 2^31 that a world can have."
  `);
});
