import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { tpCommOverlapNeedsSp } from './tp-comm-overlap-needs-sp';

const said = (text: string) => report(tpCommOverlapNeedsSp, text);

test('sequence parallelism is on', () => {
  expect(said(job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true, sequence_parallel: true}'))).toBe('');
});

test('sequence_parallel is not written', () => {
  expect(said(job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true}'))).toMatchInlineSnapshot(`
    "error[tp-comm-overlap-needs-sp] at "true"
    tp_comm_overlap needs sequence_parallel. Use sequence_parallel true, or remove tp_comm_overlap.
    = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
    = suggestion: Insert \`sequence_parallel: true\`
      - sequence: {tp_comm_overlap: true}
      + sequence: {tp_comm_overlap: true, sequence_parallel: true}
    = suggestion: Remove \`tp_comm_overlap\`
      - sequence: {tp_comm_overlap: true}
      + sequence: {}"
  `);
});

test('sequence_parallel is off', () => {
  const text = job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true, sequence_parallel: false}');
  expect(said(text)).toMatchInlineSnapshot(`
    "error[tp-comm-overlap-needs-sp] at "true"
    tp_comm_overlap needs sequence_parallel. Use sequence_parallel true, or remove tp_comm_overlap.
    = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
    = suggestion: Change sequence_parallel to true
      - sequence: {tp_comm_overlap: true, sequence_parallel: false}
      + sequence: {tp_comm_overlap: true, sequence_parallel: true}
    = suggestion: Remove \`tp_comm_overlap\`
      - sequence: {tp_comm_overlap: true, sequence_parallel: false}
      + sequence: {sequence_parallel: false}"
  `);
});

test('tp is 1: the training script switches sequence parallelism off', () => {
  const sequence = 'seq_length: 64, tp_comm_overlap: true, sequence_parallel: true';
  expect(said(scriptJob(8, 'pp: 2', { sequence }))).toMatchInlineSnapshot(`
    "error[tp-comm-overlap-needs-sp] at "true"
    tp_comm_overlap needs sequence_parallel and tp above 1. Remove tp_comm_overlap.
    = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
    = suggestion: Remove \`tp_comm_overlap\`
      - sequence: {seq_length: 64, tp_comm_overlap: true, sequence_parallel: true}
      + sequence: {seq_length: 64, sequence_parallel: true}"
  `);
});
