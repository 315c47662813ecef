import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { virtualPipelineWindow } from './virtual-pipeline-window';

const said = (text: string) => report(virtualPipelineWindow, text);
const batch = (global: number) => `batch: {micro_batch_size: 1, global_batch_size: ${global}}`;
const grouped = (size: number) => `pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: ${size}`;

test.each([
  ['as many micro-batches as stages', job(8, 'pp: 4, vpp: 2', batch(8))],
  ['whole groups', job(8, 'pp: 4, vpp: 2', batch(32))],
  ['a last group as large as the pipeline', job(8, grouped(6), batch(20))],
  ['no interleaving', job(8, 'pp: 4', batch(4))],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('fewer micro-batches than stages', () => {
  expect(said(job(8, 'pp: 4, vpp: 2', batch(4)))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-window] at "4"
    vpp with pp 4 needs at least 4 micro-batches a step; this batch gives 2. Use global_batch_size 8.
    = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=2]
    = at "2": vpp is 2 here
    = suggestion: Change global_batch_size to 8
      - batch: {micro_batch_size: 1, global_batch_size: 4}
      + batch: {micro_batch_size: 1, global_batch_size: 8}"
  `);
});

test('a group smaller than the pipeline', () => {
  expect(said(job(8, grouped(2), batch(32)))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-window] at "2"
    Groups of 2 micro-batches are smaller than pp 4. Use microbatch_group_size_per_vp_stage 4.
    = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=16]
    = at "2": vpp is 2 here
    = suggestion: Change microbatch_group_size_per_vp_stage to 4
      - parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: 2}
      + parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: 4}"
  `);
});

test('a group larger than the step', () => {
  expect(said(job(8, grouped(8), batch(8)))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-window] at "8"
    A group is 8 micro-batches, but this batch gives 4 a step. Use microbatch_group_size_per_vp_stage 4, or global_batch_size 16.
    = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=4]
    = at "2": vpp is 2 here
    = suggestion: Change microbatch_group_size_per_vp_stage to 4
      - parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: 8}
      + parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: 4}
    = suggestion: Change global_batch_size to 16
      - batch: {micro_batch_size: 1, global_batch_size: 8}
      + batch: {micro_batch_size: 1, global_batch_size: 16}"
  `);
});

test('a last group smaller than the pipeline', () => {
  expect(said(job(8, 'pp: 4, vpp: 2', batch(12)))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-window] at "12"
    6 micro-batches in groups of 4 leave a last group of 2, smaller than pp 4. Use global_batch_size 8 or 16.
    = Megatron-LM: The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is 2. Otherwise, it introduces dependency bubbles in the pipeline and reduces throughput.
    = at "2": vpp is 2 here
    = suggestion: Change global_batch_size to 8
      - batch: {micro_batch_size: 1, global_batch_size: 12}
      + batch: {micro_batch_size: 1, global_batch_size: 8}
    = suggestion: Change global_batch_size to 16
      - batch: {micro_batch_size: 1, global_batch_size: 12}
      + batch: {micro_batch_size: 1, global_batch_size: 16}"
  `);
});

test('a written group leaves a small last group', () => {
  expect(said(job(8, grouped(5), batch(14)))).toMatchInlineSnapshot(`
    "error[virtual-pipeline-window] at "5"
    7 micro-batches in groups of 5 leave a last group of 2, smaller than pp 4. Use microbatch_group_size_per_vp_stage 4, or global_batch_size 10 or 20.
    = Megatron-LM: The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is 2. Otherwise, it introduces dependency bubbles in the pipeline and reduces throughput.
    = at "2": vpp is 2 here
    = suggestion: Change global_batch_size to 10
      - batch: {micro_batch_size: 1, global_batch_size: 14}
      + batch: {micro_batch_size: 1, global_batch_size: 10}
    = suggestion: Change global_batch_size to 20
      - batch: {micro_batch_size: 1, global_batch_size: 14}
      + batch: {micro_batch_size: 1, global_batch_size: 20}"
  `);
});

test('the default batch of the training script is one micro-batch a replica', () => {
  expect(said(scriptJob(8, 'pp: 2, vpp: 2'))).toMatchInlineSnapshot(`
    "warning[virtual-pipeline-window] at "batch"
    vpp with pp 2 needs at least 2 micro-batches a step; this batch gives 1. Use global_batch_size 8.
    = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=2 , M=1]
    = at "2": vpp is 2 here
    = suggestion: Insert \`global_batch_size: 8\`
      - batch: {micro_batch_size: 1}
      + batch: {micro_batch_size: 1, global_batch_size: 8}"
  `);
});
