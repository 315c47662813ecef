import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { hybridPattern } from './hybrid-pattern';

const said = (text: string) => report(hybridPattern, text);
const hybrid = (pp: number, pattern: string, more = '') =>
  job(8, `pp: ${pp}`, `model: {hybrid_layer_pattern: "${pattern}"${more}}`);

test.each([
  ['equal runs', hybrid(4, 'MM*-MM*-')],
  ['stages of the pattern', hybrid(4, 'MM|*-|MM|*-')],
  ['virtual stages', hybrid(2, 'MM|*-|MM|*-')],
  ['MTP depths', hybrid(2, 'M*|M*/MM/MM')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('stages that pp does not divide', () => {
  expect(said(hybrid(4, 'MM|*-|MM'))).toMatchInlineSnapshot(`
    "error[hybrid-pattern] at "\\"MM|*-|MM\\""
    pp 4 does not divide the stages of the pattern. Use a multiple of 4 stages.
    = Megatron-LM: The number of hybrid pipeline segments described by --hybrid-layer-pattern must be evenly divisible by --pipeline-model-parallel-size. Got 3 segments and 4 pipeline parallel size.
    = at "4": pp is 4 here
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: "MM|*-|MM"}
      + model: {}"
  `);
});

test('a symbol of no layer', () => {
  expect(said(hybrid(2, 'MM|xM'))).toMatchInlineSnapshot(`
    "error[hybrid-pattern] at "\\"MM|xM\\""
    The pattern holds a character that stands for no layer. Use M, G, *, D, +, -, E, with \`|\` between stages and \`/\` before MTP depths.
    = Megatron-LM: In main pattern, 'x' is not a valid layer symbol. Valid symbols are: {'G', 'D', '*', '|', '+', 'E', 'M', '-'}
    = at "2": pp is 2 here
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: "MM|xM"}
      + model: {}"
  `);
});

test('layers that pp does not divide', () => {
  expect(said(hybrid(4, 'MM*-MM'))).toMatchInlineSnapshot(`
    "error[hybrid-pattern] at "\\"MM*-MM\\""
    pp 4 does not divide the layers of the pattern. Write its stages with \`|\`, or use another pp.
    = Megatron-LM: Number of layers (6) must be evenly divisible by pipeline-model-parallel-size (4) when no pipe separators are specified in the pattern.
    = at "4": pp is 4 here
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: "MM*-MM"}
      + model: {}"
  `);
});

test('depths that differ', () => {
  expect(said(hybrid(2, 'M*|M*/MM/M'))).toMatchInlineSnapshot(`
    "error[hybrid-pattern] at "\\"M*|M*/MM/M\\""
    The MTP depths of the pattern differ. Use the same layers for each depth.
    = Megatron-LM: All MTP patterns must be identical. Pattern 1 is 'MM', but pattern 2 is 'M'. Full pattern: 'M*|M*/MM/M'
    = at "2": pp is 2 here
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: "M*|M*/MM/M"}
      + model: {}"
  `);
});

test('a number of layers that Megatron-LM ignores', () => {
  expect(said(hybrid(2, 'M*|M*', ', num_layers: 8'))).toMatchInlineSnapshot(`
    "warning[hybrid-pattern] at "8"
    The pattern has 4 layers; Megatron-LM ignores num_layers 8. Leave num_layers out.
    = suggestion: Remove \`num_layers\`
      - model: {hybrid_layer_pattern: "M*|M*", num_layers: 8}
      + model: {hybrid_layer_pattern: "M*|M*"}"
  `);
});

test('no layers', () => {
  expect(said(hybrid(2, '|'))).toMatchInlineSnapshot(`
    "error[hybrid-pattern] at "\\"|\\""
    The pattern holds no layer: Megatron-LM divides by zero. Write one symbol a layer.
    = at "2": pp is 2 here
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: "|"}
      + model: {}"
  `);
});

test('MoE layers without experts, in a job of the training script', () => {
  const model = 'hybrid_layer_pattern: MEME, num_layers: 4, hidden_size: 64, num_attention_heads: 8';
  expect(said(scriptJob(8, 'tp: 1', { model }))).toMatchInlineSnapshot(`
    "warning[hybrid-pattern] at "MEME"
    The pattern has MoE layers (\`E\`), but \`num_experts\` is not written: the script takes the pattern, and the layer fails when it is built. Write num_experts.
    = suggestion: Remove \`hybrid_layer_pattern\`
      - model: {hybrid_layer_pattern: MEME, num_layers: 4, hidden_size: 64, num_attention_heads: 8}
      + model: {num_layers: 4, hidden_size: 64, num_attention_heads: 8}"
  `);
});
