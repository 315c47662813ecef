import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { nameDisagrees } from './name-disagrees';

const said = (text: string) => report(nameDisagrees, text);

test.each([
  ['a name that agrees', job(16, 'tp: 2', 'name: llama-tp2-dp8')],
  [
    'a name that agrees with one of the modules',
    'layout: 1\nname: vlm-tp4\nworld_size: 8\nmodules:\n  images: {num_ranks: 4}\n  language: {rank_offset: 4, num_ranks: 4, tp: 4}\n',
  ],
  ['letters in front make another word', job(16, 'tp: 2', 'name: http4')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('one of several degrees differs', () => {
  expect(said(job(16, 'tp: 2', 'name: llama_tp4_pp1-dp8'))).toMatchInlineSnapshot(`
    "information[name-disagrees] at "tp4"
    The name says tp4, but tp is 2. Change the name or the degree.
    = suggestion: Write tp2 in the name
      - name: llama_tp4_pp1-dp8
      + name: llama_tp2_pp1-dp8"
  `);
});

test('degrees one after another, with quotes and capitals', () => {
  expect(said(job(16, 'tp: 2, pp: 2', 'name: "70b TP2PP4, http2 tp"'))).toMatchInlineSnapshot(`
    "information[name-disagrees] at "PP4"
    The name says pp4, but pp is 2. Change the name or the degree.
    = suggestion: Write pp2 in the name
      - name: "70b TP2PP4, http2 tp"
      + name: "70b TP2PP2, http2 tp""
  `);
});

test('no module has the degree', () => {
  const text =
    'layout: 1\nname: vlm-tp8\nworld_size: 8\nmodules:\n  images: {num_ranks: 4, tp: 2}\n  language: {rank_offset: 4, num_ranks: 4, tp: 4}\n';
  expect(said(text)).toMatchInlineSnapshot(`
    "information[name-disagrees] at "tp8"
    The name says tp8, but tp is 2 or 4. Change the name or the degree.
    = suggestion: Write tp2 in the name
      - name: vlm-tp8
      + name: vlm-tp2
    = suggestion: Write tp4 in the name
      - name: vlm-tp8
      + name: vlm-tp4"
  `);
});
