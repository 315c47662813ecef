import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LOCAL } from './clusters';
import type { SmokePlan } from './plan';
import { forgetRun, savedRuns, saveRun } from './savedRuns';

describe('runs whose jobs outlive the program that started them', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'saved-runs-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const request = {
    ...{ uri: 'file:///a/one.layout.yaml', name: 'one', layoutHash: 'abc', cluster: 'big', kind: 'slurm' },
    ...{ started: '2026-01-01T10:00:00.000Z', world: 4, allGroups: 2 },
  };
  const plan = { version: 1, name: 'one', world_size: 4 } as unknown as SmokePlan;
  const job = { cluster: LOCAL, plan, ticket: { job: '7' } };

  test('are found again under their names and requests, until they are forgotten', () => {
    saveRun(folder, { id: 'a', request, ...job });
    expect(savedRuns(folder)).toMatchObject([{ id: 'a', request, ticket: { job: '7' } }]);
    forgetRun(folder, { id: 'a' });
    expect(savedRuns(folder)).toEqual([]);
  });

  test('get a name where they have none', () => {
    const [first, second] = [saveRun(folder, job), saveRun(folder, job)];
    expect(first.id).not.toBe(second.id);
    expect(new Set(savedRuns(folder).map(({ id }) => id))).toEqual(new Set([first.id, second.id]));
    expect(first.request).toBeUndefined();
  });

  test('are passed over where their file cannot be read', () => {
    writeFileSync(join(folder, 'b.json'), '{"version": 1');
    expect(savedRuns(folder)).toEqual([]);
    expect(savedRuns(join(folder, 'missing'))).toEqual([]);
  });
});
