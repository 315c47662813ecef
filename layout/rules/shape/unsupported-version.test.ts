import { expect, test } from 'vitest';
import { report } from '../testing';
import { unsupportedVersion } from './unsupported-version';

const said = (text: string) => report(unsupportedVersion, text);

test('a later version', () => {
  expect(said('layout: 2\nworld_size: 8\nparallelism: {tp: 2}\n')).toMatchInlineSnapshot(`
    "error[unsupported-version] at "2"
    Version 2 of the layout format is not supported. Write \`layout: 1\`.
    = suggestion: Change layout to 1
      - layout: 2
      + layout: 1"
  `);
});
