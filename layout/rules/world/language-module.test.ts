import { expect, test } from 'vitest';
import { modules, reports } from '../testing';
import { languageModule } from './language-module';

test('language-module', () => {
  const said = reports(languageModule, {
    'one has the name': modules(8, 'images: {num_ranks: 4}', 'language: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'a likely one': modules(8, 'images: {num_ranks: 4, tp: 2}', 'llm: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'a misspelt one': modules(8, 'images: {num_ranks: 4, tp: 2}', 'langauge: {rank_offset: 4, num_ranks: 4, tp: 2}'),
    'none is likely': modules(8, 'images: {num_ranks: 8, tp: 2}'),
    'no modules at all': 'layout: 1\nworld_size: 1\nmodules: {}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a likely one: error at "llm": One module must be called 'language'. Is it 'llm'?
      = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
      = suggestion: Rename 'llm' to 'language': [-llm-]{+language+}: {rank_offset: 4, num_ranks: 4, tp: 2}
      = suggestion: Rename 'images' to 'language': [-images-]{+language+}: {num_ranks: 4, tp: 2}
    a misspelt one: error at "langauge": One module must be called 'language'. Is it 'langauge'?
      = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
      = suggestion: Rename 'langauge' to 'language': [-langauge-]{+language+}: {rank_offset: 4, num_ranks: 4, tp: 2}
      = suggestion: Rename 'images' to 'language': [-images-]{+language+}: {num_ranks: 4, tp: 2}
    none is likely: error at "modules": One module must be called 'language'.
      = Megatron-LM: create_topology requires exactly one spec named 'language' (the language module), got 0
      = suggestion: Rename 'images' to 'language': [-images-]{+language+}: {num_ranks: 8, tp: 2}
    no modules at all: error at "modules": modules is empty. Add a module called 'language'.
      = Megatron-LM: create_topology requires at least one ModuleGridSpec
      = suggestion: Insert language: {num_ranks: 1}: modules: {{+language: {num_ranks: 1}+}}"
  `);
});
