import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { notAnOption } from './not-an-option';

test('not-an-option', () => {
  expect(
    reports(notAnOption, {
      'a misspelt word': job(8, 'tp: 2', 'smoke: {checks: [group]}'),
      'a word like none of them': job(8, 'tp: 2', 'ntp: {placement: elsewhere}'),
    }),
  ).toMatchInlineSnapshot(`
    "a misspelt word: error at "group": smoke.checks[0] is 'group', which is not one of its choices. Did you mean groups?
      = safe fix: Change to groups: smoke: {checks: [[-group-]{+groups+}]}
    a word like none of them: error at "elsewhere": ntp.placement is 'elsewhere', which is not one of its choices. Use nominal or packed.
      = suggestion: Change to nominal: ntp: {placement: [-elsewhere-]{+nominal+}}
      = suggestion: Change to packed: ntp: {placement: [-elsewhere-]{+packed+}}"
  `);
});
