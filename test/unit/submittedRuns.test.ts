import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SubmittedRuns } from '../../client/jobs/submittedRuns';
import { LOCAL, type SmokePlan, saveRun } from '../../jobs';

describe('the runs whose jobs outlive a window', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'smoke-submitted-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const request = {
    ...{ uri: 'file:///a/one.layout.yaml', name: 'one', layoutHash: 'abc', cluster: 'big', kind: 'slurm' },
    ...{ started: '2026-01-01T10:00:00.000Z', world: 4, allGroups: 2 },
  };
  const plan = { version: 1, name: 'one', world_size: 4 } as unknown as SmokePlan;
  const job = { cluster: LOCAL, plan, ticket: { job: '7' } };

  test('are found again with their requests, until they are forgotten', async () => {
    const runs = new SubmittedRuns(root);
    const folder = await runs.folderFor({ id: 'a', request });
    saveRun(folder, job);
    const [found, ...rest] = await new SubmittedRuns(root).load();
    expect(found).toMatchObject({ id: 'a', folder, request: { uri: request.uri }, saved: { ticket: { job: '7' } } });
    expect(rest).toEqual([]);
    await runs.forget('a');
    expect(await runs.load()).toEqual([]);
  });

  test('leave nothing behind where no job was submitted', async () => {
    const runs = new SubmittedRuns(root);
    await runs.folderFor({ id: 'never-submitted', request });
    expect(await runs.load()).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });
});
