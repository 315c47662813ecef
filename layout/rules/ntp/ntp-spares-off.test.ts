import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { ntpSparesOff } from './ntp-spares-off';

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
  });
  expect(said).toMatchInlineSnapshot(`
    "removed slots without spares: error at "0": tp_spares is 0, so the removed slots stay in. Use tp_spares 1.
      = suggestion: Change tp_spares to 1: ntp: {tp_spares: [-0-]{+1+}, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}"
  `);
});
