import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { batchSchedule } from './batch-schedule';

const said = (text: string) => report(batchSchedule, text);

test.each([['two steps', job(8, 'tp: 1', 'batch: {step_batch_size_schedule: "0:8 64K:16"}')]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('an entry without a colon', () => {
  expect(said(job(8, 'tp: 1', 'batch: {step_batch_size_schedule: x}'))).toMatchInlineSnapshot(`
    "error[batch-schedule] at "x"
    The schedule is refused: Invalid schedule entry "x". Expected format: "THRESHOLD:BATCH_SIZE". Write entries such as \`0:8 64K:16\`.
    = Megatron-LM: Invalid schedule entry "x". Expected format: "THRESHOLD:BATCH_SIZE"
    = suggestion: Remove \`step_batch_size_schedule\`
      - batch: {step_batch_size_schedule: x}
      + batch: {}"
  `);
});

test('a threshold that is not 0', () => {
  expect(
    said(job(8, 'tp: 1', 'batch: {step_batch_size_schedule: "64:8"}', 'sequence: {seq_length: 64}')),
  ).toMatchInlineSnapshot(`
    "error[batch-schedule] at "\\"64:8\\""
    The schedule is refused: first schedule entry must have threshold 0, got 1. Write entries such as \`0:8 64K:16\`.
    = Megatron-LM: first schedule entry must have threshold 0, got 1
    = suggestion: Remove \`step_batch_size_schedule\`
      - batch: {step_batch_size_schedule: "64:8"}
      + batch: {}"
  `);
});

test('a threshold twice', () => {
  expect(
    said(job(8, 'tp: 1', 'batch: {step_batch_size_schedule: "0:8 64:8 100:9"}', 'sequence: {seq_length: 64}')),
  ).toMatchInlineSnapshot(`
    "error[batch-schedule] at "\\"0:8 64:8 100:9\\""
    The schedule is refused: schedule thresholds must be strictly increasing, got 1 before 1. Write entries such as \`0:8 64K:16\`.
    = Megatron-LM: schedule thresholds must be strictly increasing, got 1 before 1
    = suggestion: Remove \`step_batch_size_schedule\`
      - batch: {step_batch_size_schedule: "0:8 64:8 100:9"}
      + batch: {}"
  `);
});

test('beside a global batch', () => {
  expect(
    said(job(8, 'tp: 1', 'batch: {global_batch_size: 8, step_batch_size_schedule: "0:8"}')),
  ).toMatchInlineSnapshot(`
    "error[batch-schedule] at "\\"0:8\\""
    The schedule is refused: Cannot specify both --step-batch-size-schedule and --global-batch-size. Write entries such as \`0:8 64K:16\`.
    = Megatron-LM: Cannot specify both --step-batch-size-schedule and --global-batch-size
    = suggestion: Remove \`step_batch_size_schedule\`
      - batch: {global_batch_size: 8, step_batch_size_schedule: "0:8"}
      + batch: {global_batch_size: 8}"
  `);
});

test('a ramp', () => {
  expect(said(job(8, 'tp: 1', 'batch: {rampup_batch_size: [8, 8, 1000]}'))).toMatchInlineSnapshot(`
    "warning[batch-schedule] at "[8, 8, 1000]"
    Megatron-LM reads rampup_batch_size and ignores it. Use step_batch_size_schedule.
    = suggestion: Remove \`rampup_batch_size\`
      - batch: {rampup_batch_size: [8, 8, 1000]}
      + batch: {}"
  `);
});
