import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpGrid } from './ntp-grid';
import { entry, map, ntp } from './testing';

test('ntp-grid', () => {
  const said = reports(ntpGrid, {
    'the default order': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, order: tp-cp-ep-dp-pp'),
    'another order': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, order: dp-tp-cp-ep-pp'),
    'generalized TP': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, gtp_remat: 2'),
    'generalized TP as weight shards': ntp(
      `tp_spares: 2, ${map(entry(0, '6, 7'))}`,
      16,
      'tp: 8, num_weight_shards: 16',
    ),
  });
  expect(said).toMatchInlineSnapshot(`
    "another order: error at "dp-tp-cp-ep-pp": Nonuniform TP takes ranks in the order tp, cp, dp; here they lie in the order dp, tp. Use the default order.
      = at "ntp": ntp is written here
      = suggestion: Change order to tp-cp-ep-dp-pp: parallelism: {tp: 8, order: [-dp-tp-cp-ep-pp-]{+tp-cp-ep-dp-pp+}}
    generalized TP: error at "2": Nonuniform TP does not know generalized TP: it rebuilds the groups of other ranks. Use gtp_remat 1.
      = at "ntp": ntp is written here
    generalized TP as weight shards: error at "16": Nonuniform TP does not know generalized TP: it rebuilds the groups of other ranks. Use gtp_remat 1.
      = at "ntp": ntp is written here"
  `);
});
