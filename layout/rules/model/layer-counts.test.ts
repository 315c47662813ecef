import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { layerCounts } from './layer-counts';

const said = (text: string) => report(layerCounts, text);

test.each([['an encoder and a decoder', job(8, 'tp: 2', 'model: {encoder_num_layers: 8, decoder_num_layers: 8}')]])(
  '%s',
  (_, text) => {
    expect(said(text)).toBe('');
  },
);

test('both', () => {
  expect(said(job(8, 'tp: 2', 'model: {num_layers: 8, encoder_num_layers: 8}'))).toMatchInlineSnapshot(`
    "error[layer-counts] at "8"
    num_layers and encoder_num_layers exclude one another. Use encoder_num_layers with decoder_num_layers, or num_layers alone.
    = Megatron-LM: cannot have both num-layers and encoder-num-layers specified
    = at "8": num_layers is 8 here
    = suggestion: Remove \`encoder_num_layers\`
      - model: {num_layers: 8, encoder_num_layers: 8}
      + model: {num_layers: 8}
    = suggestion: Remove \`num_layers\`
      - model: {num_layers: 8, encoder_num_layers: 8}
      + model: {encoder_num_layers: 8}"
  `);
});
