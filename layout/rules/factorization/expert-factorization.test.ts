import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { expertFactorization } from './expert-factorization';

test('expert-factorization', () => {
  const said = reports(expertFactorization, {
    'ep need not divide dp': job(16, 'tp: 4, ep: 8, expt_tp: 1'),
    'experts over all ranks': job(16, 'tp: 2, ep: 8'),
    'ep does not divide the ranks': job(16, 'ep: 3'),
    'expt_tp defaults to tp': job(16, 'tp: 2, ep: 3'),
    'a written expt_tp is the culprit': job(16, 'tp: 2, ep: 2, expt_tp: 3'),
    'the dense grid does not divide either: it alone is reported': job(16, 'tp: 3, ep: 3'),
    'a module names num_ranks':
      'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 3, expt_tp: 1}\n',
    'the default of expt_tp is what does not fit': job(16, 'tp: 4, ep: 8'),
  });
  expect(said).toMatchInlineSnapshot(`
    "ep does not divide the ranks: error at "3": ep 3 does not divide 16 ranks. Use ep 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (3)
      = at "16": world_size is 16 here
      = suggestion: Change ep to 2: parallelism: {ep: [-3-]{+2+}}
      = suggestion: Change ep to 4: parallelism: {ep: [-3-]{+4+}}
      = suggestion: Change ep to 1: parallelism: {ep: [-3-]{+1+}}
      = suggestion: Change world_size to 15: world_size: [-16-]{+15+}
      = suggestion: Change world_size to 18: world_size: [-16-]{+18+}
    expt_tp defaults to tp: error at "3": expt_tp 2 x ep 3 = 6 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
      = at "16": world_size is 16 here
      = at "2": expt_tp defaults to tp, which is 2 here
      = suggestion: Change ep to 2: parallelism: {tp: 2, ep: [-3-]{+2+}}
      = suggestion: Change ep to 4: parallelism: {tp: 2, ep: [-3-]{+4+}}
      = suggestion: Change ep to 1: parallelism: {tp: 2, ep: [-3-]{+1+}}
      = suggestion: Change world_size to 18: world_size: [-16-]{+18+}
      = suggestion: Change world_size to 12: world_size: [-16-]{+12+}
    a written expt_tp is the culprit: error at "3": expt_tp 3 x ep 2 = 6 ranks an expert replica, which does not divide 16. Use expt_tp 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
      = at "16": world_size is 16 here
      = at "2": ep is 2 here
      = suggestion: Change expt_tp to 2: parallelism: {tp: 2, ep: 2, expt_tp: [-3-]{+2+}}
      = suggestion: Change expt_tp to 4: parallelism: {tp: 2, ep: 2, expt_tp: [-3-]{+4+}}
      = suggestion: Change expt_tp to 1: parallelism: {tp: 2, ep: 2, expt_tp: [-3-]{+1+}}
      = suggestion: Change world_size to 18: world_size: [-16-]{+18+}
      = suggestion: Change world_size to 12: world_size: [-16-]{+12+}
    the dense grid does not divide either: it alone is reported: error[dense-factorization] at "3": tp 3 does not divide 16 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by 3
      = at "16": world_size is 16 here
      = suggestion: Change world_size to 18: world_size: [-16-]{+18+}
    a module names num_ranks: error at "3": ep 3 does not divide 8 ranks. Use ep 1, 2 or 4.
      = Megatron-LM: num_ranks (8) must be divisible by expt_tp*ep*expt_gtp_remat*pp (3)
      = at "8": num_ranks is 8 here
      = suggestion: Change ep to 2: language: {num_ranks: 8, tp: 2, ep: [-3-]{+2+}, expt_tp: 1}
      = suggestion: Change ep to 4: language: {num_ranks: 8, tp: 2, ep: [-3-]{+4+}, expt_tp: 1}
      = suggestion: Change ep to 1: language: {num_ranks: 8, tp: 2, ep: [-3-]{+1+}, expt_tp: 1}
    the default of expt_tp is what does not fit: error at "8": expt_tp 4 x ep 8 = 32 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4, or expt_tp 1.
      = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (32)
      = at "16": world_size is 16 here
      = at "4": expt_tp defaults to tp, which is 4 here
      = suggestion: Insert expt_tp: 1: parallelism: {tp: 4, ep: 8{+, expt_tp: 1+}}
      = suggestion: Change ep to 4: parallelism: {tp: 4, ep: [-8-]{+4+}}
      = suggestion: Change ep to 2: parallelism: {tp: 4, ep: [-8-]{+2+}}
      = suggestion: Change ep to 1: parallelism: {tp: 4, ep: [-8-]{+1+}}
      = suggestion: Change world_size to 32: world_size: [-16-]{+32+}"
  `);
});
