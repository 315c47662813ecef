import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpReplicaRange } from './ntp-replica-range';
import { entry, map, ntp } from './testing';

test('ntp-replica-range', () => {
  const said = reports(ntpReplicaRange, {
    'all replicas': ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`),
    'a stage of one replica, which is the replica': ntp(`tp_spares: 2, ${map('{dp: 0, pp: 0, local_ranks: [6, 7]}')}`),
    'more reduced replicas than there are': ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 3, ${map(entry(0, '6, 7'))}`),
    'a replica outside': ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'), entry(5, '6, 7'))}`),
    'a slice outside': ntp(`tp_spares: 2, ${map('{dp: 0, cp: 1, local_ranks: [6, 7]}')}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "more reduced replicas than there are: error at "3": num_reduced_tp_dp_ranks is 3, but there are 2 replicas. Use 2 or fewer.
      = Megatron-LM: Rank 16 is out of range. Valid ranks are 0 to 15 (world_size=16)
    a replica outside: error at "5": dp 5 does not exist: the grid has dp 0 to 1.
      = suggestion: Change dp to 1: ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: [-5-]{+1+}, local_ranks: [6, 7]}]}
    a slice outside: error at "1": cp 1 does not exist: the grid has cp 0 only.
      = suggestion: Change cp to 0: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, cp: [-1-]{+0+}, local_ranks: [6, 7]}]}"
  `);
});
