import { describe, expect, test } from 'vitest';
import { edited, marked, textAt, URI } from '../testing';
import { renameModule, renameRange } from './rename';

const TEXT = `layout: 1
world_size: 8
modules:
  ima|ges: {num_ranks: 4}
  language: {num_ranks: 4, rank_offset: 4}
`;

describe('a module', () => {
  test('is renamed at its name', () => {
    const { checked, offset } = marked(TEXT);
    const range = renameRange(checked, offset);
    expect(range && textAt(checked.lines, range)).toBe('images');
    const edits = renameModule(URI, checked, offset, 'vision')?.changes?.[URI] ?? [];
    expect(edited(checked.lines, edits)).toBe(checked.text.replace('images', 'vision'));
  });

  test.each([
    ['a name that another module has', 'language', "There is a module 'language' already."],
    ['a name that is no name', 'two words', "'two words' cannot name a module: use letters, digits, '_', '.' and '-'."],
  ])('does not take %s', (_, name, reason) => {
    const { checked, offset } = marked(TEXT);
    expect(() => renameModule(URI, checked, offset, name)).toThrow(reason);
  });

  test('is not renamed at another place', () => {
    const { checked, offset } = marked('layout: 1\nworld|_size: 8\n');
    expect([renameRange(checked, offset), renameModule(URI, checked, offset, 'a')]).toEqual([null, null]);
  });
});
