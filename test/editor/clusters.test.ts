// A person's way through smoke jobs on clusters, in the real workbench: describe the cluster, watch the job wait and run, read
// what it proved; reload the window while one runs; cancel one. Slurm is real, with all its daemons on this machine; for
// Kubernetes a real kubectl speaks to a stand-in.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { SlurmLab } from '../clusters/slurmCluster';
import { StandInCluster } from '../clusters/standInCluster';
import { showView } from '../grid/controls';
import { useCluster } from '../harness/sharedEditor';
import { testWorkbench } from '../harness/testWorkbench';

const LAYOUT = 'two-ranks.layout.yaml';
const GROUPS = 10;
const PYTHON = process.env.PYTHON ?? '/usr/bin/python3';

/** How long a job may take on a machine that does other things too, in milliseconds. */
const PATIENCE = 180_000;

/** A cluster that has no room for a job until `makeRoom`. */
interface TestCluster {
  /** The cluster's part of the setting `parallelismLayout.clusters`. */
  readonly settings: (gate: Gate) => object;
  /** What the view says of a job that waits, and of one that runs. */
  readonly waits: RegExp;
  readonly runs: RegExp;
  readonly makeRoom: () => void;
  /** What of ours is still there. */
  readonly left: () => readonly unknown[];
  readonly stop: () => Promise<void>;
}

async function slurm(): Promise<TestCluster> {
  const lab = await SlurmLab.start(1, 16);
  const other = lab.occupy('smoke');
  useCluster(inject('editor'), 'SLURM_CONF', lab.environment.SLURM_CONF ?? '');
  return {
    settings: ({ wait }) => ({
      kind: 'slurm',
      work_directory: join(lab.folder, 'work'),
      python: PYTHON,
      setup: [wait],
    }),
    waits: /queued · Resources \(it is next, once enough nodes are free\) · job \d+/,
    runs: /running · n1 · job \d+/,
    makeRoom: () => {
      lab.run('scancel', other);
    },
    left: () => lab.jobs(),
    stop: () => lab.stop(),
  };
}

async function kubernetes(): Promise<TestCluster> {
  const cluster = await StandInCluster.start({ unschedulable: '0/1 nodes are available: 1 Insufficient cpu.' });
  useCluster(inject('editor'), 'KUBECONFIG', cluster.kubeconfig());
  return {
    settings: ({ python }) => ({ kind: 'kubernetes', context: 'stand-in', image: 'torch', python }),
    waits: /queued · .*Unschedulable: 0\/1 nodes are available.* · job smoke-two-ranks/,
    runs: /running · node-0 · job smoke-two-ranks/,
    makeRoom: () => cluster.place(),
    left: () => cluster.objects(),
    stop: () => cluster.stop(),
  };
}

/** The clusters by the names that the settings give them; the last one runs the jobs that are followed and cancelled. */
const STARTS = { pods: kubernetes, lab: slurm } as const;
const NAMES = ['pods', 'lab'] as const;

describe('smoke jobs on clusters', () => {
  let clusters: Readonly<Record<keyof typeof STARTS, TestCluster>>;
  let gate: Gate;
  const result = (text: string) => workbench.grid.getByRole('heading', { name: `Smoke job: ${text}` });
  const workbench = testWorkbench({ folder: 'test/fixtures/workspace' }, async () => {
    const [pods, lab] = await Promise.all([STARTS.pods(), STARTS.lab()]);
    clusters = { pods, lab };
  });

  beforeAll(() => {
    gate = new Gate(workbench.folder);
  });

  afterAll(() => Promise.all(Object.values(clusters ?? {}).map((cluster) => cluster.stop())));

  const row = (text: string | RegExp) =>
    workbench.page.locator('.pane-body [role=treeitem]', { hasText: text }).first();

  test('a person describes the clusters in the settings of the machine', async () => {
    const { page } = workbench;
    await workbench.openFile(LAYOUT);
    await workbench.lens('Run Smoke Job').waitFor();
    await workbench.command('Parallelism Layout: Configure Clusters');
    await page.getByText('Edit in settings.json').waitFor();
    const described = NAMES.map((name) => ({ name, backend: 'gloo', ...clusters[name].settings(gate) }));
    workbench.setting('parallelismLayout.clusters', described, 'Machine');
    // the editor reads the file in its own time: before that, there is one cluster and nothing to choose
    await page.locator('.settings-editor .setting-item-contents.is-configured').first().waitFor();
    await workbench.screenshot('cluster-settings');
    // the editor asks for its lenses soon after it is shown, unless it has lost the focus by then
    await workbench.waitForLens(LAYOUT, 'Run Smoke Job');
    await page.getByRole('tab', { name: 'Smoke Jobs' }).click();
  });

  test.each(NAMES)('one waits for its turn on %s, runs and passes', async (name) => {
    const { page } = workbench;
    const cluster = clusters[name];
    gate.close();
    const choice = page.locator('.quick-input-list .monaco-list-row', { hasText: name });
    await workbench.clickLens('Run Smoke Job', choice);
    await choice.click();
    // an editor that loses the focus in this moment would draw it later
    await workbench.lens(`Smoke job on ${name}: cancel`).waitFor();
    await row(cluster.waits).waitFor();
    await workbench.notification(cluster.waits).waitFor();
    await workbench.screenshot(`cluster-waits-${name}`);
    cluster.makeRoom();
    await row(cluster.runs).waitFor();
    await workbench.screenshot(`cluster-runs-${name}`);
    gate.open();
    await workbench.notification(`Smoke job of two-ranks passed on ${name}`).waitFor({ timeout: PATIENCE });
    await workbench.waitForLens(LAYOUT, `Smoke job passed on ${name}`);
    expect(cluster.left()).toEqual([]);
  });

  test('what it proved is in the history, on the grid and in the log', async () => {
    await row('two-ranks').click();
    await row(`${GROUPS} of ${GROUPS} passed`).click();
    await row('tp_dp_cp').waitFor();
    await workbench.command('Parallelism Layout: Show Smoke Job Result on Rank Grid');
    await showView(workbench.grid, 'Smoke');
    await result('passed').waitFor();
    await workbench.screenshot('cluster-results');
    await workbench.command('Parallelism Layout: Show Smoke Job Log');
    await workbench.page.locator('.terminal-wrapper.active .xterm-rows').getByText('passed after').waitFor();
    await workbench.screenshot('cluster-log');
  });

  test('one that runs while the window is reloaded is followed again', async () => {
    gate.close();
    await workbench.command('Parallelism Layout: Run Smoke Job Again');
    await row(clusters.lab.runs).waitFor();
    await workbench.reload();
    await workbench.lens('Smoke job on lab: cancel').waitFor();
    await workbench.page.getByRole('tab', { name: 'Smoke Jobs' }).click();
    await row(clusters.lab.runs).waitFor();
    await result('running').waitFor();
    await workbench.screenshot('cluster-reloaded');
    gate.open();
    await workbench.notification('Smoke job of two-ranks passed on lab').waitFor({ timeout: PATIENCE });
    await result('passed').waitFor();
    await workbench.screenshot('cluster-followed');
    expect(clusters.lab.left()).toEqual([]);
  });

  test('one that is cancelled is gone from the cluster', async () => {
    const { page } = workbench;
    gate.close();
    await workbench.command('Parallelism Layout: Run Smoke Job Again');
    await row(clusters.lab.runs).waitFor();
    const progress = workbench.notification('Smoke job of two-ranks on lab');
    await progress.waitFor();
    await progress.button('Cancel').click();
    const dialog = page.locator('.monaco-dialog-box');
    await dialog.getByText('Cancel the smoke job of two-ranks on lab?').waitFor();
    await workbench.screenshot('cluster-cancel');
    await dialog.getByRole('button', { name: 'Cancel the Job' }).click();
    await workbench.notification('Smoke job of two-ranks cancelled').waitFor({ timeout: PATIENCE });
    await row('cancelled').waitFor();
    await workbench.waitForLens(LAYOUT, 'Smoke job cancelled on lab');
    await result('passed').waitFor();
    await workbench.screenshot('cluster-cancelled');
    expect(clusters.lab.left()).toEqual([]);
  });
});

/** Holds a job that runs for as long as it is closed, so that a test can look at it. */
class Gate {
  readonly #open: string;
  /** A line of the shell that waits. */
  readonly wait: string;
  /** An interpreter that waits before it starts. */
  readonly python: string;

  constructor(folder: string) {
    this.#open = join(folder, 'open');
    this.wait = `until [ -e '${this.#open}' ]; do sleep 0.1; done`;
    this.python = join(folder, 'python');
    // the first process of a container obeys only the signals that it handles
    writeFileSync(this.python, `#!/bin/sh\ntrap 'exit 143' TERM\n${this.wait}\nexec ${PYTHON} "$@"\n`, { mode: 0o755 });
  }

  open() {
    writeFileSync(this.#open, '');
  }

  close() {
    rmSync(this.#open, { force: true });
  }
}
