import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { expertBias } from './expert-bias';

test('expert-bias', () => {
  const said = reports(expertBias, {
    'no biases': job(8, 'tp: 2', 'model: {num_experts: 8, add_bias_linear: false}'),
    'nothing said': job(8, 'tp: 2', 'model: {num_experts: 8}'),
    'experts that are not cut': job(8, 'tp: 2, expt_tp: 1', 'model: {num_experts: 8, add_bias_linear: true}'),
    'the default of a training script': scriptJob(8, 'tp: 2', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8',
      sequence: 'seq_length: 64, sequence_parallel: true',
    }),
    biases: job(8, 'tp: 2', 'model: {num_experts: 8, add_bias_linear: true}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "the default of a training script: warning at "8": Biases are Megatron-LM's default, and experts with biases need expt_tp 1; it is 2. Write add_bias_linear false.
      = Megatron-LM: Bias in Moe is only supported when ETP==1
      = at "2": expt_tp defaults to tp, which is 2 here
      = suggestion: Insert add_bias_linear: false: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, num_experts: 8{+, add_bias_linear: false+}}
    biases: error at "true": Experts with biases need expt_tp 1; it is 2. Use add_bias_linear false, or expt_tp 1.
      = Megatron-LM: Bias in Moe is only supported when ETP==1
      = at "2": expt_tp defaults to tp, which is 2 here
      = suggestion: Change add_bias_linear to false: model: {num_experts: 8, add_bias_linear: [-true-]{+false+}}
      = suggestion: Insert expt_tp: 1: parallelism: {tp: 2{+, expt_tp: 1+}}"
  `);
});
