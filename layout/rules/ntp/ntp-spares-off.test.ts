import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { ntpSparesOff } from './ntp-spares-off';

const said = (text: string) => report(ntpSparesOff, text);

test('as many spares as slots', () => {
  expect(said(job(8, 'tp: 4', 'ntp: {tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}'))).toBe('');
});

test('removed slots without spares', () => {
  expect(
    said(job(8, 'tp: 4', 'ntp: {tp_spares: 0, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}')),
  ).toMatchInlineSnapshot(`
    "error[ntp-spares-off] at "0"
    tp_spares is 0, so the removed slots stay in. Use tp_spares 1.
    = suggestion: Change tp_spares to 1
      - ntp: {tp_spares: 0, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}
      + ntp: {tp_spares: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [3]}]}"
  `);
});
