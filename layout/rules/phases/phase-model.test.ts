import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { phaseModel } from './phase-model';

test('phase-model', () => {
  const model = (sizes: string, phases: string) => job(8, 'tp: 1', `model: {${sizes}}`, `phases: {${phases}}`);
  const said = reports(phaseModel, {
    'an engine that fits': model('num_attention_heads: 28, num_query_groups: 4', 'rollout: {engine: vllm, tp: 4}'),
    'heads of vLLM': model('num_attention_heads: 28', 'rollout: {engine: vllm, tp: 8}'),
    'heads of SGLang': model('num_attention_heads: 28', 'rollout: {engine: sglang, tp: 8}'),
    'attention that is data-parallel': model('num_attention_heads: 20', 'rollout: {engine: sglang, tp: 8, dp: 8}'),
    'copied key-value heads': model('num_attention_heads: 32, num_query_groups: 2', 'rollout: {engine: vllm, tp: 8}'),
    'key-value heads': model('num_attention_heads: 24, num_query_groups: 6', 'rollout: {engine: vllm, tp: 4}'),
    'latent attention': model(
      'num_attention_heads: 24, num_query_groups: 6, multi_latent_attention: true',
      'rollout: {engine: vllm, tp: 4}',
    ),
    'a model of its own': model('num_attention_heads: 28', 'critic: {tp: 8}'),
    'layers of the reference': model('num_layers: 30', 'reference: {pp: 4}'),
    'layers of an engine': model('num_layers: 30', 'rollout: {engine: vllm, pp: 4}'),
    'layers that are split by hand': job(
      8,
      'pp: 2, account_for_embedding_in_pipeline_split: true, account_for_loss_in_pipeline_split: true',
      'model: {num_layers: 30}',
      'phases: {reference: {pp: 4}}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "heads of vLLM: error at "8": tp 8 of phase 'rollout' does not divide 28 attention heads. Use tp 1, 2 or 4.
      = vLLM: Total number of attention heads (28) must be divisible by tensor parallel size (8).
      = at "28": num_attention_heads is 28 here
      = suggestion: Change tp to 4: phases: {rollout: {engine: vllm, tp: [-8-]{+4+}}}
      = suggestion: Change tp to 2: phases: {rollout: {engine: vllm, tp: [-8-]{+2+}}}
      = suggestion: Change tp to 1: phases: {rollout: {engine: vllm, tp: [-8-]{+1+}}}
    heads of SGLang: error at "8": tp 8 of phase 'rollout' does not divide 28 attention heads. Use tp 1, 2 or 4.
      = at "28": num_attention_heads is 28 here
      = suggestion: Change tp to 4: phases: {rollout: {engine: sglang, tp: [-8-]{+4+}}}
      = suggestion: Change tp to 2: phases: {rollout: {engine: sglang, tp: [-8-]{+2+}}}
      = suggestion: Change tp to 1: phases: {rollout: {engine: sglang, tp: [-8-]{+1+}}}
    key-value heads: error at "4": tp 4 of phase 'rollout' is neither a divisor nor a multiple of 6 key-value heads. Use tp 1 or 2.
      = at "6": num_query_groups is 6 here
      = suggestion: Change tp to 2: phases: {rollout: {engine: vllm, tp: [-4-]{+2+}}}
      = suggestion: Change tp to 1: phases: {rollout: {engine: vllm, tp: [-4-]{+1+}}}
    layers of the reference: error at "4": pp 4 of phase 'reference' does not divide 30 layers. Use pp 1 or 2.
      = Megatron Core: num_layers=30 should be divisible by config.pipeline_model_parallel_size=4
      = at "30": num_layers is 30 here
      = suggestion: Change pp to 2: phases: {reference: {pp: [-4-]{+2+}}}
      = suggestion: Change pp to 1: phases: {reference: {pp: [-4-]{+1+}}}"
  `);
});
