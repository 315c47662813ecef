import { expect, test } from 'vitest';
import { reports } from '../testing';
import { yamlSyntax } from './yaml-syntax';

const lines = (...all: readonly string[]) => ['layout: 1', 'world_size: 8', ...all, ''].join('\n');

test('yaml-syntax', () => {
  const said = reports(yamlSyntax, {
    'indented less than its neighbour': lines('parallelism:', '  tp: 2', ' pp: 2'),
    'indented more than its neighbour': lines('parallelism:', '  tp: 2', '   pp: 2'),
    'tabs in place of spaces': lines('parallelism:', '\ttp: 2', '\tpp: 2'),
    'equals signs in place of colons': 'layout: 1\nworld_size=8\nparallelism:\n  tp=2\n  pp = 2\n',
    'no sign behind a key': lines('parallelism:', '  tp 2', '  pp: 2'),
    'a bracket that is not closed': lines('parallelism: {tp: 2'),
    'a quote that is not closed': lines('name: "a'),
    'a second document': lines('parallelism: {tp: 2}', '---', 'layout: 1'),
    'a binary file': 'layout: 1\u0000',
    'a key of the file that is indented': 'layout: 1\n world_size: 8\nparallelism:\n  tp: 2\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "indented less than its neighbour: error at "pp": 'pp' is indented 1 space; its neighbour 'tp' is indented 2.
      = safe fix: Indent 'pp' by 2 spaces: [- -]{+  +}pp: 2
    indented more than its neighbour: error at "pp": 'pp' is indented 3 spaces; its neighbour 'tp' is indented 2.
      = safe fix: Indent 'pp' by 2 spaces: [-   -]{+  +}pp: 2
    tabs in place of spaces: error at "tp": A tab indents 'tp'. YAML is indented with spaces.
      = safe fix: Indent with spaces: [-	-]{+  +}tp: 2 | [-	-]{+  +}pp: 2
    equals signs in place of colons: error at "world_size=8": A key needs a colon, a space and a value. Write 'world_size: 8'.
      = safe fix: Write colons behind the keys: world_size[-=-]{+: +}8 | tp[-=-]{+: +}2 | pp[- = -]{+: +}2
    no sign behind a key: error at "tp 2": A key needs a colon, a space and a value. Write 'tp: 2'.
      = safe fix: Write colons behind the keys: tp[- -]{+: +}2
    a bracket that is not closed: error at "": A '{' is not closed.
    a quote that is not closed: error at "": A quoted text is not closed.
    a second document: error at "---\\nlayout: 1\\n": A second document begins here; a layout file holds one. Remove '---'.
    a binary file: error at "\\u0000": The character U+0000 has no place in a text file. Is this a binary file, or not UTF-8?
    a key of the file that is indented: error at "world_size": 'world_size' is indented 1 space; its neighbour 'layout' is not indented.
      = safe fix: Do not indent 'world_size': [- -]world_size: 8"
  `);
});
