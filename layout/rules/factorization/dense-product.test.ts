import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { denseProduct } from './dense-product';

test('dense-product', () => {
  const said = reports(denseProduct, {
    'the derived dp may be written': job(16, 'tp: 4, dp: 4'),
    'one degree beside dp': job(16, 'tp: 4, dp: 2'),
    'several degrees beside dp': job(16, 'tp: 2, pp: 2, dp: 2'),
    'no degree beside dp': job(16, 'dp: 2'),
    'a module with num_ranks and dp': 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, dp: 2}\n',
    'ranks that do not divide are reported alone': job(16, 'tp: 3, dp: 2'),
  });
  expect(said).toMatchInlineSnapshot(`
    "one degree beside dp: error at "2": dp is 2, but 16 ranks / tp 4 = 4. Write dp 4, or leave it out.
      = at "16": world_size is 16 here
      = at "4": tp is 4 here
      = suggestion: Change dp to 4: parallelism: {tp: 4, dp: [-2-]{+4+}}
      = suggestion: Change world_size to 8: world_size: [-16-]{+8+}
    several degrees beside dp: error at "2": dp is 2, but 16 ranks / (tp 2 x pp 2) = 4. Write dp 4, or leave it out.
      = at "16": world_size is 16 here
      = at "2": tp is 2 here
      = at "2": pp is 2 here
      = suggestion: Change dp to 4: parallelism: {tp: 2, pp: 2, dp: [-2-]{+4+}}
      = suggestion: Change world_size to 8: world_size: [-16-]{+8+}
    no degree beside dp: error at "2": dp is 2, but 16 ranks give 16. Write dp 16, or leave it out.
      = at "16": world_size is 16 here
      = suggestion: Change dp to 16: parallelism: {dp: [-2-]{+16+}}
      = suggestion: Change world_size to 2: world_size: [-16-]{+2+}
    a module with num_ranks and dp: error at "2": dp is 2, but 8 ranks / tp 2 = 4. Write dp 4, or leave it out.
      = at "8": num_ranks is 8 here
      = at "2": tp is 2 here
      = suggestion: Change dp to 4: language: {num_ranks: 8, tp: 2, dp: [-2-]{+4+}}
    ranks that do not divide are reported alone: error[dense-factorization] at "3": tp 3 does not divide 16 ranks. Use tp 1, 2 or 4.
      = Megatron-LM: world_size (16) is not divisible by 3
      = at "16": world_size is 16 here"
  `);
});
