import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpDpSync } from './ntp-dp-sync';
import { entry, map, ntp } from './testing';

test('ntp-dp-sync', () => {
  const said = reports(ntpDpSync, {
    'the last slots of one replica': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'slots that are not the last, packed': ntp(`tp_spares: 2, placement: packed, ${map(entry(0, '2, 5'))}`, 14),
    'slots that are not the last': ntp(`tp_spares: 2, ${map(entry(0, '2, 5'))}`),
    'one slot that is not the last': ntp(`tp_spares: 1, ${map(entry(0, '2'))}`),
    'a failed rank that the last slots would bring back': ntp(`tp_spares: 1, failed_ranks: [2], ${map(entry(0, '2'))}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "slots that are not the last: error at "[2, 5]": The data-parallel groups of slots 2 and 5 to 7 hang: some of their ranks enter the gradient all-reduce, others have left. Remove the last 2 slots (6 and 7) of each replica, or use packed placement.
      = suggestion: Remove slots 6 and 7 everywhere: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [-[2, 5]-]{+[6, 7]+}}]}
    one slot that is not the last: error at "[2]": The data-parallel groups of slots 2 and 7 hang: some of their ranks enter the gradient all-reduce, others have left. Remove the last slot (7) of each replica, or use packed placement.
      = suggestion: Remove slot 7 everywhere: ntp: {tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [-[2]-]{+[7]+}}]}
    a failed rank that the last slots would bring back: error at "[2]": The data-parallel groups of slots 2 and 7 hang: some of their ranks enter the gradient all-reduce, others have left. Remove the last slot (7) of each replica, or use packed placement.
      = suggestion: Derive the spares from failed_ranks: ntp: {tp_spares: [-1-]{+6+}, failed_ranks: [2], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [2]}]-]{+[{dp: 0, local_ranks: [2, 3, 4, 5, 6, 7]}]+}{+, num_reduced_tp_dp_ranks: 1+}}
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+15+} | ntp: {tp_spares: [-1-]{+1+}, failed_ranks: [2], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [2]}]-]{+[{dp: 0, local_ranks: [2]}]+}{+, num_reduced_tp_dp_ranks: 1, placement: packed+}}"
  `);
});
