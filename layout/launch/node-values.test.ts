import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseTree } from '../format/tree';
import { layoutFileValues } from './layout-values';
import { layoutNodeValues } from './node-values';

const examples = readdirSync('examples').map((name) => readFileSync(`examples/${name}`, 'utf8'));

test.each([
  ...examples,
  'layout: 1\nparallelism: {tp: "2", order: tp-pp, sizes: [1, 2], none: }\n',
  'a: &x {b: 1}\nc: *x\n',
  '- 1\n',
  '',
])('a tree that is parsed already gives the values of its file: %#', (text) => {
  expect(layoutNodeValues('f', parseTree(text).root)).toEqual(layoutFileValues('f', text) ?? new Map());
});
