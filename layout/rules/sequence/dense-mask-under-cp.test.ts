import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { denseMaskUnderCp } from './dense-mask-under-cp';

const said = (text: string) => report(denseMaskUnderCp, text);

test.each([
  ['a causal mask', job(8, 'cp: 2', 'sequence: {attention_mask: causal}')],
  ['cp is 1', job(8, 'tp: 2', 'sequence: {attention_mask: dense}')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a dense mask', () => {
  expect(said(job(8, 'cp: 2', 'sequence: {attention_mask: dense}'))).toMatchInlineSnapshot(`
    "error[dense-mask-under-cp] at "dense"
    Megatron-LM does not split a dense attention mask over cp 2 correctly. Use attention_mask causal, or cp 1.
    = at "2": cp is 2 here
    = suggestion: Change attention_mask to causal
      - sequence: {attention_mask: dense}
      + sequence: {attention_mask: causal}
    = suggestion: Change cp to 1
      - parallelism: {cp: 2}
      + parallelism: {cp: 1}"
  `);
});
