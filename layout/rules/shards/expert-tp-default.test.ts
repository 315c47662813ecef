import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { expertTpDefault } from './expert-tp-default';

const said = (text: string) => report(expertTpDefault, text);

test.each([
  ['tp 1 leaves nothing to doubt', 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, ep: 4}\n'],
  ['a written expt_tp', 'layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 4, expt_tp: 2}\n'],
  ['under parallelism the default is tp', job(8, 'tp: 2, ep: 4')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a module with experts says how they are cut', () => {
  expect(said('layout: 1\nworld_size: 8\nmodules:\n  language: {num_ranks: 8, tp: 2, ep: 4}\n')).toMatchInlineSnapshot(`
    "warning[expert-tp-default] at "4"
    expt_tp of \`language\` defaults to 1 here, but to tp, 2, under initialize_model_parallel. Write expt_tp.
    = at "2": tp is 2 here
    = suggestion: Insert \`expt_tp: 1\`
      -   language: {num_ranks: 8, tp: 2, ep: 4}
      +   language: {num_ranks: 8, tp: 2, ep: 4, expt_tp: 1}
    = suggestion: Insert \`expt_tp: 2\`
      -   language: {num_ranks: 8, tp: 2, ep: 4}
      +   language: {num_ranks: 8, tp: 2, ep: 4, expt_tp: 2}"
  `);
});
