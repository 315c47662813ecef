import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { allGatherGroups } from './all-gather-groups';

const GROUP = 'fsdp: {enabled: true, create_all_gather_group: true}';
const BATCH = 'batch: {micro_batch_size: 1, global_batch_size: 1024}';

test('all-gather-groups', () => {
  const said = reports(allGatherGroups, {
    'the default order': job(16, 'tp: 2, cp: 2', GROUP),
    'an order that changes neither group': job(16, 'tp: 2, order: tp-dp-cp-ep-pp', GROUP),
    'generalized TP of experts, whose group is not asked for': job(
      16,
      'ep: 4, expt_gtp_remat: 2',
      BATCH,
      'fsdp: {enabled: true, create_all_gather_group: true, create_expert_all_gather_group: false}',
    ),
    'modules make no such groups': `layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2}\n${GROUP}\n`,
    'generalized TP is counted twice: torch refuses the first rank outside': job(
      16,
      'tp: 2, pp: 2, gtp_remat: 2',
      BATCH,
      GROUP,
    ),
    'weight shards make generalized TP': job(16, 'tp: 2, num_weight_shards: 4', BATCH, GROUP),
    'a degree beside the weight shards that make it': job(
      16,
      'tp: 2, gtp_remat: 2, num_weight_shards: 4',
      BATCH,
      GROUP,
    ),
    'generalized TP of experts, whose group is asked for': job(
      16,
      'expt_tp: 1, ep: 4, expt_gtp_remat: 2',
      BATCH,
      GROUP,
    ),
    'an order under which dp_cp has other ranks': job(16, 'tp: 2, pp: 2, order: tp-cp-ep-pp-dp', GROUP),
    'an order under which only ep_dp has': job(16, 'tp: 2, ep: 4, expt_tp: 1, order: tp-cp-dp-ep-pp', GROUP),
  });
  expect(said).toMatchInlineSnapshot(`
    "generalized TP is counted twice: torch refuses the first rank outside: error at "true": Megatron-LM counts gtp_remat 2 twice in all-gather groups and asks for ranks outside the world of 16. Remove create_all_gather_group, or use gtp_remat 1.
      = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)
      = at "2": gtp_remat is 2 here
      = suggestion: Use gtp_remat 1: parallelism: {tp: 2, pp: 2[-, gtp_remat: 2-]}
    weight shards make generalized TP: error at "true": Megatron-LM counts gtp_remat 2 twice in all-gather groups and asks for ranks outside the world of 16. Remove create_all_gather_group, or use gtp_remat 1.
      = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)
      = at "4": num_weight_shards 4 makes gtp_remat 2
      = suggestion: Use gtp_remat 1: parallelism: {tp: 2[-, num_weight_shards: 4-]}
    a degree beside the weight shards that make it: error at "true": Megatron-LM counts gtp_remat 2 twice in all-gather groups and asks for ranks outside the world of 16. Remove create_all_gather_group, or use gtp_remat 1.
      = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)
      = at "2": gtp_remat is 2 here
      = at "4": num_weight_shards 4 makes gtp_remat 2
      = suggestion: Use gtp_remat 1: parallelism: {tp: 2[-, gtp_remat: 2, num_weight_shards: 4-]}
    generalized TP of experts, whose group is asked for: error at "true": Megatron-LM counts expt_gtp_remat 2 twice in all-gather groups and asks for ranks outside the world of 16. Remove create_all_gather_group, or use expt_gtp_remat 1.
      = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)
      = at "2": expt_gtp_remat is 2 here
      = suggestion: Use expt_gtp_remat 1: parallelism: {expt_tp: 1, ep: 4[-, expt_gtp_remat: 2-]}
    an order under which dp_cp has other ranks: error at "true": Megatron-LM makes all-gather groups in the default order; in this order dp_cp has other ranks. Remove create_all_gather_group, or use order tp-cp-ep-dp-pp.
      = at "tp-cp-ep-pp-dp": order is tp-cp-ep-pp-dp here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, pp: 2, order: [-tp-cp-ep-pp-dp-]{+tp-cp-ep-dp-pp+}}
    an order under which only ep_dp has: error at "true": Megatron-LM makes all-gather groups in the default order; in this order ep_dp has other ranks. Remove create_all_gather_group, or use order tp-cp-ep-dp-pp.
      = at "tp-cp-dp-ep-pp": order is tp-cp-dp-ep-pp here
      = suggestion: Remove create_all_gather_group: fsdp: {enabled: true[-, create_all_gather_group: true-]}
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 2, ep: 4, expt_tp: 1, order: [-tp-cp-dp-ep-pp-]{+tp-cp-ep-dp-pp+}}"
  `);
});
