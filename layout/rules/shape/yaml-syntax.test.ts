import { expect, test } from 'vitest';
import { report } from '../testing';
import { yamlSyntax } from './yaml-syntax';

const said = (text: string) => report(yamlSyntax, text);

const lines = (...all: readonly string[]) => ['layout: 1', 'world_size: 8', ...all, ''].join('\n');

test.each([
  ['a key indented less than its neighbour', lines('parallelism:', '  tp: 2', ' pp: 2')],
  ['a key indented more than its neighbour', lines('parallelism:', '  tp: 2', '   pp: 2')],
  ['a tab', lines('parallelism:', '  tp: 2', '\tpp: 2')],
])('%s can be indented as it should be', (_, text) => {
  expect(said(text)).toContain('safe fix: Indent `pp` by 2 spaces\n');
});

test('indented less than its neighbour', () => {
  expect(said(lines('parallelism:', '  tp: 2', ' pp: 2'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "pp"
    \`pp\` is indented 1 space; its neighbour \`tp\` is indented 2.
    = safe fix: Indent \`pp\` by 2 spaces
      -  pp: 2
      +   pp: 2"
  `);
});

test('indented more than its neighbour', () => {
  expect(said(lines('parallelism:', '  tp: 2', '   pp: 2'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "pp"
    \`pp\` is indented 3 spaces; its neighbour \`tp\` is indented 2.
    = safe fix: Indent \`pp\` by 2 spaces
      -    pp: 2
      +   pp: 2"
  `);
});

test('a tab in place of spaces', () => {
  expect(said(lines('parallelism:', '  tp: 2', '\tpp: 2'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "pp"
    A tab indents \`pp\`; its neighbour \`tp\` is indented 2 spaces.
    = safe fix: Indent \`pp\` by 2 spaces
      - 	pp: 2
      +   pp: 2"
  `);
});

test('a bracket that is not closed', () => {
  expect(said(lines('parallelism: {tp: 2'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at ""
    A \`{\` is not closed."
  `);
});

test('a quote that is not closed', () => {
  expect(said(lines('name: "a'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at ""
    A quoted text is not closed."
  `);
});

test('a second document', () => {
  expect(said(lines('parallelism: {tp: 2}', '---', 'layout: 1'))).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "---\\nlayout: 1\\n"
    A second document begins here; a layout file holds one. Remove \`---\`."
  `);
});

test('a binary file', () => {
  expect(said('layout: 1\u0000')).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "\\u0000"
    The character U+0000 has no place in a text file. Is this a binary file, or not UTF-8?"
  `);
});

test('a key of the file that is indented', () => {
  expect(said('layout: 1\n world_size: 8\nparallelism:\n  tp: 2\n')).toMatchInlineSnapshot(`
    "error[yaml-syntax] at "world_size"
    \`world_size\` is indented 1 space; its neighbour \`layout\` is not indented.
    = safe fix: Do not indent \`world_size\`
      -  world_size: 8
      + world_size: 8"
  `);
});
