import { expect, test } from 'vitest';
import { job, report } from '../testing';
import { fileTooLarge } from './file-too-large';

const said = (text: string) => report(fileTooLarge, text);

test('nested too deeply', () => {
  expect(said(`a: ${'['.repeat(200)}${']'.repeat(200)}\n`)).toMatchInlineSnapshot(`
    "error[file-too-large] at "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
    The file nests more than 32 levels deep; a layout needs five. Remove the nesting."
  `);
});

test('a text that is too long', () => {
  expect(said(job(8, 'tp: 2', `name: ${'a'.repeat(20_000)}`)).split('\n')[1]).toMatchInlineSnapshot(
    `"\`name\` has 20,000 characters; up to 10,000 are read. Shorten it."`,
  );
});

test('too many characters', () => {
  expect(said(`layout: 1\n${'# a comment\n'.repeat(100_000)}`)).toMatchInlineSnapshot(`
    "error[file-too-large] at "layout: 1"
    The file has 1,200,010 characters; up to 393,216 characters are read, more than twice a layout of ten thousand lines. Remove what is not part of the layout."
  `);
});

test('a long file that is not plain', () => {
  expect(said(`${job(8, 'tp: 2', 'name: &a b')}${'# a comment\n'.repeat(30_000)}`)).toMatchInlineSnapshot(`
    "error[file-too-large] at "name: &a b"
    From this line on the file is not plain block YAML: an anchor, a tag, a tab, a text or brackets over several lines, or a mistake. In a file of 360,056 characters only plain YAML is read, other YAML up to 32,768 characters. Write this line plainly."
  `);
});
