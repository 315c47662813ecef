import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { hybridPattern } from './hybrid-pattern';

const hybrid = (pp: number, pattern: string, more = '') =>
  job(8, `pp: ${pp}`, `model: {hybrid_layer_pattern: "${pattern}"${more}}`);

test('hybrid-pattern', () => {
  const said = reports(hybridPattern, {
    'equal runs': hybrid(4, 'MM*-MM*-'),
    'stages of the pattern': hybrid(4, 'MM|*-|MM|*-'),
    'virtual stages': hybrid(2, 'MM|*-|MM|*-'),
    'MTP depths': hybrid(2, 'M*|M*/MM/MM'),
    'stages that pp does not divide': hybrid(4, 'MM|*-|MM'),
    'a symbol of no layer': hybrid(2, 'MM|xM'),
    'layers that pp does not divide': hybrid(4, 'MM*-MM'),
    'depths that differ': hybrid(2, 'M*|M*/MM/M'),
    'a number of layers that Megatron-LM ignores': hybrid(2, 'M*|M*', ', num_layers: 8'),
    'MTP layers that the pattern does not have': hybrid(2, 'M*|M*', ', mtp_num_layers: 2'),
    'no layers': hybrid(2, '|'),
    'MoE layers without experts, in a job of the training script': scriptJob(8, 'tp: 1', {
      model: 'hybrid_layer_pattern: MEME, num_layers: 4, hidden_size: 64, num_attention_heads: 8',
    }),
  });
  expect(said).toMatchInlineSnapshot(`
    "stages that pp does not divide: error at "\\"MM|*-|MM\\"": The pattern has 3 stages, which pp 4 does not divide. Use 4 stages.
      = Megatron-LM: The number of hybrid pipeline segments described by --hybrid-layer-pattern must be evenly divisible by --pipeline-model-parallel-size. Got 3 segments and 4 pipeline parallel size.
      = at "4": pp is 4 here
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: "MM|*-|MM"-]}
    a symbol of no layer: error at "\\"MM|xM\\"": 'x' stands for no layer. Use M, G, *, D, +, -, E, with '|' between stages and '/' before MTP depths.
      = Megatron-LM: In main pattern, 'x' is not a valid layer symbol. Valid symbols are: {'G', 'D', '*', '|', '+', 'E', 'M', '-'}
      = at "2": pp is 2 here
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: "MM|xM"-]}
    layers that pp does not divide: error at "\\"MM*-MM\\"": The pattern has 6 layers and no '|', and pp 4 does not divide them. Write its stages with '|', or use another pp.
      = Megatron-LM: Number of layers (6) must be evenly divisible by pipeline-model-parallel-size (4) when no pipe separators are specified in the pattern.
      = at "4": pp is 4 here
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: "MM*-MM"-]}
    depths that differ: error at "\\"M*|M*/MM/M\\"": MTP depth 2 of the pattern differs from depth 1. Use the same layers for each depth.
      = Megatron-LM: All MTP patterns must be identical. Pattern 1 is 'MM', but pattern 2 is 'M'. Full pattern: 'M*|M*/MM/M'
      = at "2": pp is 2 here
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: "M*|M*/MM/M"-]}
    a number of layers that Megatron-LM ignores: warning at "8": The pattern has 4 layers; Megatron-LM ignores num_layers 8. Leave num_layers out.
      = suggestion: Remove num_layers: model: {hybrid_layer_pattern: "M*|M*"[-, num_layers: 8-]}
    MTP layers that the pattern does not have: warning at "2": mtp_num_layers is 2, but the pattern has no MTP part, so Megatron-LM builds no MTP layer. Write the layers of each depth behind '/'.
      = suggestion: Remove mtp_num_layers: model: {hybrid_layer_pattern: "M*|M*"[-, mtp_num_layers: 2-]}
    no layers: error at "\\"|\\"": The pattern holds no layer: Megatron-LM divides by zero. Write one symbol a layer.
      = at "2": pp is 2 here
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: "|"-]}
    MoE layers without experts, in a job of the training script: warning at "MEME": The pattern has MoE layers (E), but num_experts is not written. Write num_experts. Megatron-LM checks this when it builds the layer.
      = suggestion: Remove hybrid_layer_pattern: model: {[-hybrid_layer_pattern: MEME, -]num_layers: 4, hidden_size: 64, num_attention_heads: 8}"
  `);
});
