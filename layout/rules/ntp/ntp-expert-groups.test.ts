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
    Expert groups are not rebuilt: with ep 2 the ranks that stay wait for ranks that have left. Use ep 1.
    = at "ntp": ntp is written here
    = suggestion: Change ep to 1
      - parallelism: {tp: 8, ep: 2, expt_tp: 1}
      + parallelism: {tp: 8, ep: 1, expt_tp: 1}"
  `);
});
