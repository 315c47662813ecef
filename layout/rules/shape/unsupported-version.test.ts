import { expect, test } from 'vitest';
import { reports } from '../testing';
import { unsupportedVersion } from './unsupported-version';

test('unsupported-version', () => {
  const said = reports(unsupportedVersion, {
    'a later version': 'layout: 2\nworld_size: 8\nparallelism: {tp: 2}\n',
  });
  expect(said).toMatchInlineSnapshot(`
    "a later version: error at "2": Version 2 of the layout format is not supported. Use layout 1.
      = suggestion: Change layout to 1: layout: [-2-]{+1+}"
  `);
});
