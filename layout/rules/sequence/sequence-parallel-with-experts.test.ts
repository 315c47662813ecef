import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { sequenceParallelWithExperts } from './sequence-parallel-with-experts';

test('sequence-parallel-with-experts', () => {
  const said = reports(sequenceParallelWithExperts, {
    'sequence parallelism is on': job(8, 'tp: 2, ep: 2', 'sequence: {sequence_parallel: true}'),
    'tp is 1': job(8, 'ep: 2', 'sequence: {seq_length: 64}'),
    'the file says nothing of sequences': job(8, 'tp: 2, ep: 2'),
    'sequence_parallel is not written': job(8, 'tp: 2, ep: 2', 'sequence: {seq_length: 64}'),
    'sequence_parallel is off': job(8, 'tp: 2, ep: 2', 'sequence: {sequence_parallel: false}'),
    'beside an overlap that needs it, too': scriptJob(8, 'tp: 2', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8, add_bias_linear: false',
      sequence: 'seq_length: 64, tp_comm_overlap: true',
    }),
    'ep beside a model that has no experts, which another rule reports': scriptJob(8, 'tp: 2, ep: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "sequence_parallel is not written: warning at "sequence": Experts with tp 2 need sequence_parallel in training. Use sequence_parallel true, or tp 1.
      = at "2": ep is 2 here
      = at "2": tp is 2 here
      = suggestion: Insert sequence_parallel: true: sequence: {seq_length: 64{+, sequence_parallel: true+}}
    sequence_parallel is off: warning at "false": Experts with tp 2 need sequence_parallel in training. Use sequence_parallel true, or tp 1.
      = at "2": ep is 2 here
      = at "2": tp is 2 here
      = suggestion: Change sequence_parallel to true: sequence: {sequence_parallel: [-false-]{+true+}}
    beside an overlap that needs it, too: error[tp-comm-overlap-needs-sp] at "true": tp_comm_overlap needs sequence_parallel. Use sequence_parallel true, or remove tp_comm_overlap.
      = Megatron-LM: Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled
      = suggestion: Insert sequence_parallel: true: sequence: {seq_length: 64, tp_comm_overlap: true{+, sequence_parallel: true+}}
    ep beside a model that has no experts, which another rule reports: error[experts] at "2": ep is 2, but the model has no experts. Write num_experts, or use ep 1.
      = Megatron-LM: num_experts must be non None to use expert model parallelism
      = suggestion: Change ep to 1: parallelism: {tp: 2, ep: [-2-]{+1+}}"
  `);
});
