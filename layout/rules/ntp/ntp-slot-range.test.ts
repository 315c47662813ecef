import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpSlotRange } from './ntp-slot-range';
import { entry, map, ntp } from './testing';

test('ntp-slot-range', () => {
  const said = reports(ntpSlotRange, {
    'slots inside': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'a slot outside': ntp(`tp_spares: 2, ${map(entry(0, '6, 8'))}`),
    'a slot twice': ntp(`tp_spares: 2, ${map(entry(0, '7, 7'))}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "a slot outside: error at "8": Slot 8 is outside 0 to 7 and would be ignored. Name local TP slots, not global ranks.
      = suggestion: Change local_ranks to [6, 7]: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [-[6, 8]-]{+[6, 7]+}}]}
    a slot twice: error at "7": Slot 7 is named twice. Name each slot once.
      = suggestion: Change local_ranks to [6, 7]: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [-[7, 7]-]{+[6, 7]+}}]}"
  `);
});
