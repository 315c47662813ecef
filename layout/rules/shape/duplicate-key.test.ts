import { expect, test } from 'vitest';
import { reports } from '../testing';
import { duplicateKey } from './duplicate-key';

test('duplicate-key', () => {
  const said = reports(duplicateKey, {
    'a degree twice': 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 2\n  tp: 4\n',
    'a module twice': 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8}\n  language: {num_ranks: 4}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a degree twice: error at "tp": 'tp' is written twice in this map. Remove one.
      = at "tp": the first one
      = suggestion: Remove the second 'tp': [-  tp: 4⏎-]
      = suggestion: Remove the first 'tp': [-  tp: 2⏎-]  tp: 4
    a module twice: error at "language": 'language' is written twice in this map. Remove one.
      = at "language": the first one
      = suggestion: Remove the second 'language': [-  language: {num_ranks: 4}⏎-]"
  `);
});
