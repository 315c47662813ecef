import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { hierarchicalCp } from './hierarchical-cp';

const said = (text: string) => report(hierarchicalCp, text);

test.each([
  ['levels that make cp', job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]')],
  ['no levels', job(16, 'cp: 8, hierarchical_context_parallel_sizes: []')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('levels that do not', () => {
  expect(said(job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 2]'))).toMatchInlineSnapshot(`
    "error[hierarchical-cp] at "[2, 2]"
    The sizes multiply to 2 x 2 = 4, but cp is 8. Use sizes with product 8, or cp 4.
    = Megatron-LM: an assertion without a message
    = at "8": cp is 8 here
    = suggestion: Change to [2, 4]
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [2, 2]}
      + parallelism: {cp: 8, hierarchical_context_parallel_sizes: [2, 4]}
    = suggestion: Remove \`hierarchical_context_parallel_sizes\`
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [2, 2]}
      + parallelism: {cp: 8}
    = suggestion: Change cp to 4
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [2, 2]}
      + parallelism: {cp: 4, hierarchical_context_parallel_sizes: [2, 2]}"
  `);
});

test('one level', () => {
  expect(said(job(16, 'cp: 8, hierarchical_context_parallel_sizes: [4]'))).toMatchInlineSnapshot(`
    "error[hierarchical-cp] at "[4]"
    The sizes multiply to 4, but cp is 8. Use sizes with product 8, or cp 4.
    = Megatron-LM: an assertion without a message
    = at "8": cp is 8 here
    = suggestion: Change to [8]
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [4]}
      + parallelism: {cp: 8, hierarchical_context_parallel_sizes: [8]}
    = suggestion: Remove \`hierarchical_context_parallel_sizes\`
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [4]}
      + parallelism: {cp: 8}
    = suggestion: Change cp to 4
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [4]}
      + parallelism: {cp: 4, hierarchical_context_parallel_sizes: [4]}"
  `);
});

test('levels that no last one completes', () => {
  expect(said(job(16, 'cp: 8, hierarchical_context_parallel_sizes: [3, 2]'))).toMatchInlineSnapshot(`
    "error[hierarchical-cp] at "[3, 2]"
    The sizes multiply to 3 x 2 = 6, but cp is 8. Use sizes with product 8, or cp 6.
    = Megatron-LM: an assertion without a message
    = at "8": cp is 8 here
    = suggestion: Remove \`hierarchical_context_parallel_sizes\`
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [3, 2]}
      + parallelism: {cp: 8}"
  `);
});

test('more levels than any cp has', () => {
  expect(
    said(job(16, `cp: 8, hierarchical_context_parallel_sizes: [${Array(33).fill(1).join(', ')}]`)),
  ).toMatchInlineSnapshot(`
    "error[hierarchical-cp] at "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"
    33 levels are more than any cp can be cut into. Leave out those of 1.
    = at "8": cp is 8 here
    = suggestion: Remove \`hierarchical_context_parallel_sizes\`
      - parallelism: {cp: 8, hierarchical_context_parallel_sizes: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}
      + parallelism: {cp: 8}"
  `);
});

test('an unusable level has one diagnostic', () => {
  expect(said(job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, x]'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "x"
    \`parallelism.hierarchical_context_parallel_sizes[1]\` must be a whole number, not \`x\`."
  `);
});
