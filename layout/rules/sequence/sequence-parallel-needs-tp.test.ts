import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { sequenceParallelNeedsTp } from './sequence-parallel-needs-tp';

const said = (text: string) => report(sequenceParallelNeedsTp, text);
const SEQUENCE = 'sequence: {seq_length: 64, sequence_parallel: true}';

test('tp above 1', () => {
  expect(said(job(8, 'tp: 2', SEQUENCE))).toBe('');
});

test('tp is 1', () => {
  expect(said(job(8, 'tp: 1', SEQUENCE))).toMatchInlineSnapshot(`
    "warning[sequence-parallel-needs-tp] at "true"
    sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
    = Megatron-LM: Cannot use sequence parallelism without tensor parallelism
    = at "1": tp is 1 here
    = suggestion: Change sequence_parallel to false
      - sequence: {seq_length: 64, sequence_parallel: true}
      + sequence: {seq_length: 64, sequence_parallel: false}
    = suggestion: Change tp to 2
      - parallelism: {tp: 1}
      + parallelism: {tp: 2}"
  `);
});

test('tp is not written', () => {
  expect(said(job(8, 'cp: 2', SEQUENCE))).toMatchInlineSnapshot(`
    "warning[sequence-parallel-needs-tp] at "true"
    sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
    = Megatron-LM: Cannot use sequence parallelism without tensor parallelism
    = suggestion: Change sequence_parallel to false
      - sequence: {seq_length: 64, sequence_parallel: true}
      + sequence: {seq_length: 64, sequence_parallel: false}"
  `);
});

test('the training script switches it off', () => {
  const sequence = 'seq_length: 64, sequence_parallel: true';
  expect(said(scriptJob(8, 'tp: 1', { sequence }))).toMatchInlineSnapshot(`
    "warning[sequence-parallel-needs-tp] at "true"
    sequence_parallel needs tp above 1. Use sequence_parallel false, or tp 2 or more.
    = at "1": tp is 1 here
    = suggestion: Change sequence_parallel to false
      - sequence: {seq_length: 64, sequence_parallel: true}
      + sequence: {seq_length: 64, sequence_parallel: false}
    = suggestion: Change tp to 2
      - parallelism: {tp: 1}
      + parallelism: {tp: 2}"
  `);
});
