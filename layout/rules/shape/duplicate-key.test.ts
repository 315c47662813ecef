import { expect, test } from 'vitest';
import { report } from '../testing';
import { duplicateKey } from './duplicate-key';

const said = (text: string) => report(duplicateKey, text);

test('a degree twice', () => {
  expect(said('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  tp: 4\n')).toMatchInlineSnapshot(`
    "error[duplicate-key] at "tp"
    \`tp\` is written twice in this map. Remove one.
    = at "tp": the first one
    = suggestion: Remove the second \`tp\`
      -   tp: 4
    = suggestion: Remove the first \`tp\`
      -   tp: 2"
  `);
});

test('a module twice', () => {
  expect(
    said('layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8}\n  language: {num_ranks: 4}\n'),
  ).toMatchInlineSnapshot(`
    "error[duplicate-key] at "language"
    \`language\` is written twice in this map. Remove one.
    = at "language": the first one
    = suggestion: Remove the second \`language\`
      -   language: {num_ranks: 4}"
  `);
});
