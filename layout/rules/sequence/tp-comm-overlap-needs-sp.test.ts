import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { tpCommOverlapNeedsSp } from './tp-comm-overlap-needs-sp';

test('tp-comm-overlap-needs-sp', () => {
  const said = reports(tpCommOverlapNeedsSp, {
    'sequence parallelism is on': job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true, sequence_parallel: true}'),
    'sequence_parallel is not written': job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true}'),
    'sequence_parallel is off': job(8, 'tp: 2', 'sequence: {tp_comm_overlap: true, sequence_parallel: false}'),
    'tp is 1: the training script switches sequence parallelism off': scriptJob(8, 'pp: 2', {
      sequence: 'seq_length: 64, tp_comm_overlap: true, sequence_parallel: true',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "sequence_parallel is not written: warning at "true": tp_comm_overlap needs sequence_parallel. Use sequence_parallel true, or remove tp_comm_overlap.
      = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
      = suggestion: Insert sequence_parallel: true: sequence: {tp_comm_overlap: true{+, sequence_parallel: true+}}
      = suggestion: Remove tp_comm_overlap: sequence: {[-tp_comm_overlap: true-]}
    sequence_parallel is off: warning at "true": tp_comm_overlap needs sequence_parallel. Use sequence_parallel true, or remove tp_comm_overlap.
      = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
      = suggestion: Change sequence_parallel to true: sequence: {tp_comm_overlap: true, sequence_parallel: [-false-]{+true+}}
      = suggestion: Remove tp_comm_overlap: sequence: {[-tp_comm_overlap: true, -]sequence_parallel: false}
    tp is 1: the training script switches sequence parallelism off: error at "true": tp_comm_overlap needs sequence_parallel and tp above 1. Remove tp_comm_overlap.
      = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
      = suggestion: Remove tp_comm_overlap: sequence: {seq_length: 64, [-tp_comm_overlap: true, -]sequence_parallel: true}"
  `);
});
