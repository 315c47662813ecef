import { z } from 'zod';
import { type Plain, whole } from '../outputParts';

/** What the log of a run tells of its speed and memory. Numbers that the log does not hold are null. */
export const measuredRunOutput = z.object({
  framework: z.enum(['megatron-lm', 'megatron-bridge', 'nemo', 'nemo-rl', 'torchtitan', 'nanotron', 'verl']),
  // of the steps that were reported
  steps: whole,
  first_step: whole.nullable(),
  last_step: whole.nullable(),
  // the first step also compiles and allocates
  step_time_s: z.number().nullable().describe('The median of the steps without the first.'),
  tokens_per_s: z.number().nullable().describe('Of all GPUs.'),
  tokens_per_s_per_gpu: z.number().nullable(),
  tflops_per_gpu: z.number().nullable().describe('Model TFLOP/s, as the framework counts them.'),
  global_batch_size: z.number().nullable().describe('Samples.'),
  sequence_length: z.number().nullable().describe('Tokens.'),
  // the largest that a rank has reported; the rank is null where the log does not tell it
  memory_bytes_peak: z.array(
    z.object({
      rank: whole.nullable(),
      allocated: z.number().nullable(),
      reserved: z.number().nullable(),
    }),
  ),
  // timers of Megatron-LM, phases of NeMo-RL or verl: seconds a step, the mean of all reports
  parts: z.array(
    z.object({
      name: z.string(),
      // of all ranks; equal where the log gives one number
      min_s: z.number(),
      max_s: z.number(),
      // as `--timing-log-option all` prints it; empty otherwise
      by_rank: z.record(z.string(), z.number()).describe('Seconds by rank.'),
    }),
  ),
  straggler_reports: whole,
  // whom `--log-straggler` has named the slowest, in how many reports, with the mean throughput of it and of the fastest
  stragglers: z.array(z.object({ rank: whole, reports: whole, tflops: z.number(), fastest_tflops: z.number() })),
});

/** What the log of a run tells of its speed and memory. */
export type MeasuredRun = Plain<z.infer<typeof measuredRunOutput>>;
