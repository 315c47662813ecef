import { expect, test } from 'vitest';
import { modules, report } from '../testing';
import { colocatedBridge } from './colocated-bridge';

const said = (text: string) => report(colocatedBridge, text);

test.each([
  ['dp sizes that divide one another', modules(6, 'images: {num_ranks: 6}', 'language: {num_ranks: 6, tp: 2}')],
  [
    'modules that stand apart may have a pipeline',
    modules(8, 'images: {num_ranks: 4, tp: 2}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2, pp: 2}'),
  ],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('dp sizes that do not divide one another', () => {
  expect(said(modules(6, 'images: {num_ranks: 6, tp: 3}', 'language: {num_ranks: 6, tp: 2}'))).toMatchInlineSnapshot(`
    "error[colocated-bridge] at "3"
    \`images\` has dp 2 and \`language\` dp 3; one must divide the other. Use tp 1, 2 or 6 for \`images\`.
    = Megatron-LM: DP sizes must be evenly divisible: src_dp=2, dest_dp=3
    = at "language": \`language\` has dp 3
    = suggestion: Change tp to 2
      -   images: {num_ranks: 6, tp: 3}
      +   images: {num_ranks: 6, tp: 2}
    = suggestion: Change tp to 1
      -   images: {num_ranks: 6, tp: 3}
      +   images: {num_ranks: 6, tp: 1}
    = suggestion: Change tp to 6
      -   images: {num_ranks: 6, tp: 3}
      +   images: {num_ranks: 6, tp: 6}"
  `);
});

test('an encoder without tp', () => {
  expect(
    said(
      modules(6, 'images: {num_ranks: 6, cp: 1}', 'language: {num_ranks: 6, tp: 6}', 'audio: {num_ranks: 6, pp: 2}'),
    ),
  ).toMatchInlineSnapshot(`
    "error[colocated-bridge] at "2"
    \`audio\` shares its ranks with other modules, so it cannot have pp 2. Use pp 1, or give each module its own ranks.
    = Megatron-LM: src PP must be 1 for ColocatedBridgeCommunicator, got 2
    = suggestion: Change pp to 1
      -   audio: {num_ranks: 6, pp: 2}
      +   audio: {num_ranks: 6, pp: 1}"
  `);
});

test('a pipeline and context parallelism', () => {
  expect(
    said(modules(8, 'images: {num_ranks: 8, tp: 2, cp: 2}', 'language: {num_ranks: 8, tp: 2, pp: 2}')),
  ).toMatchInlineSnapshot(`
    "error[colocated-bridge] at "2"
    \`images\` shares its ranks with other modules, so it cannot have cp 2. Use cp 1, or give each module its own ranks.
    = Megatron-LM: src CP must be 1 for ColocatedBridgeCommunicator, got 2
    = suggestion: Change cp to 1
      -   images: {num_ranks: 8, tp: 2, cp: 2}
      +   images: {num_ranks: 8, tp: 2, cp: 1}
    error[colocated-bridge] at "2"
    \`language\` shares its ranks with other modules, so it cannot have pp 2. Use pp 1, or give each module its own ranks.
    = Megatron-LM: dest PP must be 1 for ColocatedBridgeCommunicator, got 2
    = suggestion: Change pp to 1
      -   language: {num_ranks: 8, tp: 2, pp: 2}
      +   language: {num_ranks: 8, tp: 2, pp: 1}"
  `);
});
