import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { denseMaskUnderCp } from './dense-mask-under-cp';

test('dense-mask-under-cp', () => {
  const said = reports(denseMaskUnderCp, {
    'a causal mask': job(8, 'cp: 2', 'sequence: {attention_mask: causal}'),
    'cp is 1': job(8, 'tp: 2', 'sequence: {attention_mask: dense}'),
    'a dense mask': job(8, 'cp: 2', 'sequence: {attention_mask: dense}'),
  });
  expect(said).toMatchInlineSnapshot(`
    "a dense mask: error at "dense": Megatron-LM does not split a dense attention mask over cp 2 correctly. Use attention_mask causal, or cp 1.
      = at "2": cp is 2 here
      = suggestion: Change attention_mask to causal: sequence: {attention_mask: [-dense-]{+causal+}}
      = suggestion: Change cp to 1: parallelism: {cp: [-2-]{+1+}}"
  `);
});
