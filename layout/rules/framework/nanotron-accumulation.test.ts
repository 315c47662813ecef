import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { nanotronAccumulation } from './nanotron-accumulation';

test('nanotron-accumulation', () => {
  const job = (schedule: string, global: number) =>
    `${of('nanotron', 8, `pp: 4, dp: 2${schedule}`)}batch: {micro_batch_size: 1, global_batch_size: ${global}}\n`;
  const said = reports(nanotronAccumulation, {
    'as many micro-batches as stages less one': job(', pipeline_schedule: 1f1b', 6),
    fewer: job(', pipeline_schedule: 1f1b', 4),
    one: job(', pipeline_schedule: 1F1B', 2),
    'all forward, then all backward': job(', pipeline_schedule: afab', 2),
    "nanotron's default schedule": job('', 2),
  });
  expect(said).toMatchInlineSnapshot(`
    "fewer: error at "4": 2 micro-batches a step (batch_accumulation_per_replica): 1F1B with pp 4 needs at least pp - 1 = 3. Use global_batch_size 6 or more.
      = nanotron: Number of microbatches (2) must be at least PP_SIZE-1=3 when using the OneForwardOneBackwardPipelineEngine
      = at "4": pp is 4 here
      = suggestion: Change global_batch_size to 6: batch: {micro_batch_size: 1, global_batch_size: [-4-]{+6+}}
    one: error at "2": 1 micro-batch a step (batch_accumulation_per_replica): 1F1B with pp 4 needs at least pp - 1 = 3. Use global_batch_size 6 or more.
      = nanotron: Number of microbatches (1) must be at least PP_SIZE-1=3 when using the OneForwardOneBackwardPipelineEngine
      = at "4": pp is 4 here
      = suggestion: Change global_batch_size to 6: batch: {micro_batch_size: 1, global_batch_size: [-2-]{+6+}}"
  `);
});
