import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Backend, JobOutput, JobState } from './backend';
import type { Cluster } from './clusterKinds';
import { LOCAL } from './clusters';
import type { SmokePlan } from './plan';
import { savedRuns } from './savedRuns';
import { runSmoke } from './smokeRun';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'smoke-run-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plan = { version: 1, name: 'one', world_size: 4, groups: [] } as unknown as SmokePlan;
const named = {
  id: 'a',
  request: {
    ...{ uri: 'file:///a/one.layout.yaml', name: 'one', layoutHash: 'abc', cluster: 'local', kind: 'local' },
    ...{ started: '2026-01-01T10:00:00.000Z', world: 4, allGroups: 2 },
  },
};

/** A kind of cluster whose jobs do what a test says. */
const backendOf = (work: (output: JobOutput) => void): Backend<Cluster> => ({
  prepare: async () => ({
    plan,
    planFile: 'plan.json',
    backend: 'gloo',
    command: ['true'],
    files: [],
    notes: [],
    run: async (output) => {
      work(output);
      return { code: 'preempted', message: 'Another job took the nodes.' };
    },
  }),
});

test('a state of a job is told once, however often its scheduler says it', async () => {
  const states: JobState[] = [];
  const [queued, running] = [
    { job: '7', phase: 'queued', detail: 'Priority' },
    { job: '7', phase: 'running', detail: 'n1' },
  ] as const;
  const backend = backendOf(({ state }) => [queued, queued, running, running, queued].forEach(state));
  const request = { plan, cluster: LOCAL, jobFolder: 'smoke' };
  await runSmoke(request, { onState: (state) => states.push(state) }, new AbortController().signal, folder, backend);
  expect(states).toEqual([queued, running, queued]);
});

test('a submitted run is saved under its name until its job has ended', async () => {
  let saved: unknown;
  const backend = backendOf(({ submitted }) => {
    submitted({ job: '7' });
    saved = savedRuns(folder);
  });
  const request = { plan, cluster: LOCAL, jobFolder: 'smoke', run: named };
  const result = await runSmoke(request, {}, new AbortController().signal, folder, backend);
  expect(saved).toMatchObject([{ ...named, plan: { name: 'one' }, ticket: { job: '7' } }]);
  expect(savedRuns(folder)).toEqual([]);
  expect(result).toMatchObject({ verdict: 'preempted', ok: false });
});
