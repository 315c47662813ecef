import { expect, test } from 'vitest';
import type { DocumentSymbol } from 'vscode-languageserver';
import { check } from '../../layout';
import { documentSymbols } from './documentSymbols';

/** The outline, indented by level. */
const outline = (symbols: readonly DocumentSymbol[], indent = ''): string[] =>
  symbols.flatMap(({ name, detail, children }) => [
    `${indent}${name}${detail ? ` ${detail}` : ''}`,
    ...outline(children ?? [], `${indent}  `),
  ]);

test('the outline has the keys with their values, module by module', () => {
  const text = `layout: 1
modules:
  images: {tp: 2, num_ranks: 4}
smoke: {checks: [groups]}
name: ${'long '.repeat(20)}
`;
  expect(outline(documentSymbols(check(text)))).toEqual([
    'layout 1',
    'modules',
    '  images',
    '    tp 2',
    '    num_ranks 4',
    'smoke',
    '  checks',
    `name ${'long '.repeat(12)}`,
  ]);
  expect(documentSymbols(check(''))).toEqual([]);
});
