import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpUnappliedEntry } from './ntp-unapplied-entry';
import { entry, map, ntp } from './testing';

test('ntp-unapplied-entry', () => {
  const said = reports(ntpUnappliedEntry, {
    'each reduced replica has one entry': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'an entry that is not applied': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`),
    'beside a written count': ntp(
      `tp_spares: 2, num_reduced_tp_dp_ranks: 1, ${map(entry(0, '6, 7'), entry(1, '6, 7'))}`,
    ),
    'no entry for the replicas before it': ntp(`tp_spares: 2, ${map(entry(1, '6, 7'))}`),
    'the same replica twice': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'), entry(0, '5, 7'))}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "an entry that is not applied: error at "1": Replica dp 1 keeps its full TP group, since num_reduced_tp_dp_ranks is 1; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks 2, with an entry for each replica up to it, or drop the entry.
      = suggestion: Change num_reduced_tp_dp_ranks to 2: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]{+, num_reduced_tp_dp_ranks: 2+}}
    beside a written count: error at "1": Replica dp 1 keeps its full TP group, since num_reduced_tp_dp_ranks is 1; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks 2, with an entry for each replica up to it, or drop the entry.
      = at "1": num_reduced_tp_dp_ranks is 1 here
      = suggestion: Change num_reduced_tp_dp_ranks to 2: ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: [-1-]{+2+}, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}, {dp: 1, local_ranks: [6, 7]}]}
    no entry for the replicas before it: error at "1": Replica dp 1 keeps its full TP group, since num_reduced_tp_dp_ranks is 1; yet its ranks count as reduced. Use num_reduced_tp_dp_ranks 2, with an entry for each replica up to it, or drop the entry.
      = suggestion: Reduce replicas 0 to 1: ntp: {tp_spares: 2, non_active_ranks_per_dp: [{+{dp: 0, local_ranks: [6, 7]}, +}{dp: 1, local_ranks: [6, 7]}]{+, num_reduced_tp_dp_ranks: 2+}}
    the same replica twice: error at "0": Replica dp 0 has an entry already, and only one of them is read. Keep one."
  `);
});
