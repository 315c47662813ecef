import { expect, test } from 'vitest';
import { check } from '../../layout';
import { foldingRanges } from './folding';

test('maps and lists over several lines fold under their keys, and comments of several lines', () => {
  const text = `# two lines
# of comment
layout: 1
modules:
  language:
    tp: 2
ntp: {failed_ranks: [1,
  2]}
`;
  const folds = foldingRanges(check(text));
  expect(folds.map(({ startLine, endLine, kind }) => [startLine, endLine, kind])).toEqual([
    [3, 5, undefined],
    [6, 7, undefined],
    [4, 5, undefined],
    [6, 7, undefined],
    [0, 1, 'comment'],
  ]);
});
