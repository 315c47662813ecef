import { expect, test } from 'vitest';
import { job, modules, report } from '../testing';
import { ntpModules } from './ntp-modules';

const said = (text: string) => report(ntpModules, text);

test.each([['without modules', job(8, 'tp: 4', 'ntp: {tp_spares: 0}')]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('beside modules', () => {
  expect(said(`${modules(8, 'language: {num_ranks: 8, tp: 4}')}ntp: {tp_spares: 1}\n`)).toMatchInlineSnapshot(`
    "error[ntp-modules] at "ntp"
    \`ntp\` does not work with \`modules\`: it assumes one grid from rank 0. Remove it, or use \`parallelism\`.
    = at "modules": \`modules\` is written here
    = suggestion: Remove \`ntp\`
      - ntp: {tp_spares: 1}"
  `);
});
