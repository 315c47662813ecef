import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { fsdpNotEnabled } from './fsdp-not-enabled';

test('fsdp-not-enabled', () => {
  const said = reports(fsdpNotEnabled, {
    'no fsdp': job(16, 'tp: 2'),
    'fsdp alone': job(16, 'tp: 2', 'fsdp: {enabled: true}'),
    no_shard: job(16, 'tp: 2', 'fsdp: {enabled: false, data_parallel_sharding_strategy: no_shard}'),
    'a group while enabled is not written': job(16, 'tp: 2', 'fsdp: {create_all_gather_group: true}'),
    'a strategy while enabled is false': job(
      16,
      'tp: 2',
      'fsdp: {enabled: false, data_parallel_sharding_strategy: optim}',
    ),
    'an unusable enabled has one diagnostic': job(16, 'tp: 2', 'fsdp: {enabled: maybe, create_all_gather_group: true}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a group while enabled is not written: warning at "true": create_all_gather_group has no effect while FSDP is off. Write enabled true, or remove create_all_gather_group.
      = suggestion: Insert enabled: true: fsdp: {create_all_gather_group: true{+, enabled: true+}}
      = suggestion: Remove create_all_gather_group: fsdp: {[-create_all_gather_group: true-]}
    a strategy while enabled is false: warning at "optim": data_parallel_sharding_strategy has no effect while FSDP is off. Write enabled true, or remove data_parallel_sharding_strategy.
      = at "false": enabled is false here
      = suggestion: Change enabled to true: fsdp: {enabled: [-false-]{+true+}, data_parallel_sharding_strategy: optim}
      = suggestion: Remove data_parallel_sharding_strategy: fsdp: {enabled: false[-, data_parallel_sharding_strategy: optim-]}
    an unusable enabled has one diagnostic: error[wrong-type] at "maybe": fsdp.enabled must be true or false, not 'maybe'."
  `);
});
