import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { numberTooLarge } from './number-too-large';

const said = (text: string) => report(numberTooLarge, text);

test('a number that is not exact', () => {
  expect(said(job(8, `tp: ${'9'.repeat(20)}`))).toMatchInlineSnapshot(`
    "error[number-too-large] at "99999999999999999999"
    99999999999999999999 is larger than any number of ranks, layers or bytes."
  `);
});

test('a world beyond 32 bits', () => {
  expect(said(job(2 ** 32, 'tp: 2'))).toMatchInlineSnapshot(`
    "error[number-too-large] at "4294967296"
    4,294,967,296 ranks are more than the 2^31 that a world can have."
  `);
});

test('a module beyond 32 bits', () => {
  expect(said(`layout: 1\nworld_size: 8\nmodules: {language: {num_ranks: ${2 ** 32}}}\n`)).toMatchInlineSnapshot(`
    "error[number-too-large] at "4294967296"
    4,294,967,296 ranks are more than the 2^31 that a world can have."
  `);
});
