import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { batchSchedule } from './batch-schedule';

test('batch-schedule', () => {
  const said = reports(batchSchedule, {
    'two steps': job(8, 'tp: 1', 'batch: {step_batch_size_schedule: "0:8 64K:16"}'),
    'an entry without a colon': job(8, 'tp: 1', 'batch: {step_batch_size_schedule: x}'),
    'a threshold that is not 0': job(
      8,
      'tp: 1',
      'batch: {step_batch_size_schedule: "64:8"}',
      'sequence: {seq_length: 64}',
    ),
    'a threshold twice': job(
      8,
      'tp: 1',
      'batch: {step_batch_size_schedule: "0:8 64:8 100:9"}',
      'sequence: {seq_length: 64}',
    ),
    'beside a global batch': job(8, 'tp: 1', 'batch: {global_batch_size: 8, step_batch_size_schedule: "0:8"}'),
    'a ramp': job(8, 'tp: 1', 'batch: {rampup_batch_size: [8, 8, 1000]}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "an entry without a colon: error at "x": The schedule is refused: Invalid schedule entry "x". Expected format: "THRESHOLD:BATCH_SIZE". Write entries such as '0:8 64K:16'.
      = Megatron-LM: Invalid schedule entry "x". Expected format: "THRESHOLD:BATCH_SIZE"
      = suggestion: Remove step_batch_size_schedule: batch: {[-step_batch_size_schedule: x-]}
    a threshold that is not 0: error at "\\"64:8\\"": The schedule is refused: first schedule entry must have threshold 0, got 1. Write entries such as '0:8 64K:16'.
      = Megatron-LM: first schedule entry must have threshold 0, got 1
      = suggestion: Remove step_batch_size_schedule: batch: {[-step_batch_size_schedule: "64:8"-]}
    a threshold twice: error at "\\"0:8 64:8 100:9\\"": The schedule is refused: schedule thresholds must be strictly increasing, got 1 before 1. Write entries such as '0:8 64K:16'.
      = Megatron-LM: schedule thresholds must be strictly increasing, got 1 before 1
      = suggestion: Remove step_batch_size_schedule: batch: {[-step_batch_size_schedule: "0:8 64:8 100:9"-]}
    beside a global batch: error at "\\"0:8\\"": step_batch_size_schedule excludes global_batch_size. Remove one of them.
      = Megatron-LM: Cannot specify both --step-batch-size-schedule and --global-batch-size
      = suggestion: Remove global_batch_size: batch: {[-global_batch_size: 8, -]step_batch_size_schedule: "0:8"}
      = suggestion: Remove step_batch_size_schedule: batch: {global_batch_size: 8[-, step_batch_size_schedule: "0:8"-]}
    a ramp: warning at "[8, 8, 1000]": Megatron-LM reads rampup_batch_size and ignores it. Use step_batch_size_schedule.
      = suggestion: Remove rampup_batch_size: batch: {[-rampup_batch_size: [8, 8, 1000]-]}"
  `);
});
