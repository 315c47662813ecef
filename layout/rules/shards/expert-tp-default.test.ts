import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { expertTpDefault } from './expert-tp-default';

test('expert-tp-default', () => {
  const said = reports(expertTpDefault, {
    'tp 1 leaves nothing to doubt': 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, ep: 4}\n',
    'a written expt_tp': 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 4, expt_tp: 2}\n',
    'under parallelism the default is tp': job(8, 'tp: 2, ep: 4'),
    'a module with experts says how they are cut':
      'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 4}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a module with experts says how they are cut: warning at "4": expt_tp of 'language' defaults to 1 here, but to tp, 2, under initialize_model_parallel. Write expt_tp.
      = at "2": tp is 2 here
      = suggestion: Insert expt_tp: 1: language: {num_ranks: 8, tp: 2, ep: 4{+, expt_tp: 1+}}
      = suggestion: Insert expt_tp: 2: language: {num_ranks: 8, tp: 2, ep: 4{+, expt_tp: 2+}}"
  `);
});
