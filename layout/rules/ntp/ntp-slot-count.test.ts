import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpSlotCount } from './ntp-slot-count';
import { entry, map, ntp } from './testing';

test('ntp-slot-count', () => {
  const said = reports(ntpSlotCount, {
    'as many as spares': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'too few slots': ntp(`tp_spares: 2, ${map(entry(0, '7'))}`),
    'too many slots': ntp(`tp_spares: 2, ${map(entry(0, '5, 6, 7'))}`),
    'slices that differ, in an entry that has too few slots': ntp(
      `tp_spares: 2, ${map('{dp: 0, cp: 0, local_ranks: [6, 7]}', '{dp: 0, cp: 1, local_ranks: [5]}')}`,
      32,
      'tp: 8, cp: 2',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "too few slots: error at "[7]": 1 slot is named, but tp_spares is 2. Name 6 and 7.
      = at "{dp: 0, local_ranks: [7]}": in this entry
      = suggestion: Change local_ranks to [6, 7]: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [-[7]-]{+[6, 7]+}}]}
    too many slots: error at "[5, 6, 7]": 3 slots are named, but tp_spares is 2. Use tp_spares 3 for all replicas.
      = at "{dp: 0, local_ranks: [5, 6, 7]}": in this entry
    slices that differ, in an entry that has too few slots: error at "[5]": 1 slot is named, but tp_spares is 2. Name 5 and 7.
      = Megatron-LM: Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica.
      = at "{dp: 0, cp: 1, local_ranks: [5]}": in this entry"
  `);
});
