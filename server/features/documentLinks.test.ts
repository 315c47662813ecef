import { expect, test } from 'vitest';
import { check } from '../../layout';
import { textAt } from '../testing';
import { documentLinks } from './documentLinks';

test('codes of rules in comments lead to their pages; other words and keys do not', () => {
  const checked = check('layout: 1 # tp-crosses-nvlink is wanted, no-such-rule is not\nname: cp-crosses-node\n');
  const links = documentLinks(checked);
  expect(links.map(({ range, target }) => [textAt(checked.lines, range), target?.split('/').at(-1)])).toEqual([
    ['tp-crosses-nvlink', 'tp-crosses-nvlink.md'],
  ]);
});
