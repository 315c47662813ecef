import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { virtualPipelineWindow } from './virtual-pipeline-window';

const batch = (global: number) => `batch: {micro_batch_size: 1, global_batch_size: ${global}}`;
const grouped = (size: number) => `pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: ${size}`;

test('virtual-pipeline-window', () => {
  const said = reports(virtualPipelineWindow, {
    'as many micro-batches as stages': job(8, 'pp: 4, vpp: 2', batch(8)),
    'whole groups': job(8, 'pp: 4, vpp: 2', batch(32)),
    'a last group as large as the pipeline': job(8, grouped(6), batch(20)),
    'no interleaving': job(8, 'pp: 4', batch(4)),
    'fewer micro-batches than stages': job(8, 'pp: 4, vpp: 2', batch(4)),
    'a group smaller than the pipeline': job(8, grouped(2), batch(32)),
    'a group larger than the step': job(8, grouped(8), batch(8)),
    'a last group smaller than the pipeline': job(8, 'pp: 4, vpp: 2', batch(12)),
    'a written group leaves a small last group': job(8, grouped(5), batch(14)),
    'the default batch of the training script is one micro-batch a replica': scriptJob(8, 'pp: 2, vpp: 2'),
    'no batch helps a group smaller than the pipeline': scriptJob(8, grouped(2)),
  });
  expect(said).toMatchInlineSnapshot(`
    "fewer micro-batches than stages: error at "4": vpp with pp 4 needs at least 4 micro-batches a step; this batch gives 2. Use global_batch_size 8.
      = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=2]
      = at "2": vpp is 2 here
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-4-]{+8+}}
    a group smaller than the pipeline: error at "2": Groups of 2 micro-batches are smaller than pp 4. Use microbatch_group_size_per_vp_stage 4.
      = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=16]
      = at "2": vpp is 2 here
      = suggestion: Change microbatch_group_size_per_vp_stage to 4: parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: [-2-]{+4+}}
    a group larger than the step: error at "8": A group is 8 micro-batches, but this batch gives 4 a step. Use microbatch_group_size_per_vp_stage 4, or global_batch_size 16.
      = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=4]
      = at "2": vpp is 2 here
      = suggestion: Change microbatch_group_size_per_vp_stage to 4: parallelism: {pp: 4, vpp: 2, microbatch_group_size_per_vp_stage: [-8-]{+4+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: [-8-]{+16+}}
    a last group smaller than the pipeline: error at "12": 6 micro-batches in groups of 4 leave a last group of 2, smaller than pp 4. Use global_batch_size 8 or 16.
      = Megatron-LM: The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is 2. Otherwise, it introduces dependency bubbles in the pipeline and reduces throughput.
      = at "2": vpp is 2 here
      = suggestion: Change global_batch_size to 8: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+8+}}
      = suggestion: Change global_batch_size to 16: batch: {micro_batch_size: 1, global_batch_size: [-12-]{+16+}}
    a written group leaves a small last group: error at "5": 7 micro-batches in groups of 5 leave a last group of 2, smaller than pp 4. Use microbatch_group_size_per_vp_stage 4, or global_batch_size 10 or 20.
      = Megatron-LM: The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size, but it is 2. Otherwise, it introduces dependency bubbles in the pipeline and reduces throughput.
      = at "2": vpp is 2 here
      = suggestion: Change global_batch_size to 10: batch: {micro_batch_size: 1, global_batch_size: [-14-]{+10+}}
      = suggestion: Change global_batch_size to 20: batch: {micro_batch_size: 1, global_batch_size: [-14-]{+20+}}
    the default batch of the training script is one micro-batch a replica: warning at "batch": vpp with pp 2 needs at least 2 micro-batches a step; this batch gives 1. Use global_batch_size 8. Megatron-LM checks this when it runs the first step.
      = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=2 , M=1]
      = at "2": vpp is 2 here
      = suggestion: Insert global_batch_size: 8: batch: {micro_batch_size: 1{+, global_batch_size: 8+}}
    no batch helps a group smaller than the pipeline: error at "2": Groups of 2 micro-batches are smaller than pp 4. Use microbatch_group_size_per_vp_stage 4. Megatron-LM checks this when it runs the first step.
      = Megatron-LM: The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=4 , M=1]
      = at "2": vpp is 2 here"
  `);
});
