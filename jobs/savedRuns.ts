import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Ticket } from './backend';
import type { Cluster } from './clusterKinds';
import { parseClusters } from './clusters';
import type { SmokePlan } from './plan';
import type { NamedRun } from './runRecord';

const VERSION = 1;

/** A run whose job may still be running. */
export interface SavedRun extends Partial<NamedRun> {
  readonly version: typeof VERSION;
  readonly id: string;
  /** When its job was submitted, as ISO 8601 writes it. */
  readonly started: string;
  /** The cluster's settings at that time. */
  readonly cluster: Cluster;
  readonly plan: SmokePlan;
  readonly ticket: Ticket;
}

/** The folder of the command line's runs. */
export function runsFolder(): string {
  const state = process.env.XDG_STATE_HOME;
  return join(state?.startsWith('/') ? state : join(homedir(), '.local', 'state'), 'parallelism-layout', 'runs');
}

/** Saves a run atomically; one without a name gets one. */
export function saveRun(
  folder: string,
  run: Pick<SavedRun, 'cluster' | 'plan' | 'ticket'> & Partial<NamedRun>,
): SavedRun {
  const saved: SavedRun = { version: VERSION, id: randomUUID(), started: new Date().toISOString(), ...run };
  const path = join(folder, `${saved.id}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.part`, JSON.stringify(saved), { mode: 0o600 });
  renameSync(`${path}.part`, path);
  return saved;
}

/** The saved runs of a folder, the newest first; other files are skipped. */
export function savedRuns(folder: string): SavedRun[] {
  let names: string[];
  try {
    names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  } catch {
    return [];
  }
  return names.flatMap((name) => readRun(join(folder, name))).sort((a, b) => b.started.localeCompare(a.started));
}

function readRun(path: string): SavedRun[] {
  try {
    const run: SavedRun = JSON.parse(readFileSync(path, 'utf8'));
    parseClusters([run.cluster]);
    return run.version === VERSION && run.ticket && run.plan ? [run] : [];
  } catch {
    return [];
  }
}

/** Removes a saved run. */
export function forgetRun(folder: string, { id }: Pick<SavedRun, 'id'>): void {
  rmSync(join(folder, `${id}.json`), { force: true });
}
