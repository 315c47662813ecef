import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpSlotRange } from './ntp-slot-range';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpSlotRange, text);

test.each([['slots inside', ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`)]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a slot outside', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 8'))}`))).toMatchInlineSnapshot(`
    "error[ntp-slot-range] at "8"
    Slot 8 is outside 0 to 7 and would be ignored. Name local TP slots, not global ranks.
    = suggestion: Change local_ranks to [6, 7]
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 8]}]}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]}"
  `);
});

test('a slot twice', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '7, 7'))}`))).toMatchInlineSnapshot(`
    "error[ntp-slot-range] at "7"
    Slot 7 is named twice. Name each slot once.
    = suggestion: Change local_ranks to [6, 7]
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [7, 7]}]}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]}"
  `);
});
