import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { dynamicCp } from './dynamic-cp';

const said = (text: string) => report(dynamicCp, text);

test.each([
  ['hybrid on 8 ranks', job(8, 'hybrid_context_parallel: true')],
  ['dynamic with a pipeline', job(8, 'pp: 4, dynamic_context_parallel: true')],
  ['off', job(7, 'hybrid_context_parallel: false')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('hybrid with a pipeline', () => {
  expect(said(job(8, 'pp: 2, hybrid_context_parallel: true'))).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    hybrid_context_parallel excludes a pipeline. Use pp 1.
    = Megatron-LM: Hybrid context parallelism not supported with pipeline parallelism
    = suggestion: Remove \`hybrid_context_parallel\`
      - parallelism: {pp: 2, hybrid_context_parallel: true}
      + parallelism: {pp: 2}"
  `);
});

test('an odd number of ranks', () => {
  expect(said(job(7, 'hybrid_context_parallel: true'))).toMatchInlineSnapshot(`
    "error[dynamic-cp] at "true"
    hybrid_context_parallel needs an even number of data- and context-parallel ranks; dp x cp is 7. Use another world or tp.
    = Megatron-LM: Hybrid context parallel requires an even number of ranks
    = suggestion: Remove \`hybrid_context_parallel\`
      - parallelism: {hybrid_context_parallel: true}
      + parallelism: {}"
  `);
});

test('a number of ranks that is no power of two', () => {
  expect(said(job(12, 'hybrid_context_parallel: true'))).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    dp x cp 12 is no power of two. Use a world that makes it one."
  `);
});

test('buffers that are too short', () => {
  expect(
    said(job(8, 'dynamic_context_parallel: true', 'sequence: {seq_length: 64, max_seqlen_per_dp_cp_rank: 7}')),
  ).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    The buffers of 8 ranks hold 56 tokens, fewer than seq_length 64. Use a larger max_seqlen_per_dp_cp_rank.
    = Megatron-LM: Packed sequence buffer size (56) must be >= single sequence max length (64)
    = suggestion: Remove \`dynamic_context_parallel\`
      - parallelism: {dynamic_context_parallel: true}
      + parallelism: {}"
  `);
});

test('without the loss a token', () => {
  expect(
    said(job(8, 'hybrid_context_parallel: true', 'sequence: {calculate_per_token_loss: false}')),
  ).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    hybrid_context_parallel needs calculate_per_token_loss. Write \`calculate_per_token_loss: true\` under sequence.
    = Megatron-LM: Hybrid context parallelism must be used with --calculate-per-token-loss
    = suggestion: Remove \`hybrid_context_parallel\`
      - parallelism: {hybrid_context_parallel: true}
      + parallelism: {}"
  `);
});

test('with Megatron-FSDP', () => {
  expect(said(job(8, 'dynamic_context_parallel: true', 'fsdp: {enabled: true}'))).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    dynamic_context_parallel excludes Megatron-FSDP. Use one of them.
    = Megatron-LM: Dynamic context parallelism not supported with Megatron FSDP
    = suggestion: Remove \`dynamic_context_parallel\`
      - parallelism: {dynamic_context_parallel: true}
      + parallelism: {}"
  `);
});

test('both names', () => {
  expect(said(job(8, 'dynamic_context_parallel: true, hybrid_context_parallel: true'))).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    hybrid_context_parallel is the former name of dynamic_context_parallel. Use one of them.
    = Megatron-LM: Cannot set both hybrid_context_parallel and dynamic_context_parallel. Please use dynamic_context_parallel only.
    = suggestion: Remove \`dynamic_context_parallel\`
      - parallelism: {dynamic_context_parallel: true, hybrid_context_parallel: true}
      + parallelism: {hybrid_context_parallel: true}"
  `);
});

test('a smallest group above all ranks', () => {
  expect(said(job(8, 'dynamic_context_parallel: true, min_dynamic_context_parallel_size: 16'))).toMatchInlineSnapshot(`
    "warning[dynamic-cp] at "true"
    min_dynamic_context_parallel_size 16 is above dp x cp 8. Use 8 or less.
    = Megatron-LM: min_dynamic_context_parallel_size (16) must be <= dp_size * cp_size (8)
    = suggestion: Remove \`dynamic_context_parallel\`
      - parallelism: {dynamic_context_parallel: true, min_dynamic_context_parallel_size: 16}
      + parallelism: {min_dynamic_context_parallel_size: 16}"
  `);
});
