import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { check, hasErrors } from '../../check';
import { applyEdits } from '../../format/edit';
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
    'the first key of a map, indented more than the others': lines('parallelism:', '    tp: 2', '  pp: 2', '  cp: 1'),
    'the first key of a map, not indented': lines('parallelism:', 'tp: 2', '  pp: 2', '  cp: 1'),
    'a section that is indented, behind a blank line': lines('', ' parallelism:', '  tp: 2', '  pp: 2'),
    'a section that is indented more than the map above': lines(
      'cluster:',
      '  nodes: 1',
      '',
      '   parallelism:',
      '  tp: 2',
    ),
    'no space behind a colon': lines('parallelism:', '  tp:2  # ranks', '  pp: 2'),
    'no space behind the last colon': lines('parallelism:', '  tp: 2', '  pp:2'),
    'the first line of the file that is indented': '  layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n',
    'a section behind a tab': lines('cluster:', '  nodes: 1', '\tparallelism:', '  tp: 2'),
    'a tab behind spaces': lines('parallelism:', '  \ttp: 2', '  pp: 2', '  cp: 1'),
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
      = safe fix: Write a colon and a space behind each key: world_size[-=-]{+: +}8 | tp[-=-]{+: +}2 | pp[- = -]{+: +}2
    no sign behind a key: error at "tp 2": A key needs a colon, a space and a value. Write 'tp: 2'.
      = safe fix: Write a colon and a space behind each key: tp[- -]{+: +}2
    a bracket that is not closed: error at "": A '{' is not closed.
    a quote that is not closed: error at "": A quoted text is not closed.
    a second document: error at "---\\nlayout: 1\\n": A second document begins here; a layout file holds one. Remove '---'.
    a binary file: error at "\\u0000": The character U+0000 has no place in a text file. Is this a binary file, or not UTF-8?
    the first key of a map, indented more than the others: error at "tp": 'tp' is indented 4 spaces; its neighbour 'pp' is indented 2.
      = safe fix: Indent 'tp' by 2 spaces: [-    -]{+  +}tp: 2
    the first key of a map, not indented: error at "tp": 'tp' is not indented; its neighbour 'pp' is indented 2.
      = safe fix: Indent 'tp' by 2 spaces: {+  +}tp: 2
    a section that is indented, behind a blank line: error at "parallelism": 'parallelism' is indented 1 space; its neighbour 'world_size' is not indented.
      = safe fix: Do not indent 'parallelism': [- -]parallelism:
    a section that is indented more than the map above: error at "parallelism": 'parallelism' is indented 3 spaces; its neighbour 'cluster' is not indented.
      = safe fix: Do not indent 'parallelism': [-   -]parallelism:
    no space behind a colon: error at "tp:2": A key needs a colon, a space and a value. Write 'tp: 2'.
      = safe fix: Write a colon and a space behind each key: tp[-:-]{+: +}2  # ranks
    no space behind the last colon: error at "pp:2": A key needs a colon, a space and a value. Write 'pp: 2'.
      = safe fix: Write a colon and a space behind each key: pp[-:-]{+: +}2
    the first line of the file that is indented: error at "layout": 'layout' is indented 2 spaces; its neighbour 'world_size' is not indented.
      = safe fix: Do not indent 'layout': [-  -]layout: 1
    a section behind a tab: error at "parallelism": A tab indents 'parallelism'; its neighbour 'cluster' is not indented.
      = safe fix: Do not indent 'parallelism': [-	-]parallelism:
    a tab behind spaces: error at "tp": A tab indents 'tp'; its neighbour 'pp' is indented 2 spaces.
      = safe fix: Indent 'tp' by 2 spaces: [-  	-]{+  +}tp: 2
    a key of the file that is indented: error at "world_size": 'world_size' is indented 1 space; its neighbour 'layout' is not indented.
      = safe fix: Do not indent 'world_size': [- -]world_size: 8"
  `);
});

test('a line with another indentation has a fix after which no error is left', () => {
  const all = readFileSync('examples/mimo-8gpu.layout.yaml', 'utf8').split('\n');
  const broken = all.flatMap((line, i) => {
    const [, indent, rest] = /^( *)([\w-]+:.*)/.exec(line) ?? [];
    return indent === undefined
      ? []
      : [indent.slice(1), `${indent} `, `${indent}   `, `${indent}\t`].map((other) =>
          [...all.slice(0, i), `${other}${rest}`, ...all.slice(i + 1)].join('\n'),
        );
  });
  const wrong = broken.filter((text) => check(text).diagnostics.some(({ code }) => code === yamlSyntax.code));
  expect(wrong.length).toBeGreaterThan(50);
  const left = wrong.filter((text) => {
    const [fix] = check(text).diagnostics.find(({ code }) => code === yamlSyntax.code)?.fixes ?? [];
    return !fix || hasErrors(check(applyEdits(text, fix.edits)));
  });
  expect(left).toEqual([]);
});
