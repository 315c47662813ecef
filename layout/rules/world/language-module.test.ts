import { expect, test } from 'vitest';
import { modules, report } from '../testing';
import { languageModule } from './language-module';

const said = (text: string) => report(languageModule, text);

test.each([
  ['one has the name', modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}')],
])('%s', (_, text) => {
  expect(said(text)).toBe('');
});

test('a likely one', () => {
  expect(
    said(modules(8, 'images: {num_ranks: 4, tp: 2}', 'llm: {rank_offset: 4, num_ranks: 4, tp: 2}')),
  ).toMatchInlineSnapshot(`
    "error[language-module] at "llm"
    One module must be called \`language\`. Is it \`llm\`?
    = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
    = suggestion: Rename \`llm\` to \`language\`
      -   llm: {rank_offset: 4, num_ranks: 4, tp: 2}
      +   language: {rank_offset: 4, num_ranks: 4, tp: 2}
    = suggestion: Rename \`images\` to \`language\`
      -   images: {num_ranks: 4, tp: 2}
      +   language: {num_ranks: 4, tp: 2}"
  `);
});

test('a misspelt one', () => {
  expect(
    said(modules(8, 'images: {num_ranks: 4, tp: 2}', 'langauge: {rank_offset: 4, num_ranks: 4, tp: 2}')),
  ).toMatchInlineSnapshot(`
    "error[language-module] at "langauge"
    One module must be called \`language\`. Is it \`langauge\`?
    = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
    = suggestion: Rename \`langauge\` to \`language\`
      -   langauge: {rank_offset: 4, num_ranks: 4, tp: 2}
      +   language: {rank_offset: 4, num_ranks: 4, tp: 2}
    = suggestion: Rename \`images\` to \`language\`
      -   images: {num_ranks: 4, tp: 2}
      +   language: {num_ranks: 4, tp: 2}"
  `);
});

test('none is likely', () => {
  expect(said(modules(8, 'images: {num_ranks: 8, tp: 2}'))).toMatchInlineSnapshot(`
    "error[language-module] at "modules"
    One module must be called \`language\`.
    = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
    = suggestion: Rename \`images\` to \`language\`
      -   images: {num_ranks: 8, tp: 2}
      +   language: {num_ranks: 8, tp: 2}"
  `);
});

test('no modules at all', () => {
  expect(said('layout: 1\nworld_size: 1\nmodules: {}\n')).toMatchInlineSnapshot(`
    "error[language-module] at "modules"
    \`modules\` is empty. Add a module called \`language\`.
    = Megatron-LM: create_topology requires at least one ModuleGridSpec
    = suggestion: Insert \`language: {num_ranks: 1}\`
      - modules: {}
      + modules: {language: {num_ranks: 1}}"
  `);
});
