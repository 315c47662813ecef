import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { sparseAttentionBias } from './sparse-attention-bias';

test('sparse-attention-bias', () => {
  const said = reports(sparseAttentionBias, {
    'no biases': job(8, 'tp: 1', 'model: {hybrid_layer_pattern: MDMD, add_bias_linear: false}'),
    'attention of another kind': job(8, 'tp: 1', 'model: {hybrid_layer_pattern: M*M*, add_bias_linear: true}'),
    'a file that says less than its script': job(8, 'tp: 1', 'model: {hybrid_layer_pattern: MDMD}'),
    'a pattern with sparse attention': job(8, 'tp: 1', 'model: {hybrid_layer_pattern: M-/D, add_bias_linear: true}'),
    'the variant of all layers, of the training script': scriptJob(8, 'tp: 1', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, experimental_attention_variant: dsa',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "a pattern with sparse attention: error at "true": Sparse attention has no biases. Use add_bias_linear false.
      = Megatron-LM: DSA uses AbsorbedMLASelfAttention, which requires add_bias_linear=False. Disable linear bias for DSA configs.
      = suggestion: Change add_bias_linear to false: model: {hybrid_layer_pattern: M-/D, add_bias_linear: [-true-]{+false+}}
    the variant of all layers, of the training script: warning at "8": Megatron-LM adds biases unless it is told not to, and sparse attention has none. Write add_bias_linear false.
      = Megatron-LM: DSA uses AbsorbedMLASelfAttention, which requires add_bias_linear=False. Disable linear bias for DSA configs.
      = suggestion: Insert add_bias_linear: false: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, experimental_attention_variant: dsa{+, add_bias_linear: false+}}"
  `);
});
