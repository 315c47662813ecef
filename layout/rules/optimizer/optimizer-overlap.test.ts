import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { optimizerOverlap } from './optimizer-overlap';

const said = (text: string) => report(optimizerOverlap, text);

test.each([
  [
    'with all that it needs',
    job(
      8,
      'tp: 2',
      'optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true}',
    ),
  ],
  [
    'with Megatron-FSDP',
    job(8, 'tp: 2', 'fsdp: {enabled: true}', 'optimizer: {overlap_grad_reduce: true, overlap_param_gather: true}'),
  ],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('without a distributed optimizer', () => {
  expect(said(job(8, 'tp: 2', 'optimizer: {overlap_param_gather: true}'))).toMatchInlineSnapshot(`
    "warning[optimizer-overlap] at "true"
    overlap_param_gather needs use_distributed_optimizer. Write \`use_distributed_optimizer: true\`.
    = Megatron-LM: --overlap-param-gather only supported with distributed optimizer, megatron fsdp, or dist_muon
    = suggestion: Switch on use_distributed_optimizer and overlap_grad_reduce
      - optimizer: {overlap_param_gather: true}
      + optimizer: {overlap_param_gather: true, use_distributed_optimizer: true, overlap_grad_reduce: true}
    = suggestion: Remove \`overlap_param_gather\`
      - optimizer: {overlap_param_gather: true}
      + optimizer: {}"
  `);
});

test('without the reduction', () => {
  expect(
    said(job(8, 'tp: 2', 'optimizer: {use_distributed_optimizer: true, overlap_param_gather: true}')),
  ).toMatchInlineSnapshot(`
    "error[optimizer-overlap] at "true"
    overlap_param_gather needs overlap_grad_reduce. Write \`overlap_grad_reduce: true\`.
    = Megatron-LM: Must use --overlap-param-gather with --overlap-grad-reduce
    = suggestion: Switch on overlap_grad_reduce
      - optimizer: {use_distributed_optimizer: true, overlap_param_gather: true}
      + optimizer: {use_distributed_optimizer: true, overlap_param_gather: true, overlap_grad_reduce: true}
    = suggestion: Remove \`overlap_param_gather\`
      - optimizer: {use_distributed_optimizer: true, overlap_param_gather: true}
      + optimizer: {use_distributed_optimizer: true}"
  `);
});

test('with the step and no interleaving', () => {
  expect(
    said(
      job(
        8,
        'pp: 2',
        'optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true, overlap_param_gather_with_optimizer_step: true}',
      ),
    ),
  ).toMatchInlineSnapshot(`
    "error[optimizer-overlap] at "true"
    overlap_param_gather_with_optimizer_step needs an interleaved pipeline. Write vpp.
    = Megatron-LM: --overlap-param-gather-with-optimizer-step only supported with interleaved pipeline parallelism
    = suggestion: Remove \`overlap_param_gather_with_optimizer_step\`
      - optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true, overlap_param_gather_with_optimizer_step: true}
      + optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true, overlap_param_gather: true}"
  `);
});
