import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpExpertGroups } from './ntp-expert-groups';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpExpertGroups, text);

test.each([['no experts', ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`)]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('experts', () => {
  expect(said(ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, ep: 2, expt_tp: 1'))).toMatchInlineSnapshot(`
    "error[ntp-expert-groups] at "2"
    Expert groups are not rebuilt: with ep 2 the ranks that stay wait for ranks that have left. Use ep 1 and no experts, or placement packed.
    = at "ntp": ntp is written here
    = suggestion: Change ep to 1
      - parallelism: {tp: 8, ep: 2, expt_tp: 1}
      + parallelism: {tp: 8, ep: 1, expt_tp: 1}"
  `);
});

test('experts without expert parallelism', () => {
  const model = 'model: {num_experts: 8}';
  const text = ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`);
  expect(said(`${text.trimEnd()}\n${model}\n`)).toMatchInlineSnapshot(`
    "error[ntp-expert-groups] at "8"
    The model has experts, whose groups are not rebuilt: the ranks that stay wait in ep_tp (expt_tp is 8) for ranks that have left. Use placement packed, or drop the replica.
    = at "ntp": ntp is written here
    = suggestion: Launch the healthy slots only (packed placement)
      - world_size: 16
      - parallelism: {tp: 8}
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]}
      + world_size: 14
      + parallelism: {tp: 8}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}], placement: packed}"
  `);
});

test('experts whose own tensor parallelism is 1', () => {
  const text = ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`, 16, 'tp: 8, expt_tp: 1');
  expect(said(`${text.trimEnd()}\nmodel: {num_experts: 8}\n`)).toMatchInlineSnapshot(`
    "error[ntp-expert-groups] at "8"
    The model has experts, whose groups are not rebuilt: the ranks that stay wait in ep_dp for ranks that have left. Use placement packed, or drop the replica.
    = at "ntp": ntp is written here
    = suggestion: Launch the healthy slots only (packed placement)
      - world_size: 16
      - parallelism: {tp: 8, expt_tp: 1}
      - ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}]}
      + world_size: 14
      + parallelism: {tp: 8, expt_tp: 1}
      + ntp: {tp_spares: 2, non_active_ranks_per_dp: [{dp: 0, local_ranks: [6, 7]}], placement: packed}"
  `);
});
