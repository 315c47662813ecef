import { removeFix } from '../fixes';
import { valueRelated } from '../related';
import type { Rule } from '../rule';
import { megatron } from '../source';
import { describedModels } from './described';

export const layerCounts: Rule = {
  code: 'layer-counts',
  severity: 'error',
  title: 'num_layers and encoder_num_layers are both written',
  effect: 'Megatron-LM stops on every rank',
  what: '`num_layers` and `encoder_num_layers` are both written.',
  why: 'An encoder-decoder model has `encoder_num_layers` and `decoder_num_layers`, any other `num_layers`; Megatron-LM takes the one for the other where it is missing.',
  failing: `layout: 1
world_size: 8
parallelism: {tp: 1}
model: {num_layers: 12, encoder_num_layers: 12}
`,
  passing: `layout: 1
world_size: 8
parallelism: {tp: 1}
model: {encoder_num_layers: 12, decoder_num_layers: 12}
`,
  sources: [megatron('megatron/training/arguments.py', 'validate_args')],
  *check(facts) {
    for (const { model } of describedModels(facts)) {
      const { num_layers: layers, encoder_num_layers: encoder } = model;
      if (layers.value !== undefined && encoder.value !== undefined) {
        yield {
          message:
            'num_layers and encoder_num_layers exclude one another. Use encoder_num_layers with decoder_num_layers, or num_layers alone.',
          span: encoder.span,
          related: [valueRelated('num_layers', layers)],
          predicts: 'cannot have both num-layers and encoder-num-layers specified',
          fixes: [removeFix(facts.text, 'encoder_num_layers', encoder), removeFix(facts.text, 'num_layers', layers)],
        };
      }
    }
  },
};
