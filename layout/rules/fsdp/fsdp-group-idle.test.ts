import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { fsdpGroupIdle } from './fsdp-group-idle';

const said = (text: string) => report(fsdpGroupIdle, text);

test.each([
  ['several replicas', job(16, 'tp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}')],
  ['context-parallel ranks gather too', job(8, 'tp: 4, cp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('one replica', () => {
  const text = job(8, 'tp: 4, pp: 2', 'fsdp: {enabled: true, create_all_gather_group: true}');
  expect(said(text)).toMatchInlineSnapshot(`
    "warning[fsdp-group-idle] at "true"
    With dp x cp 1 there is nothing to gather. Remove create_all_gather_group."
  `);
});

test('whole parameters on every rank', () => {
  const fsdp = 'fsdp: {enabled: true, create_all_gather_group: true, data_parallel_sharding_strategy: no_shard}';
  expect(said(job(16, 'tp: 2', fsdp))).toMatchInlineSnapshot(`
    "warning[fsdp-group-idle] at "true"
    With no_shard every rank has whole parameters: there is nothing to gather. Remove create_all_gather_group.
    = at "no_shard": data_parallel_sharding_strategy is no_shard here
    = suggestion: Remove \`create_all_gather_group\`
      - fsdp: {enabled: true, create_all_gather_group: true, data_parallel_sharding_strategy: no_shard}
      + fsdp: {enabled: true, data_parallel_sharding_strategy: no_shard}"
  `);
});
