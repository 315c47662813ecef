import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { layerCounts } from './layer-counts';

test('layer-counts', () => {
  expect(
    reports(layerCounts, {
      'an encoder and a decoder': job(8, 'tp: 2', 'model: {encoder_num_layers: 8, decoder_num_layers: 8}'),
      both: job(8, 'tp: 2', 'model: {num_layers: 8, encoder_num_layers: 8}'),
    }),
  ).toMatchInlineSnapshot(`
    "an encoder and a decoder: nothing
    both: error at "8": num_layers and encoder_num_layers exclude one another. Use encoder_num_layers with decoder_num_layers, or num_layers alone.
      = Megatron-LM: cannot have both num-layers and encoder-num-layers specified
      = at "8": num_layers is 8 here
      = suggestion: Remove \`encoder_num_layers\`: model: {num_layers: 8[-, encoder_num_layers: 8-]}
      = suggestion: Remove \`num_layers\`: model: {[-num_layers: 8, -]encoder_num_layers: 8}"
  `);
});
