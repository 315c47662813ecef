import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { megatronVersion } from './megatron-version';

const said = (text: string) => report(megatronVersion, text);

test.each([
  ['generalized TP on main', job(8, 'tp: 2, gtp_remat: 2', 'megatron: main')],
  ['generalized TP on core_r0.19', job(8, 'tp: 2, gtp_remat: 2', 'megatron: core_r0.19')],
  ['hybrid context parallelism on core_r0.18', job(8, 'hybrid_context_parallel: true', 'megatron: core_r0.18')],
  ['dynamic context parallelism implies dev', job(8, 'dynamic_context_parallel: true')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('generalized TP on dev', () => {
  expect(said(job(8, 'tp: 2, gtp_remat: 2', 'megatron: dev'))).toMatchInlineSnapshot(`
    "error[megatron-version] at "2"
    Megatron-LM dev has no generalized TP. Use main, or gtp_remat 1.
    = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'gtp_remat_size'
    = at "dev": megatron is dev here"
  `);
});

test('generalized TP of experts on core_r0.18', () => {
  expect(said(job(8, 'ep: 2, expt_gtp_remat: 2', 'megatron: core_r0.18'))).toMatchInlineSnapshot(`
    "error[megatron-version] at "2"
    Megatron-LM core_r0.18 has no generalized TP. Use main, or gtp_remat 1.
    = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'expert_gtp_remat_size'
    = at "core_r0.18": megatron is core_r0.18 here"
  `);
});

test('dynamic context parallelism on main', () => {
  expect(said(job(8, 'dynamic_context_parallel: true', 'megatron: main'))).toMatchInlineSnapshot(`
    "error[megatron-version] at "true"
    dynamic_context_parallel is of dev, and megatron is main. Use hybrid_context_parallel, or megatron dev.
    = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'dynamic_context_parallel'
    = suggestion: Remove \`dynamic_context_parallel\`
      - parallelism: {dynamic_context_parallel: true}
      + parallelism: {}"
  `);
});

test('hybrid context parallelism on dev', () => {
  expect(said(job(8, 'hybrid_context_parallel: true', 'megatron: dev'))).toMatchInlineSnapshot(`
    "error[megatron-version] at "true"
    Megatron-LM dev has no hybrid_context_parallel. Use dynamic_context_parallel, or megatron main.
    = Megatron-LM: initialize_model_parallel() got an unexpected keyword argument 'hybrid_context_parallel'
    = suggestion: Remove \`hybrid_context_parallel\`
      - parallelism: {hybrid_context_parallel: true}
      + parallelism: {}"
  `);
});

test('gtp_remat in the order of a release without it', () => {
  expect(said(job(8, 'tp: 2, order: tp-gtp_remat-cp-ep-dp-pp', 'megatron: core_r0.18'))).toMatchInlineSnapshot(`
    "error[megatron-version] at "tp-gtp_remat-cp-ep-dp-pp"
    Megatron-LM core_r0.18 has no dimension gtp_remat. Remove it from the order.
    = Megatron-LM: gtp_remat
    = at "core_r0.18": megatron is core_r0.18 here
    = suggestion: Change order to tp-cp-ep-dp-pp
      - parallelism: {tp: 2, order: tp-gtp_remat-cp-ep-dp-pp}
      + parallelism: {tp: 2, order: tp-cp-ep-dp-pp}"
  `);
});
