import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpCpSlices } from './ntp-cp-slices';
import { map, ntp } from './testing';

test('ntp-cp-slices', () => {
  const said = reports(ntpCpSlices, {
    'equal slices': ntp(
      `tp_spares: 1, ${map('{dp: 0, cp: 0, local_ranks: [7]}', '{dp: 0, cp: 1, local_ranks: [7]}')}`,
      32,
      'tp: 8, cp: 2',
    ),
    'slices that differ, said once': ntp(
      `tp_spares: 1, num_reduced_tp_dp_ranks: 2, ${map('{dp: 0, cp: 0, local_ranks: [7]}', '{dp: 0, cp: 1, local_ranks: [6]}', '{dp: 1, cp: 0, local_ranks: [7]}', '{dp: 1, cp: 1, local_ranks: [6]}')}`,
      32,
      'tp: 8, cp: 2',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "slices that differ, said once: error at "[6]": Replica dp 0 keeps the slots 0 to 6 in slice cp 0, but 0 to 5 and 7 in slice cp 1. Write one entry without cp.
      = Megatron-LM: Legacy NTP process-group reconfiguration requires the same active local TP ranks for every CP slice in a DP replica."
  `);
});
