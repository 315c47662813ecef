import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpExpertGroups } from './ntp-expert-groups';
import { entry, map, ntp } from './testing';

test('ntp-expert-groups', () => {
  const said = reports(ntpExpertGroups, {
    'no experts': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    experts: ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, ep: 2, expt_tp: 1'),
    'experts without expert parallelism': `${ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`).trimEnd()}\nmodel: {num_experts: 8}\n`,
    'experts whose own tensor parallelism is 1': `${ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, expt_tp: 1').trimEnd()}\nmodel: {num_experts: 8}\n`,
  });
  expect(said).toMatchInlineSnapshot(`
    "experts: error at "2": Expert groups are not rebuilt: with ep 2 the ranks that stay wait for ranks that have left. Use ep 1 and no experts, or placement packed.
      = at "ntp": ntp is written here
      = suggestion: Change ep to 1: parallelism: {tp: 8, ep: [-2-]{+1+}, expt_tp: 1}
    experts without expert parallelism: error at "8": The model has experts, whose groups are not rebuilt: the ranks that stay wait in ep_tp (expt_tp is 8) for ranks that have left. Use placement packed, or drop the replica.
      = at "ntp": ntp is written here
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+14+} | ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]{+, placement: packed+}}
    experts whose own tensor parallelism is 1: error at "8": The model has experts, whose groups are not rebuilt: the ranks that stay wait in ep_dp for ranks that have left. Use placement packed, or drop the replica.
      = at "ntp": ntp is written here
      = suggestion: Launch the healthy slots only (packed placement): world_size: [-16-]{+14+} | ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]{+, placement: packed+}}"
  `);
});
