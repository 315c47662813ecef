import { expect, test } from 'vitest';
import { CancellationToken } from 'vscode-languageserver';
import { plannedInSlices } from './slices';

function* steps(end: () => string): Generator<undefined, string> {
  yield undefined;
  return end();
}

test('a plan is what its computation ends with', async () => {
  expect(
    await plannedInSlices(
      steps(() => 'a plan'),
      CancellationToken.None,
    ),
  ).toBe('a plan');
});

test('a computation that throws is a plan with that as its reason', async () => {
  const failing = steps(() => {
    throw new Error('no such GPU');
  });
  expect(await plannedInSlices(failing, CancellationToken.None)).toEqual({
    ok: false,
    reason: 'the planner failed (no such GPU)',
  });
});
