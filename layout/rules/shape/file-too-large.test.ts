import { expect, test } from 'vitest';
import { job, reports } from '../testing';
import { fileTooLarge } from './file-too-large';

test('file-too-large', () => {
  const said = reports(fileTooLarge, {
    'nested too deeply': `a: ${'['.repeat(200)}${']'.repeat(200)}\n`,
    'too many characters': `layout: 1\n${'# a comment\n'.repeat(100_000)}`,
    'a long file that is not plain': `${job(8, 'tp: 2', 'name: &a b')}${'# a comment\n'.repeat(30_000)}`,
    'a text that is too long': job(8, 'tp: 2', `name: ${'a'.repeat(20_000)}`),
  });
  expect(said).toMatchInlineSnapshot(`
    "nested too deeply: error at 338 characters: The file nests more than 32 levels deep; a layout needs five. Remove the nesting.
    too many characters: error at "layout: 1": The file has 1,200,010 characters; up to 393,216 characters are read, more than twice a layout of ten thousand lines. Remove what is not part of the layout.
    a long file that is not plain: error at "name: &a b": From this line on the file is not plain block YAML: an anchor, a tag, a tab, a text or brackets over several lines, or a mistake. In a file of 360,056 characters only plain YAML is read, other YAML up to 32,768 characters. Write this line plainly.
    a text that is too long: error at 20000 characters: name has 20,000 characters; up to 10,000 are read. Shorten it."
  `);
});
