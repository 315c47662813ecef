import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { notAnOption } from './not-an-option';

const said = (text: string) => report(notAnOption, text);

test('a misspelt word', () => {
  expect(said(job(8, 'tp: 2', 'smoke: {checks: [group]}'))).toMatchInlineSnapshot(`
    "error[not-an-option] at "group"
    \`smoke.checks[0]\` is \`group\`, which is not one of its choices. Did you mean \`groups\`?
    = safe fix: Change to groups
      - smoke: {checks: [group]}
      + smoke: {checks: [groups]}"
  `);
});

test('a word like none of them', () => {
  expect(said(job(8, 'tp: 2', 'ntp: {placement: elsewhere}'))).toMatchInlineSnapshot(`
    "error[not-an-option] at "elsewhere"
    \`ntp.placement\` is \`elsewhere\`, which is not one of its choices. Use \`nominal\` or \`packed\`.
    = suggestion: Change to nominal
      - ntp: {placement: elsewhere}
      + ntp: {placement: nominal}
    = suggestion: Change to packed
      - ntp: {placement: elsewhere}
      + ntp: {placement: packed}"
  `);
});
