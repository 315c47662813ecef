import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpReplicaRange } from './ntp-replica-range';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpReplicaRange, text);

test.each([
  ['all replicas', ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`)],
  ['a stage of one replica, which is the replica', ntp(`tp_spares: 2, ${map('{dp: 0, pp: 0, local_ranks: [6, 7]}')}`)],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('more reduced replicas than there are', () => {
  expect(said(ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 3, ${map(entry(0, '6, 7'))}`))).toMatchInlineSnapshot(`
    "error[ntp-replica-range] at "3"
    num_reduced_tp_dp_ranks is 3, but there are 2 replicas. Use 2 or fewer.
    = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)"
  `);
});

test('a replica outside', () => {
  expect(
    said(ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'), entry(5, '6, 7'))}`)),
  ).toMatchInlineSnapshot(`
    "error[ntp-replica-range] at "5"
    dp 5 does not exist: the grid has dp 0 to 1.
    = suggestion: Change dp to 1
      - ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 5, local_ranks: [6, 7]}]}
      + ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]}"
  `);
});

test('a slice outside', () => {
  expect(said(ntp(`tp_spares: 2, ${map('{dp: 0, cp: 1, local_ranks: [6, 7]}')}`))).toMatchInlineSnapshot(`
    "error[ntp-replica-range] at "1"
    cp 1 does not exist: the grid has cp 0 only.
    = suggestion: Change cp to 0
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, cp: 1, local_ranks: [6, 7]}]}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, cp: 0, local_ranks: [6, 7]}]}"
  `);
});
