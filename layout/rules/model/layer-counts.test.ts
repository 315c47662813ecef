import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { layerCounts } from './layer-counts';

test('layer-counts', () => {
  const said = reports(layerCounts, {
    'an encoder and a decoder': job(8, 'tp: 2', 'model: {encoder_num_layers: 8, decoder_num_layers: 8}'),
    both: job(8, 'tp: 2', 'model: {num_layers: 8, encoder_num_layers: 8}'),
    'two lengths of a sequence': scriptJob(8, 'tp: 2', { sequence: 'seq_length: 64, encoder_seq_length: 64' }),
  });
  expect(said).toMatchInlineSnapshot(`
    "both: error at "8": num_layers and encoder_num_layers exclude one another. Use encoder_num_layers with decoder_num_layers, or num_layers alone.
      = Megatron-LM: cannot have both num-layers and encoder-num-layers specified
      = at "8": num_layers is 8 here
      = suggestion: Remove encoder_num_layers: model: {num_layers: 8[-, encoder_num_layers: 8-]}
      = suggestion: Remove num_layers: model: {[-num_layers: 8, -]encoder_num_layers: 8}
    two lengths of a sequence: error at "64": seq_length and encoder_seq_length exclude one another. Use encoder_seq_length with decoder_seq_length, or seq_length alone.
      = Megatron-LM: an assertion without a message
      = at "64": seq_length is 64 here
      = suggestion: Remove encoder_seq_length: sequence: {seq_length: 64[-, encoder_seq_length: 64-]}
      = suggestion: Remove seq_length: sequence: {[-seq_length: 64, -]encoder_seq_length: 64}"
  `);
});
