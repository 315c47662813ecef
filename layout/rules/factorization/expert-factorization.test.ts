import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { expertFactorization } from './expert-factorization';

const said = (text: string) => report(expertFactorization, text);

test.each([
  ['ep need not divide dp', job(16, 'tp: 4, ep: 8, expt_tp: 1')],
  ['experts over all ranks', job(16, 'tp: 2, ep: 8')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('ep does not divide the ranks', () => {
  expect(said(job(16, 'ep: 3'))).toMatchInlineSnapshot(`
    "error[expert-factorization] at "3"
    ep 3 does not divide 16 ranks. Use ep 1, 2 or 4.
    = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (3)
    = at "16": world_size is 16 here
    = suggestion: Change ep to 2
      - parallelism: {ep: 3}
      + parallelism: {ep: 2}
    = suggestion: Change ep to 4
      - parallelism: {ep: 3}
      + parallelism: {ep: 4}
    = suggestion: Change ep to 1
      - parallelism: {ep: 3}
      + parallelism: {ep: 1}
    = suggestion: Change world_size to 15
      - world_size: 16
      + world_size: 15
    = suggestion: Change world_size to 18
      - world_size: 16
      + world_size: 18"
  `);
});

test('expt_tp defaults to tp', () => {
  expect(said(job(16, 'tp: 2, ep: 3'))).toMatchInlineSnapshot(`
    "error[expert-factorization] at "3"
    expt_tp 2 x ep 3 = 6 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4.
    = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
    = at "16": world_size is 16 here
    = at "2": expt_tp defaults to tp, which is 2 here
    = suggestion: Change ep to 2
      - parallelism: {tp: 2, ep: 3}
      + parallelism: {tp: 2, ep: 2}
    = suggestion: Change ep to 4
      - parallelism: {tp: 2, ep: 3}
      + parallelism: {tp: 2, ep: 4}
    = suggestion: Change ep to 1
      - parallelism: {tp: 2, ep: 3}
      + parallelism: {tp: 2, ep: 1}
    = suggestion: Change world_size to 18
      - world_size: 16
      + world_size: 18
    = suggestion: Change world_size to 12
      - world_size: 16
      + world_size: 12"
  `);
});

test('a written expt_tp is the culprit', () => {
  expect(said(job(16, 'tp: 2, ep: 2, expt_tp: 3'))).toMatchInlineSnapshot(`
    "error[expert-factorization] at "3"
    expt_tp 3 x ep 2 = 6 ranks an expert replica, which does not divide 16. Use expt_tp 1, 2 or 4.
    = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (6)
    = at "16": world_size is 16 here
    = at "2": ep is 2 here
    = suggestion: Change expt_tp to 2
      - parallelism: {tp: 2, ep: 2, expt_tp: 3}
      + parallelism: {tp: 2, ep: 2, expt_tp: 2}
    = suggestion: Change expt_tp to 4
      - parallelism: {tp: 2, ep: 2, expt_tp: 3}
      + parallelism: {tp: 2, ep: 2, expt_tp: 4}
    = suggestion: Change expt_tp to 1
      - parallelism: {tp: 2, ep: 2, expt_tp: 3}
      + parallelism: {tp: 2, ep: 2, expt_tp: 1}
    = suggestion: Change world_size to 18
      - world_size: 16
      + world_size: 18
    = suggestion: Change world_size to 12
      - world_size: 16
      + world_size: 12"
  `);
});

test('the dense grid does not divide either: it alone is reported', () => {
  expect(said(job(16, 'tp: 3, ep: 3'))).toMatchInlineSnapshot(`
    "error[dense-factorization] at "3"
    tp 3 does not divide 16 ranks. Use tp 1, 2 or 4.
    = Megatron-LM: world_size (16) is not divisible by 3
    = at "16": world_size is 16 here
    = suggestion: Change world_size to 18
      - world_size: 16
      + world_size: 18"
  `);
});

test('a module names num_ranks', () => {
  expect(
    said('layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 3, expt_tp: 1}\n'),
  ).toMatchInlineSnapshot(`
    "error[expert-factorization] at "3"
    ep 3 does not divide 8 ranks. Use ep 1, 2 or 4.
    = Megatron-LM: num_ranks (8) must be divisible by expt_tp*ep*expt_gtp_remat*pp (3)
    = at "8": num_ranks is 8 here
    = suggestion: Change ep to 2
      -   language: {num_ranks: 8, tp: 2, ep: 3, expt_tp: 1}
      +   language: {num_ranks: 8, tp: 2, ep: 2, expt_tp: 1}
    = suggestion: Change ep to 4
      -   language: {num_ranks: 8, tp: 2, ep: 3, expt_tp: 1}
      +   language: {num_ranks: 8, tp: 2, ep: 4, expt_tp: 1}
    = suggestion: Change ep to 1
      -   language: {num_ranks: 8, tp: 2, ep: 3, expt_tp: 1}
      +   language: {num_ranks: 8, tp: 2, ep: 1, expt_tp: 1}"
  `);
});

test('the default of expt_tp is what does not fit', () => {
  expect(said(job(16, 'tp: 4, ep: 8'))).toMatchInlineSnapshot(`
    "error[expert-factorization] at "8"
    expt_tp 4 x ep 8 = 32 ranks an expert replica, which does not divide 16. Use ep 1, 2 or 4, or expt_tp 1.
    = Megatron-LM: world_size (16) is not divisible by expert_tensor_model_pipeline_parallel size (32)
    = at "16": world_size is 16 here
    = at "4": expt_tp defaults to tp, which is 4 here
    = suggestion: Insert \`expt_tp: 1\`
      - parallelism: {tp: 4, ep: 8}
      + parallelism: {tp: 4, ep: 8, expt_tp: 1}
    = suggestion: Change ep to 4
      - parallelism: {tp: 4, ep: 8}
      + parallelism: {tp: 4, ep: 4}
    = suggestion: Change ep to 2
      - parallelism: {tp: 4, ep: 8}
      + parallelism: {tp: 4, ep: 2}
    = suggestion: Change ep to 1
      - parallelism: {tp: 4, ep: 8}
      + parallelism: {tp: 4, ep: 1}
    = suggestion: Change world_size to 32
      - world_size: 16
      + world_size: 32"
  `);
});
