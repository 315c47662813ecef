import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { ntpSparesOff } from './ntp-spares-off';
import { entry, map, ntp } from './testing';

test('ntp-spares-off', () => {
  const said = reports(ntpSparesOff, {
    'as many spares as slots': job(
      8,
      'tp: 4',
      'ntp: {tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}',
    ),
    'removed slots without spares': job(
      8,
      'tp: 4',
      'ntp: {tp_spares: 0, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}',
    ),
    'beside a failed rank that no entry removes': ntp(`tp_spares: 0, failed_ranks: [6], ${map(entry(0, '7'))}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "removed slots without spares: error at "0": tp_spares is 0, so the removed slots stay in. Use tp_spares 1.
      = suggestion: Change tp_spares to 1: ntp: {tp_spares: [-0-]{+1+}, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}
    beside a failed rank that no entry removes: error at "0": tp_spares is 0, so the removed slots stay in. Use tp_spares 1.
      = suggestion: Derive the spares from failed_ranks: ntp: {tp_spares: [-0-]{+2+}, failed_ranks: [6], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [7]}]-]{+[{dp: 0, local_ranks: [6, 7]}]+}{+, num_reduced_tp_dp_ranks: 1+}}
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+15+} | ntp: {tp_spares: [-0-]{+1+}, failed_ranks: [6], non_active_ranks_per_dp: [-[{dp: 0, local_ranks: [7]}]-]{+[{dp: 0, local_ranks: [6]}]+}{+, num_reduced_tp_dp_ranks: 1, placement: packed+}}"
  `);
});
