import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { hierarchicalCp } from './hierarchical-cp';

test('hierarchical-cp', () => {
  const said = reports(hierarchicalCp, {
    'levels that make cp': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 4]'),
    'no levels': job(16, 'cp: 8, hierarchical_context_parallel_sizes: []'),
    'levels that do not': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, 2]'),
    'one level': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [4]'),
    'levels that no last one completes': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [3, 2]'),
    'more levels than any cp has': job(
      16,
      `cp: 8, hierarchical_context_parallel_sizes: [${Array(33).fill(1).join(', ')}]`,
    ),
    'an unusable level has one diagnostic': job(16, 'cp: 8, hierarchical_context_parallel_sizes: [2, x]'),
  });
  expect(said).toMatchInlineSnapshot(`
    "levels that do not: error at "[2, 2]": The sizes multiply to 2 x 2 = 4, but cp is 8. Use sizes with product 8, or cp 4.
      = Megatron-LM: an assertion without a message
      = at "8": cp is 8 here
      = suggestion: Change to [2, 4]: parallelism: {cp: 8, hierarchical_context_parallel_sizes: [-[2, 2]-]{+[2, 4]+}}
      = suggestion: Remove hierarchical_context_parallel_sizes: parallelism: {cp: 8[-, hierarchical_context_parallel_sizes: [2, 2]-]}
      = suggestion: Change cp to 4: parallelism: {cp: [-8-]{+4+}, hierarchical_context_parallel_sizes: [2, 2]}
    one level: error at "[4]": The sizes multiply to 4, but cp is 8. Use sizes with product 8, or cp 4.
      = Megatron-LM: an assertion without a message
      = at "8": cp is 8 here
      = suggestion: Change to [8]: parallelism: {cp: 8, hierarchical_context_parallel_sizes: [-[4]-]{+[8]+}}
      = suggestion: Remove hierarchical_context_parallel_sizes: parallelism: {cp: 8[-, hierarchical_context_parallel_sizes: [4]-]}
      = suggestion: Change cp to 4: parallelism: {cp: [-8-]{+4+}, hierarchical_context_parallel_sizes: [4]}
    levels that no last one completes: error at "[3, 2]": The sizes multiply to 3 x 2 = 6, but cp is 8. Use sizes with product 8, or cp 6.
      = Megatron-LM: an assertion without a message
      = at "8": cp is 8 here
      = suggestion: Remove hierarchical_context_parallel_sizes: parallelism: {cp: 8[-, hierarchical_context_parallel_sizes: [3, 2]-]}
    more levels than any cp has: error at "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]": 33 levels are more than any cp can be cut into. Leave out those of 1.
      = at "8": cp is 8 here
      = suggestion: Remove hierarchical_context_parallel_sizes: parallelism: {cp: 8[-, hierarchical_context_parallel_sizes: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]-]}
    an unusable level has one diagnostic: error[wrong-type] at "x": parallelism.hierarchical_context_parallel_sizes[1] must be a whole number, not 'x'."
  `);
});
