import { expect, test } from 'vitest';
import { reports } from '../testing';
import { ntpSpares } from './ntp-spares';
import { entry, map, ntp } from './testing';

test('ntp-spares', () => {
  const said = reports(ntpSpares, {
    'some ranks stay': ntp(`tp_spares: 2, ${map(entry(0, '6, 7'))}`),
    'too many spares': ntp('tp_spares: 8'),
    'packed placement makes no group': ntp('tp_spares: 8, placement: packed', 8),
    'a wrong base comes first': ntp('tp_base: 4, tp_spares: 8'),
  });
  expect(said).toMatchInlineSnapshot(`
    "too many spares: error at "8": tp_spares 8 leaves no active rank of tp 8. Use 7 or fewer.
      = Megatron-LM: Group rank must be specified for group members
    packed placement makes no group: error at "8": tp_spares 8 leaves no active rank of tp 8. Use 7 or fewer.
    a wrong base comes first: error[ntp-base] at "4": tp_base is 4, but tp is 8. Write tp_base 8, or leave it out.
      = Megatron-LM: Group rank must be specified for group members
      = at "8": tp is 8 here"
  `);
});
