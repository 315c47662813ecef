import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpBase } from './ntp-base';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpBase, text);

test.each([['tp_base is tp', ntp(`tp_base: 8, tp_spares: 2, ${map(entry(0, '6, 7'))}`)]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('another base', () => {
  expect(said(ntp('tp_base: 4, tp_spares: 2'))).toMatchInlineSnapshot(`
    "error[ntp-base] at "4"
    tp_base is 4, but tp is 8. Write tp_base 8, or leave it out.
    = at "8": tp is 8 here"
  `);
});

test('a base beyond any NVLink domain', () => {
  expect(said(ntp('tp_spares: 2', 8192, 'tp: 4096'))).toMatchInlineSnapshot(`
    "error[ntp-base] at "ntp"
    Nonuniform TP is for the slots of one NVLink domain, and none has 4,096 GPUs. Use tp 1,024 or less.
    = at "4096": tp is 4096 here"
  `);
});
