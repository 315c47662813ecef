import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpCost } from './ntp-cost';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpCost, text);

test.each([['switched off', ntp('tp_spares: 0')]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('tp 6 of 8', () => {
  expect(
    said(
      ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8', 'batch: {micro_batch_size: 1, global_batch_size: 32}'),
    ),
  ).toMatchInlineSnapshot(`
    "information[ntp-cost] at "ntp"
    1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. It takes 12 of its 16 sequences a step, which keeps 87.5 % of compute; dropping the replica would keep 50.0 %."
  `);
});

test('a rest of a sequence is lost', () => {
  expect(
    said(
      ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8', 'batch: {micro_batch_size: 1, global_batch_size: 10}'),
    ),
  ).toMatchInlineSnapshot(`
    "information[ntp-cost] at "ntp"
    1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. It takes 3 of its 5 sequences a step, which keeps 80.0 % of compute; dropping the replica would keep 50.0 %."
  `);
});

test('without a batch', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`))).toMatchInlineSnapshot(`
    "information[ntp-cost] at "ntp"
    1 of 2 replicas runs with tp 6 in place of 8: 2 of 16 GPUs idle. About 87.5 % of compute is kept; dropping the replica would keep 50.0 %."
  `);
});

test('two replicas', () => {
  expect(
    said(ntp(`tp_spares: 1, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '7'), entry(1, '7'))}`, 32)),
  ).toMatchInlineSnapshot(`
    "information[ntp-cost] at "ntp"
    2 of 4 replicas run with tp 7 in place of 8: 2 of 32 GPUs idle. About 93.8 % of compute is kept; dropping the replicas would keep 50.0 %."
  `);
});
