import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { fsdpGroupIdle } from './fsdp-group-idle';

test('fsdp-group-idle', () => {
  const said = reports(fsdpGroupIdle, {
    'several replicas': job(16, 'tp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}'),
    'context-parallel ranks gather too': job(8, 'tp: 4, cp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}'),
    'one replica': job(8, 'tp: 4, pp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}'),
    'whole parameters on every rank': job(
      16,
      'tp: 2',
      'fsdp: {enabled: true, create_all_gather_group: true, data_parallel_sharding_strategy: no_shard}',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "one replica: warning at "true": With dp x cp 1 there is nothing to gather. Remove create_all_gather_group.
    whole parameters on every rank: warning at "true": With no_shard every rank has whole parameters: there is nothing to gather. Remove create_all_gather_group.
      = at "no_shard": data_parallel_sharding_strategy is no_shard here
      = suggestion: Remove create_all_gather_group: fsdp: {enabled: true, [-create_all_gather_group: true, -]data_parallel_sharding_strategy: no_shard}"
  `);
});
