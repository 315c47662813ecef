import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { fsdpNotEnabled } from './fsdp-not-enabled';

const said = (text: string) => report(fsdpNotEnabled, text);

test.each([
  ['no fsdp', job(16, 'tp: 2')],
  ['fsdp alone', job(16, 'tp: 2', 'fsdp: {enabled: true}')],
  ['no_shard', job(16, 'tp: 2', 'fsdp: {enabled: false, data_parallel_sharding_strategy: no_shard}')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a group while enabled is not written', () => {
  expect(said(job(16, 'tp: 2', 'fsdp: {create_all_gather_group: true}'))).toMatchInlineSnapshot(`
    "warning[fsdp-not-enabled] at "true"
    create_all_gather_group has no effect while FSDP is off. Write \`enabled: true\`, or remove create_all_gather_group.
    = suggestion: Insert \`enabled: true\`
      - fsdp: {create_all_gather_group: true}
      + fsdp: {create_all_gather_group: true, enabled: true}
    = suggestion: Remove \`create_all_gather_group\`
      - fsdp: {create_all_gather_group: true}
      + fsdp: {}"
  `);
});

test('a strategy while enabled is false', () => {
  const text = job(16, 'tp: 2', 'fsdp: {enabled: false, data_parallel_sharding_strategy: optim}');
  expect(said(text)).toMatchInlineSnapshot(`
    "warning[fsdp-not-enabled] at "optim"
    data_parallel_sharding_strategy has no effect while FSDP is off. Write \`enabled: true\`, or remove data_parallel_sharding_strategy.
    = at "false": enabled is false here
    = suggestion: Change enabled to true
      - fsdp: {enabled: false, data_parallel_sharding_strategy: optim}
      + fsdp: {enabled: true, data_parallel_sharding_strategy: optim}
    = suggestion: Remove \`data_parallel_sharding_strategy\`
      - fsdp: {enabled: false, data_parallel_sharding_strategy: optim}
      + fsdp: {enabled: false}"
  `);
});

test('an unusable enabled has one diagnostic', () => {
  expect(said(job(16, 'tp: 2', 'fsdp: {enabled: maybe, create_all_gather_group: true}'))).toMatchInlineSnapshot(`
    "error[wrong-type] at "maybe"
    \`fsdp.enabled\` must be true or false, not \`maybe\`."
  `);
});
