import { expect, test } from 'vitest';
import { report } from '../testing';
import { ntpSpares } from './ntp-spares';
import { entry, map, ntp } from './testing';

const said = (text: string) => report(ntpSpares, text);

test.each([['some ranks stay', ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`)]])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('too many spares', () => {
  expect(said(ntp('tp_spares: 8'))).toMatchInlineSnapshot(`
    "error[ntp-spares] at "8"
    tp_spares 8 leaves no active rank of tp 8. Use 7 or fewer.
    = Megatron-LM: Group rank must be specified for group members"
  `);
});

test('packed placement makes no group', () => {
  expect(said(ntp('tp_spares: 8, placement: packed', 8))).toMatchInlineSnapshot(`
    "error[ntp-spares] at "8"
    tp_spares 8 leaves no active rank of tp 8. Use 7 or fewer."
  `);
});

test('a wrong base comes first', () => {
  expect(said(ntp('tp_base: 4, tp_spares: 8'))).toMatchInlineSnapshot(`
    "error[ntp-base] at "4"
    tp_base is 4, but tp is 8. Write tp_base 8, or leave it out.
    = at "8": tp is 8 here"
  `);
});
