import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { optimizerInstances } from './optimizer-instances';

const instances = (count: number) => `num_distributed_optimizer_instances: ${count}`;
const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

test('optimizer-instances', () => {
  const said = reports(optimizerInstances, {
    'instances that divide dp': job(16, `tp: 2, ${instances(4)}`),
    'one instance with generalized TP': job(16, `gtp_remat: 2, ${instances(1)}`, BATCH),
    'the instances divide neither dp nor expt_dp': job(16, `tp: 2, ${instances(3)}`),
    'cp counts': job(16, `tp: 2, cp: 2, ${instances(3)}`),
    'the instances divide dp but not expt_dp': job(16, `tp: 2, ep: 4, ${instances(4)}`),
    'generalized TP': job(16, `tp: 2, gtp_remat: 2, ${instances(2)}`, BATCH),
    'generalized TP of experts': job(16, `expt_gtp_remat: 2, ${instances(2)}`, BATCH),
    'weight shards make generalized TP': job(16, `tp: 2, num_weight_shards: 4, ${instances(2)}`, BATCH),
  });
  expect(said).toMatchInlineSnapshot(`
    "the instances divide neither dp nor expt_dp: error at "3": 3 optimizer instances divide neither dp 8 nor expt_dp 8. Use 1, 2 or 4.
      = Megatron-LM: Data parallel size should be divisible by partial DistOpt shard factor
      = suggestion: Change num_distributed_optimizer_instances to 2: parallelism: {tp: 2, num_distributed_optimizer_instances: [-3-]{+2+}}
      = suggestion: Change num_distributed_optimizer_instances to 4: parallelism: {tp: 2, num_distributed_optimizer_instances: [-3-]{+4+}}
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {tp: 2[-, num_distributed_optimizer_instances: 3-]}
    cp counts: error at "3": 3 optimizer instances divide neither dp 4 x cp 2 = 8 nor expt_dp 8. Use 1, 2 or 4.
      = Megatron-LM: Data parallel size should be divisible by partial DistOpt shard factor
      = suggestion: Change num_distributed_optimizer_instances to 2: parallelism: {tp: 2, cp: 2, num_distributed_optimizer_instances: [-3-]{+2+}}
      = suggestion: Change num_distributed_optimizer_instances to 4: parallelism: {tp: 2, cp: 2, num_distributed_optimizer_instances: [-3-]{+4+}}
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {tp: 2, cp: 2[-, num_distributed_optimizer_instances: 3-]}
    the instances divide dp but not expt_dp: error at "4": 4 optimizer instances do not divide expt_dp 2. Use 1 or 2.
      = Megatron-LM: Expert data parallel size should be divisible by partial DistOpt shard factor
      = suggestion: Change num_distributed_optimizer_instances to 2: parallelism: {tp: 2, ep: 4, num_distributed_optimizer_instances: [-4-]{+2+}}
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {tp: 2, ep: 4[-, num_distributed_optimizer_instances: 4-]}
    generalized TP: error at "2": 2 optimizer instances do not work with gtp_remat 2. Use 1 instance, or gtp_remat 1.
      = Megatron-LM: GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.
      = at "2": gtp_remat is 2 here
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {tp: 2, gtp_remat: 2[-, num_distributed_optimizer_instances: 2-]}
      = suggestion: Use gtp_remat 1: parallelism: {tp: 2, [-gtp_remat: 2, -]num_distributed_optimizer_instances: 2}
    generalized TP of experts: error at "2": 2 optimizer instances do not work with expt_gtp_remat 2. Use 1 instance, or expt_gtp_remat 1.
      = Megatron-LM: GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.
      = at "2": expt_gtp_remat is 2 here
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {expt_gtp_remat: 2[-, num_distributed_optimizer_instances: 2-]}
      = suggestion: Use expt_gtp_remat 1: parallelism: {[-expt_gtp_remat: 2, -]num_distributed_optimizer_instances: 2}
    weight shards make generalized TP: error at "2": 2 optimizer instances do not work with gtp_remat 2. Use 1 instance, or gtp_remat 1.
      = Megatron-LM: GTP_remat with num_distributed_optimizer_instances > 1 is not yet supported.
      = at "4": num_weight_shards 4 makes gtp_remat 2
      = suggestion: Remove num_distributed_optimizer_instances: parallelism: {tp: 2, num_weight_shards: 4[-, num_distributed_optimizer_instances: 2-]}
      = suggestion: Use gtp_remat 1: parallelism: {tp: 2, [-num_weight_shards: 4, -]num_distributed_optimizer_instances: 2}"
  `);
});
