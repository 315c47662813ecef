import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpUnappliedEntry } from './ntp-unapplied-entry';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpUnappliedEntry, text);

test.each([['each reduced replica has one entry', ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`)]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('an entry that is not applied', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`))).toMatchInlineSnapshot(`
    "error[ntp-unapplied-entry] at "1"
    Replica dp 1 keeps its full TP group, since num_reduced_tp_dp_ranks is 1; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks 2, or drop the entry.
    = suggestion: Change num_reduced_tp_dp_ranks to 2
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}], num_reduced_tp_dp_ranks: 2}"
  `);
});

test('beside a written count', () => {
  expect(
    said(ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 1, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`)),
  ).toMatchInlineSnapshot(`
    "error[ntp-unapplied-entry] at "1"
    Replica dp 1 keeps its full TP group, since num_reduced_tp_dp_ranks is 1; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks 2, or drop the entry.
    = at "1": num_reduced_tp_dp_ranks is 1 here
    = suggestion: Change num_reduced_tp_dp_ranks to 2
      - ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 1, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]}
      + ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]}"
  `);
});

test('the same replica twice', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(0, '5, 7'))}`))).toMatchInlineSnapshot(`
    "error[ntp-unapplied-entry] at "0"
    Replica dp 0 has an entry already, and only one of them is read. Keep one."
  `);
});
