import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpMapIncomplete } from './ntp-map-incomplete';
import { entry, map, ntp } from './testing';

test('ntp-map-incomplete', () => {
  const said = reports(ntpMapIncomplete, {
    'every reduced replica has an entry': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'no map': ntp('tp_spares: 2'),
    'a map that lacks a replica': ntp(`tp_spares: 2, num_reduced_tp_dp_ranks: 2, ${map(entry(0, '6, 7'))}`),
    'more replicas than are written': ntp('tp_spares: 2, num_reduced_tp_dp_ranks: 131072', 1_048_576),
  });
  expect(said).toMatchInlineSnapshot(`
    "no map: error at "ntp": non_active_ranks_per_dp is missing: the groups shrink, but the reshard maps take all replicas as whole. Write the slots of replica dp 0.
      = suggestion: Write the last slots (6 and 7) of each replica: ntp: {tp_spares: 2{+, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]+}}
    a map that lacks a replica: error at "non_active_ranks_per_dp": Replica dp 1 has no entry: its groups shrink, but the reshard maps take it as whole. Write an entry.
      = suggestion: Write the last slots (6 and 7) of each replica: ntp: {tp_spares: 2, num_reduced_tp_dp_ranks: 2, non_active_ranks_per_dp: [{+{dp: 1, local_ranks: [6, 7]}, +}{dp: 0, local_ranks: [6, 7]}]}
    more replicas than are written: error at "ntp": non_active_ranks_per_dp is missing: the groups shrink, but the reshard maps take all replicas as whole. Write the slots of replica dp 0, 1, 2, 3 and others."
  `);
});
