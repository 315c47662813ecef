import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { expertProduct } from './expert-product';

const said = (text: string) => report(expertProduct, text);

test('the derived expt_dp may be written', () => {
  expect(said(job(16, 'tp: 2, ep: 4, expt_dp: 2'))).toBe('');
});

test('another expt_dp', () => {
  expect(said(job(16, 'tp: 2, ep: 4, expt_dp: 4'))).toMatchInlineSnapshot(`
    "error[expert-product] at "4"
    expt_dp is 4, but 16 ranks / (expt_tp 2 x ep 4) = 2. Write expt_dp 2, or leave it out.
    = at "16": world_size is 16 here
    = at "2": expt_tp defaults to tp, which is 2 here
    = at "4": ep is 4 here
    = suggestion: Change expt_dp to 2
      - parallelism: {tp: 2, ep: 4, expt_dp: 4}
      + parallelism: {tp: 2, ep: 4, expt_dp: 2}
    = suggestion: Change world_size to 32
      - world_size: 16
      + world_size: 32"
  `);
});

test('a dense grid that does not divide is reported alone', () => {
  expect(said(job(16, 'tp: 3, ep: 2, expt_dp: 4')).split('\n')[0]).toBe('error[dense-factorization] at "3"');
});
