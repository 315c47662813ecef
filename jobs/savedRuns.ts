import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Ticket } from './backend';
import { parseClusters } from './clusters';
import type { Cluster } from './kinds';
import type { SmokePlan } from './plan';

const VERSION = 1;

/** A run whose job may still be there, though nobody follows it. */
export interface SavedRun {
  readonly version: typeof VERSION;
  readonly id: string;
  /** When its job was submitted, as ISO 8601 writes it. */
  readonly started: string;
  /** The cluster as it was then: its settings may have changed. */
  readonly cluster: Cluster;
  readonly plan: SmokePlan;
  readonly ticket: Ticket;
}

/** Where the command line remembers runs. */
export function runsFolder(): string {
  const state = process.env.XDG_STATE_HOME;
  return join(state?.startsWith('/') ? state : join(homedir(), '.local', 'state'), 'parallelism-layout', 'runs');
}

/** Remembers a run: whole or not at all, whatever happens to this process. */
export function saveRun(folder: string, run: Omit<SavedRun, 'version' | 'id' | 'started'>): SavedRun {
  const saved: SavedRun = { version: VERSION, id: randomUUID(), started: new Date().toISOString(), ...run };
  const path = join(folder, `${saved.id}.json`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.part`, JSON.stringify(saved), { mode: 0o600 });
  renameSync(`${path}.part`, path);
  return saved;
}

/** The runs that a folder remembers, the newest first; files of another kind or version are passed over. */
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

/** Forgets a run. */
export function forgetRun(folder: string, { id }: SavedRun): void {
  rmSync(join(folder, `${id}.json`), { force: true });
}
