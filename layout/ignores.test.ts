import { expect, test } from 'vitest';
import { computingTime } from '../test/harness/computing';
import { check } from './check';
import { applyEdits } from './format/edit';
import { ignoreEdit } from './ignores';
import { unusedIgnore } from './rules/shape/unused-ignore';
import { report } from './rules/testing';

const WRONG = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 3\n';
const codes = (text: string) => check(text).diagnostics.map(({ code }) => code);

test.each([
  ['at the end of the line', WRONG.replace('tp: 3', 'tp: 3 # layout-ignore: dense-factorization three GPUs are spare')],
  ['on the line above', WRONG.replace('  tp', '  # layout-ignore: dense-factorization\n  tp')],
  ['above other comments', WRONG.replace('  tp', '  # layout-ignore: dense-factorization\n  # a word more\n  tp')],
  ['with other codes', WRONG.replace('tp: 3', 'tp: 3 # layout-ignore: dense-factorization')],
])('a comment %s silences the rule', (_, text) => {
  expect(codes(WRONG)).toEqual(['dense-factorization']);
  expect(codes(text)).toEqual([]);
});

test.each([
  [
    'another line',
    WRONG.replace('world_size: 8', 'world_size: 8 # layout-ignore: dense-factorization'),
    'unused-ignore',
  ],
  ['a text is no comment', WRONG.replace('layout: 1', 'layout: 1\nname: "# layout-ignore: dense-factorization"'), null],
])('%s does not silence it', (_, text, more) => {
  expect(codes(text)).toEqual([...(more ? [more] : []), 'dense-factorization']);
});

test('an unreadable file is always reported', () => {
  expect(codes('layout: 1\nparallelism: {tp: 2 # layout-ignore: yaml-syntax\n')).toContain('yaml-syntax');
});

test('a comment that silences nothing is reported, with its fix', () => {
  expect(
    report(unusedIgnore, 'layout: 1\nworld_size: 8 # layout-ignore: world-gap\nparallelism: {tp: 2}\n'),
  ).toMatchInlineSnapshot(`
    "information at "world-gap": 'world-gap' says nothing here. Remove it from the comment.
    = safe fix: Remove the comment: world_size: 8[- # layout-ignore: world-gap-]"
  `);
});

test('a misspelt code is reported', () => {
  expect(
    report(unusedIgnore, WRONG.replace('tp: 3', 'tp: 3 # layout-ignore: dense-factorisation')),
  ).toMatchInlineSnapshot(`
    "error[dense-factorization] at "3": tp 3 does not divide 8 ranks. Use tp 1, 2 or 4.
    = Megatron-LM: world_size (8) is not divisible by 3
    = at "8": world_size is 8 here
    = suggestion: Change tp to 2: tp: [-3-]{+2+} # layout-ignore: dense-factorisation
    = suggestion: Change tp to 4: tp: [-3-]{+4+} # layout-ignore: dense-factorisation
    = suggestion: Change tp to 1: tp: [-3-]{+1+} # layout-ignore: dense-factorisation
    = suggestion: Change world_size to 9: world_size: [-8-]{+9+}
    = suggestion: Change world_size to 6: world_size: [-8-]{+6+}
    information at "dense-factorisation": There is no rule 'dense-factorisation'. Did you mean dense-factorization?
    = safe fix: Change to dense-factorization: tp: 3 # layout-ignore: [-dense-factorisation-]{+dense-factorization+}
    = safe fix: Remove the comment: tp: 3[- # layout-ignore: dense-factorisation-]"
  `);
});

test.each([
  ['a plain line', WRONG, '  tp: 3 # layout-ignore: dense-factorization\n'],
  [
    'a line with a comment',
    WRONG.replace('tp: 3', 'tp: 3 # as planned'),
    '  # layout-ignore: dense-factorization\n  tp: 3 # as planned\n',
  ],
  [
    'a line with such a comment',
    WRONG.replace('tp: 3', 'tp: 3 # layout-ignore: world-gap why'),
    '  tp: 3 # layout-ignore: world-gap, dense-factorization why\n',
  ],
])('the edit for %s', (_, text, expected) => {
  const { lines, read, diagnostics } = check(text);
  const diagnostic = diagnostics.find(({ code }) => code === 'dense-factorization');
  const edited = diagnostic && applyEdits(text, [ignoreEdit(text, lines, read.tree.root, diagnostic)]);
  expect(edited?.slice(edited.indexOf('parallelism:\n') + 13)).toBe(expected);
  expect(codes(edited ?? '')).not.toContain('dense-factorization');
});

test('many comments are read once, in linear time', () => {
  const text = `layout: 1\nworld_size: 8\n${'# layout-ignore: world-gap\n'.repeat(19_000)}parallelism: {tp: 2}\n`;
  const began = computingTime();
  const { diagnostics, lines, read } = check(text);
  const edits = diagnostics.map((diagnostic) => ignoreEdit(text, lines, read.tree.root, diagnostic));
  expect(edits.length).toBeGreaterThan(500);
  expect(computingTime() - began).toBeLessThan(3_000);
});
