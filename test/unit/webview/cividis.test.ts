import { expect, test } from 'vitest';
import { cividis } from '../../../webview/cividis';

test('the ramp goes from dark blue through grey to yellow, as published', () => {
  expect([0, 0.5, 1].map(cividis)).toEqual(['rgb(0, 32, 81)', 'rgb(127, 124, 117)', 'rgb(253, 234, 69)']);
});
