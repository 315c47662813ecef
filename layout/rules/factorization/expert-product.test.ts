import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { expertProduct } from './expert-product';

test('expert-product', () => {
  const said = reports(expertProduct, {
    'the derived expt_dp may be written': job(16, 'tp: 2, ep: 4, expt_dp: 2'),
    'another expt_dp': job(16, 'tp: 2, ep: 4, expt_dp: 4'),
    'a dense grid that does not divide is reported alone': job(16, 'tp: 3, ep: 2, expt_dp: 4'),
  });
  expect(said).toMatchInlineSnapshot(`
    "another expt_dp: error at "4": expt_dp is 4, but 16 ranks / (expt_tp 2 x ep 4) = 2. Write expt_dp 2, or leave it out.
      = at "16": world_size is 16 here
      = at "2": expt_tp defaults to tp, which is 2 here
      = at "4": ep is 4 here
      = suggestion: Change expt_dp to 2: parallelism: {tp: 2, ep: 4, expt_dp: [-4-]{+2+}}
      = suggestion: Change world_size to 32: world_size: [-16-]{+32+}
    a dense grid that does not divide is reported alone: error[dense-factorization] at "3": tp 3 does not divide 16 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by 3
      = at "16": world_size is 16 here
      = suggestion: Change tp to 2: parallelism: {tp: [-3-]{+2+}, ep: 2, expt_dp: 4}"
  `);
});
