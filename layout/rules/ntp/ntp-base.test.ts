import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpBase } from './ntp-base';
import { entry, map, ntp } from './testing';

test('ntp-base', () => {
  const said = reports(ntpBase, {
    'tp_base is tp': ntp(`tp_base: 8, tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'another base': ntp('tp_base: 4, tp_spares: 2'),
    'a base beyond any NVLink domain': ntp('tp_spares: 2', 8192, 'tp: 4096'),
  });
  expect(said).toMatchInlineSnapshot(`
    "another base: error at "4": tp_base is 4, but tp is 8. Write tp_base 8, or leave it out.
      = at "8": tp is 8 here
    a base beyond any NVLink domain: error at "ntp": Nonuniform TP is for the slots of one NVLink domain, and none has 4,096 GPUs. Use tp 1,024 or less.
      = at "4096": tp is 4096 here"
  `);
});
