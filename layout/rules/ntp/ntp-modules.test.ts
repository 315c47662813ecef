import { expect, test } from 'vitest';
import { job, modules, reports } from '../testing';
import { ntpModules } from './ntp-modules';

test('ntp-modules', () => {
  const said = reports(ntpModules, {
    'without modules': job(8, 'tp: 4', 'ntp: {tp_spares: 0}'),
    'beside modules': `${modules(8, 'language: {num_ranks: 8, tp: 4}')}ntp: {tp_spares: 1}\n`,
  });
  expect(said).toMatchInlineSnapshot(`
    "beside modules: error at "ntp": ntp does not work with modules: it assumes one grid from rank 0. Remove it, or use parallelism.
      = at "modules": modules is written here
      = suggestion: Remove ntp: [-ntp: {tp_spares: 1}⏎-]"
  `);
});
