import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { unknownGroup } from './unknown-group';

const streams = (names: string) => `communicators: {high_priority_stream_groups: [${names}]}`;

test('unknown-group', () => {
  const said = reports(unknownGroup, {
    'names of groups': job(16, 'tp: 2', streams('dp_cp, ep_dp, tp')),
    'a name near that of a group': job(16, 'tp: 2', streams('dp_cp, edp')),
    'a name near that of no group': job(16, 'tp: 2', streams('everything')),
    'a group that this layout does not make': job(16, 'tp: 2', streams('intra_dp_cp')),
  });
  expect(said).toMatchInlineSnapshot(`
    "a name near that of a group: error at "edp": No process group is called 'edp'. Did you mean dp?
      = suggestion: Change to dp: communicators: {high_priority_stream_groups: [dp_cp, [-edp-]{+dp+}]}
    a name near that of no group: error at "everything": No process group is called 'everything'. They are tp, cp, hcp, pp, mp, embd, pos_embd, dp, dp_cp, intra_dp_cp, tp_dp_cp, tp_dp, tp_cp, gtp_remat, gtp_remat_dp, gtp_remat_dp_cp, ep, ep_tp, tp_ep_mp, tp_ep_pp, tp_ep_gtp_remat_pp, ep_dp, intra_ep_dp, inter_ep_dp, expt_gtp_remat, ep_gtp_remat_dp, intra_dist_opt_instance, dp_cp_ag and expt_dp_ag.
    a group that this layout does not make: warning at "intra_dp_cp": This layout makes no group 'intra_dp_cp'. Remove it from the list."
  `);
});
