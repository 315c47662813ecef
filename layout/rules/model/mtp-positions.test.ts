import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { mtpPositions } from './mtp-positions';

const model = (keys: string) => job(8, 'tp: 1', `model: {${keys}}`);

test('mtp-positions', () => {
  const said = reports(mtpPositions, {
    rope: model('num_layers: 8, mtp_num_layers: 1, position_embedding_type: rope'),
    none: model('num_layers: 8, mtp_num_layers: 1, position_embedding_type: none'),
    'learned positions without MTP': model('num_layers: 8, position_embedding_type: learned_absolute'),
    'no MTP layers': model('num_layers: 8, mtp_num_layers: 0, position_embedding_type: learned_absolute'),
    'positions that are not said': model('num_layers: 8, mtp_num_layers: 1'),
    'learned positions': model('num_layers: 8, mtp_num_layers: 1, position_embedding_type: learned_absolute'),
    'the default of a training script': scriptJob(8, 'tp: 1', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, mtp_num_layers: 1',
    }),
    'the default of another framework': scriptJob(8, 'tp: 1', {
      model: 'num_layers: 8, hidden_size: 64, num_attention_heads: 8, mtp_num_layers: 1',
      launch: 'family: megatron-bridge',
    }),
    'MTP layers of a hybrid pattern': model('hybrid_layer_pattern: M*/M*, position_embedding_type: yarn'),
  });
  expect(said).toMatchInlineSnapshot(`
    "learned positions: error at "learned_absolute": MTP does not run with learned_absolute positions. Use rope or none.
      = Megatron-LM: Multi-Token Prediction (MTP) is not supported with learned_absolute position embedding type.The supported position embedding types are rope and none.
      = at "1": mtp_num_layers is 1 here
      = suggestion: Change position_embedding_type to rope: model: {num_layers: 8, mtp_num_layers: 1, position_embedding_type: [-learned_absolute-]{+rope+}}
    the default of a training script: information at "1": MTP does not run with Megatron-LM's default learned_absolute positions. Use rope or none.
      = Megatron-LM: Multi-Token Prediction (MTP) is not supported with learned_absolute position embedding type.The supported position embedding types are rope and none.
      = at "1": mtp_num_layers is 1 here
      = suggestion: Insert position_embedding_type: rope: model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, mtp_num_layers: 1{+, position_embedding_type: rope+}}
    MTP layers of a hybrid pattern: error at "yarn": MTP does not run with yarn positions. Use rope or none.
      = Megatron-LM: Multi-Token Prediction (MTP) is not supported with yarn position embedding type.The supported position embedding types are rope and none.
      = suggestion: Change position_embedding_type to rope: model: {hybrid_layer_pattern: M*/M*, position_embedding_type: [-yarn-]{+rope+}}"
  `);
});
