import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { conflictingKeys } from './conflicting-keys';

test('conflicting-keys', () => {
  const said = reports(conflictingKeys, {
    'one grid and several': 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\nmodules:\n  language: {num_ranks: 8}\n',
    'two numbers of weight shards that disagree': job(16, 'tp: 2, gtp_remat: 4, num_weight_shards: 4'),
    'two numbers of expert weight shards that disagree': job(16, 'ep: 2, expt_gtp_remat: 4, expt_num_weight_shards: 2'),
    'two numbers of weight shards that agree': job(
      16,
      'tp: 2, gtp_remat: 2, num_weight_shards: 4',
      'batch: {micro_batch_size: 1, global_batch_size: 1024}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "one grid and several: error at "modules": Write parallelism (one grid over the world) or modules (one grid each), not both.
      = at "parallelism": parallelism is written here
      = suggestion: Remove parallelism: [-parallelism: {tp: 2}⏎-]modules:
      = suggestion: Remove modules: [-modules:⏎  language: {num_ranks: 8}⏎-]
    two numbers of weight shards that disagree: warning at "4": gtp_remat is 4, but 4 weight shards make it 2, and the shards win. Keep one of the two.
      = at "4": 4 weight shards here
      = suggestion: Remove gtp_remat: parallelism: {tp: 2, [-gtp_remat: 4, -]num_weight_shards: 4}
      = suggestion: Remove the number of weight shards: parallelism: {tp: 2, gtp_remat: 4[-, num_weight_shards: 4-]}
      = suggestion: Change gtp_remat to 2: parallelism: {tp: 2, gtp_remat: [-4-]{+2+}, num_weight_shards: 4}
    two numbers of expert weight shards that disagree: warning at "4": expt_gtp_remat is 4, but 2 weight shards make it 2, and the shards win. Keep one of the two.
      = at "2": 2 weight shards here
      = suggestion: Remove expt_gtp_remat: parallelism: {ep: 2, [-expt_gtp_remat: 4, -]expt_num_weight_shards: 2}
      = suggestion: Remove the number of weight shards: parallelism: {ep: 2, expt_gtp_remat: 4[-, expt_num_weight_shards: 2-]}
      = suggestion: Change expt_gtp_remat to 2: parallelism: {ep: 2, expt_gtp_remat: [-4-]{+2+}, expt_num_weight_shards: 2}"
  `);
});
