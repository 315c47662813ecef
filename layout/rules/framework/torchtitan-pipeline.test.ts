import { expect, test } from 'vitest';
import { of, reports } from '../testing';
import { torchtitanPipeline } from './torchtitan-pipeline';

test('torchtitan-pipeline', () => {
  const job = (degrees: string, layers: number) => `${of('torchtitan', 8, degrees)}model: {num_layers: ${layers}}\n`;
  const said = reports(torchtitanPipeline, {
    '1F1B': job('pp: 8', 32),
    '1F1B on more stages than layers': job('pp: 8', 5),
    'two stages a rank': job('pp: 8, pipeline_schedule: Interleaved1F1B', 14),
    'two stages a rank are more than the layers': job('pp: 8, pipeline_schedule: Interleaved1F1B', 13),
    'the layers of a stage make whole ranks': job(
      'pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: 3',
      22,
    ),
    'the layers of a stage leave a rank short': job(
      'pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: 5',
      24,
    ),
    'too many stages for 1F1B': job('pp: 4, num_layers_per_virtual_pipeline_stage: 3', 22),
    'too few stages for an interleaved schedule': job(
      'pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: 8',
      30,
    ),
    'fewer micro-batches than stages':
      'layout: 1\nworld_size: 8\nlaunch: {family: torchtitan}\nparallelism: {pp: 4, pipeline_schedule: 1F1B}\nmodel: {num_layers: 32}\nbatch: {pipeline_microbatches: 2}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "1F1B on more stages than layers: error at "8": 8 pipeline stages are more than 5 layers with embedding and output. Use fewer stages.
      = torchtitan: Number of stages (8) cannot be greater than effective layers (7)
      = at "5": num_layers is 5 here
      = at "8": pp is 8 here
    two stages a rank are more than the layers: error at "8": 16 pipeline stages are more than 13 layers with embedding and output. Use fewer stages.
      = torchtitan: Number of stages (16) cannot be greater than effective layers (15)
      = at "13": num_layers is 13 here
      = at "8": pp is 8 here
    the layers of a stage leave a rank short: error at "5": (24 layers + 2 for embedding and output) / 5 a stage = 6 stages, which pp 4 does not divide.
      = torchtitan: Number of virtual stages (6) must be divisible by pipeline parallel size (4). Model has 24 layers with pipeline_parallel_layers_per_stage=5. Please adjust pipeline_parallel_layers_per_stage to a value that results in a number of stages divisible by 4.
      = at "24": num_layers is 24 here
      = at "4": pp is 4 here
    too many stages for 1F1B: error at "3": (22 layers + 2 for embedding and output) / 3 a stage = 8 stages, 2 a rank, but the schedule has 1.
      = torchtitan: Single stage schedule requires exactly 1 stage per rank, but got 2 stages per rank. Model has 22 layers with pipeline_parallel_layers_per_stage=3, resulting in num_virtual_stages=8 across 4 PP ranks. Please increase pipeline_parallel_layers_per_stage to 5 or higher to achieve 1 stage per rank.
      = at "22": num_layers is 22 here
      = at "4": pp is 4 here
      = suggestion: Change num_layers_per_virtual_pipeline_stage to 6: parallelism: {pp: 4, num_layers_per_virtual_pipeline_stage: [-3-]{+6+}}
    too few stages for an interleaved schedule: error at "8": (30 layers + 2 for embedding and output) / 8 a stage = 4 stages, 1 a rank, but the schedule needs at least 2.
      = torchtitan: Multi-stage schedule requires at least 2 stages per rank, but got 1 stages per rank. Model has 30 layers with pipeline_parallel_layers_per_stage=8, resulting in num_virtual_stages=4 across 4 PP ranks. Please decrease pipeline_parallel_layers_per_stage to achieve at least 2 stages per rank.
      = at "30": num_layers is 30 here
      = at "4": pp is 4 here
      = suggestion: Change num_layers_per_virtual_pipeline_stage to 4: parallelism: {pp: 4, pipeline_schedule: Interleaved1F1B, num_layers_per_virtual_pipeline_stage: [-8-]{+4+}}
    fewer micro-batches than stages: warning at "2": 2 micro-batches for 4 pipeline stages: stages stand idle for most of a step. Use pipeline_microbatches 4 or more.
      = torchtitan: Number of microbatches (2) is less than the total number of stages (4) which may result in a bubble in the pipeline.
      = at "32": num_layers is 32 here
      = at "4": pp is 4 here
      = suggestion: Change pipeline_microbatches to 4: batch: {pipeline_microbatches: [-2-]{+4+}}"
  `);
});
