import { expect, test } from 'vitest';
import { groupsMarkdown } from './group-reference';
import { GROUP_NAMES } from './process-groups';

test('every process group stands in the catalogue', () => {
  const text = groupsMarkdown();
  expect(GROUP_NAMES.filter((name) => !text.includes(`| \`${name}\` |`))).toEqual([]);
});
