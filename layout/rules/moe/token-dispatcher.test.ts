import { expect, test } from 'vitest';
import { job, report, scriptJob } from '../testing';
import { tokenDispatcher } from './token-dispatcher';

const said = (text: string) => report(tokenDispatcher, text);

test.each([
  ['DeepEP in the flex dispatcher', job(8, 'ep: 8', 'moe: {moe_token_dispatcher_type: flex, moe_enable_deepep: true}')],
  ['a file that leaves the dispatcher open', job(8, 'ep: 8', 'moe: {moe_enable_deepep: true}')],
  [
    'no communication with the alltoall dispatcher',
    job(8, 'ep: 8', 'moe: {moe_token_dispatcher_type: alltoall}', 'communicators: {fake_process_group: true}'),
  ],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('DeepEP in another dispatcher', () => {
  const moe = 'moe: {moe_token_dispatcher_type: alltoall, moe_enable_deepep: true}';
  expect(said(job(8, 'ep: 8', moe))).toMatchInlineSnapshot(`
    "error[token-dispatcher] at "true"
    moe_enable_deepep needs the flex dispatcher, not alltoall. Use moe_token_dispatcher_type flex.
    = Megatron-LM: DeepEP backend is only supported with flex token dispatcher.
    = suggestion: Remove \`moe_enable_deepep\`
      - moe: {moe_token_dispatcher_type: alltoall, moe_enable_deepep: true}
      + moe: {moe_token_dispatcher_type: alltoall}"
  `);
});

test('DeepEP where the training script takes its own dispatcher', () => {
  expect(said(scriptJob(8, 'tp: 1', { moe: 'moe_enable_deepep: true' }))).toMatchInlineSnapshot(`
    "error[token-dispatcher] at "true"
    moe_enable_deepep needs the flex dispatcher, not allgather, the default. Use moe_token_dispatcher_type flex.
    = Megatron-LM: DeepEP backend is only supported with flex token dispatcher.
    = suggestion: Remove \`moe_enable_deepep\`
      - moe: {moe_enable_deepep: true}
      + moe: {}"
  `);
});

test('the flex dispatcher without communication', () => {
  const text = job(8, 'ep: 8', 'moe: {moe_token_dispatcher_type: flex}', 'communicators: {fake_process_group: true}');
  expect(said(text)).toMatchInlineSnapshot(`
    "error[token-dispatcher] at "true"
    fake_process_group excludes the flex dispatcher. Use alltoall.
    = Megatron-LM: Fake process group is not supported with flex token dispatcher.
    = suggestion: Remove \`fake_process_group\`
      - communicators: {fake_process_group: true}
      + communicators: {}"
  `);
});
