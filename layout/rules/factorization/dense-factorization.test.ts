import { expect, test } from 'vitest';
import { job, reports, scriptJob } from '../testing';
import { denseFactorization } from './dense-factorization';

test('dense-factorization', () => {
  const said = reports(denseFactorization, {
    'one replica': job(8, 'tp: 8'),
    'several replicas': job(64, 'tp: 2, cp: 2, pp: 4'),
    'a module without num_ranks takes what dp needs': 'layout: 1\nworld_size: 6\nmodules: {language: {dp: 2, tp: 3}}\n',
    'one degree does not divide the ranks': job(8, 'tp: 3'),
    'the degree that spoils the division is underlined': job(64, 'tp: 3, pp: 4'),
    'no single degree spoils the division: the ranks are underlined': job(20, 'tp: 8, pp: 8'),
    'a cluster grows by whole nodes along with world_size': job(
      20,
      'tp: 8, pp: 8',
      'cluster: {nodes: 5, gpus_per_node: 4}',
    ),
    'packed placement launches fewer ranks than the grid has': job(
      16,
      'tp: 8',
      'ntp: {tp_spares: 1, placement: packed, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7]}]}',
    ),
    'generalized TP counts': job(12, 'tp: 2, gtp_remat: 4'),
    'the training script has words of its own': scriptJob(6, 'tp: 4'),
    'a module names num_ranks': 'layout: 1\nworld_size: 12\nmodules:\n  language: {num_ranks: 12, tp: 4, pp: 2}\n',
    'verl looks at the sizes first': job(8, 'tp: 3', 'launch: {family: verl}'),
    'verl with dynamic batches leaves it to Megatron-LM': job(
      8,
      'tp: 3',
      'launch: {family: verl}',
      'rl: {dynamic_batch: true}',
    ),
    'NeMo-RL looks at the sizes first': job(8, 'tp: 4, pp: 4', 'launch: {family: nemo-rl}'),
    'a huge world is checked without listing divisors': job(2 ** 31, 'tp: 3'),
  });
  expect(said).toMatchInlineSnapshot(`
    "one degree does not divide the ranks: error at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (8) is not divisible by 3
      = at "8": world_size is 8 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}}
      = suggestion: Change world_size to 9: world_size: [-8-]{+9+}
      = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
    the degree that spoils the division is underlined: error at "3": tp 3 x pp 4 = 12 ranks a replica, which does not divide 64. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (64) is not divisible by 12
      = at "64": world_size is 64 here
      = at "4": pp is 4 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}, pp: 4}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}, pp: 4}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}, pp: 4}
      = suggestion: Change world_size to 60: world_size: [-64-]{+60+}
      = suggestion: Change world_size to 72: world_size: [-64-]{+72+}
    no single degree spoils the division: the ranks are underlined: error at "20": tp 8 x pp 8 = 64 ranks a replica, which does not divide 20. Use world_size 64.
      = Megatron-LM: world_size (20) is not divisible by 64
      = at "8": tp is 8 here
      = at "8": pp is 8 here
      = suggestion: Change world_size to 64: world_size: [-20-]{+64+}
    a cluster grows by whole nodes along with world_size: error at "20": tp 8 x pp 8 = 64 ranks a replica, which does not divide 20. Use world_size 64.
      = Megatron-LM: world_size (20) is not divisible by 64
      = at "8": tp is 8 here
      = at "8": pp is 8 here
      = suggestion: Change world_size to 64: world_size: [-20-]{+64+} | cluster: {nodes: [-5-]{+16+}, gpus_per_node: 4}
    packed placement launches fewer ranks than the grid has: error at "16": world_size 16 counts every slot, but packed placement launches the 15 that stay. Use world_size 15.
      = suggestion: Change world_size to 15: world_size: [-16-]{+15+}
    generalized TP counts: error at "4": tp 2 x gtp_remat 4 = 8 ranks a replica, which does not divide 12. Use gtp_remat 2, 3 or 6.
      = Megatron-LM: world_size (12) is not divisible by 8
      = at "12": world_size is 12 here
      = at "2": tp is 2 here
      = suggestion: Change gtp_remat to 3: parallelism: {tp: 2, gtp_remat: [-4-]{+3+}}
      = suggestion: Change gtp_remat to 2: parallelism: {tp: 2, gtp_remat: [-4-]{+2+}}
      = suggestion: Change gtp_remat to 6: parallelism: {tp: 2, gtp_remat: [-4-]{+6+}}
      = suggestion: Change world_size to 8: world_size: [-12-]{+8+}
      = suggestion: Change world_size to 16: world_size: [-12-]{+16+}
    the training script has words of its own: error at "4": tp 4 does not divide 6 ranks. Use tp 2, 3 or 6.
      = Megatron-LM: world size (6) is not divisible by total_model_size (total_model_size=4)
      = at "6": world_size is 6 here
      = suggestion: Change tp to 2: parallelism: {tp: [-4-]{+2+}}
      = suggestion: Change world_size to 4: world_size: [-6-]{+4+}
      = suggestion: Change world_size to 8: world_size: [-6-]{+8+}
    a module names num_ranks: error at "2": tp 4 x pp 2 = 8 ranks a replica, which does not divide 12. Use pp 1 or 3.
      = Megatron-LM: num_ranks (12) must be divisible by tp*gtp_remat*cp*pp (8)
      = at "12": num_ranks is 12 here
      = at "4": tp is 4 here
      = suggestion: Change pp to 1: language: {num_ranks: 12, tp: 4, pp: [-2-]{+1+}}
      = suggestion: Change pp to 3: language: {num_ranks: 12, tp: 4, pp: [-2-]{+3+}}
    verl looks at the sizes first: error at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.
      = verl: n_gpus (8) must be divisible by model_parallel_size (3) times context_parallel_size (1)
      = at "8": world_size is 8 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}}
      = suggestion: Change world_size to 9: world_size: [-8-]{+9+}
      = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
    verl with dynamic batches leaves it to Megatron-LM: error at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (8) is not divisible by 3
      = at "8": world_size is 8 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}}
      = suggestion: Change world_size to 9: world_size: [-8-]{+9+}
      = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
    NeMo-RL looks at the sizes first: error at "4": tp 4 x pp 4 = 16 ranks a replica, which does not divide 8. Use pp 1 or 2.
      = NeMo-RL: World size (8) is insufficient for the parallelism configuration. Required minimum world size: PP(4) * CP(1) * TP(4) = 16. This would result in DP = 8/16 = 0.500, but DP must be ≥ 1. Please either increase the number of GPUs/nodes or reduce the parallelism parameters.
      = at "8": world_size is 8 here
      = at "4": tp is 4 here
      = suggestion: Change pp to 2: parallelism: {tp: 4, pp: [-4-]{+2+}}
      = suggestion: Change pp to 1: parallelism: {tp: 4, pp: [-4-]{+1+}}
      = suggestion: Change world_size to 16: world_size: [-8-]{+16+}
    a huge world is checked without listing divisors: error at "3": tp 3 does not divide 2,147,483,648 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (2147483648) is not divisible by 3
      = at "2147483648": world_size is 2147483648 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}}
      = suggestion: Change tp to 4: parallelism: {tp: [-3-]{+4+}}
      = suggestion: Change tp to 1: parallelism: {tp: [-3-]{+1+}}
      = suggestion: Change world_size to 2147483646: world_size: [-2147483648-]{+2147483646+}"
  `);
});
