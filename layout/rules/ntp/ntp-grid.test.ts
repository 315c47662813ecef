import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpGrid } from './ntp-grid';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpGrid, text);

test.each([['the default order', ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, order: tp-cp-ep-dp-pp')]])(
  '%s',
  (_, text) => {
    expect(said(text)).toBe('');
  },
);

test('another order', () => {
  expect(
    said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, order: dp-tp-cp-ep-pp')),
  ).toMatchInlineSnapshot(`
    "error[ntp-grid] at "dp-tp-cp-ep-pp"
    Nonuniform TP takes ranks in the order tp, cp, dp; here they lie in the order dp, tp. Use the default order.
    = at "ntp": ntp is written here
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 8, order: dp-tp-cp-ep-pp}
      + parallelism: {tp: 8, order: tp-cp-ep-dp-pp}"
  `);
});

test('generalized TP', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, gtp_remat: 2'))).toMatchInlineSnapshot(`
    "error[ntp-grid] at "2"
    Nonuniform TP does not know generalized TP: it rebuilds the groups of other ranks. Use gtp_remat 1.
    = at "ntp": ntp is written here"
  `);
});

test('generalized TP as weight shards', () => {
  expect(
    said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, num_weight_shards: 16')),
  ).toMatchInlineSnapshot(`
    "error[ntp-grid] at "16"
    Nonuniform TP does not know generalized TP: it rebuilds the groups of other ranks. Use gtp_remat 1.
    = at "ntp": ntp is written here"
  `);
});
