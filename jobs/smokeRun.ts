import { rm } from 'node:fs/promises';
import {
  type Backend,
  type Ending,
  EnvironmentError,
  type JobOutput,
  type JobState,
  type Launch,
  type SmokeRequest,
  type Ticket,
} from './backend';
import { backendOf, type Cluster } from './clusterKinds';
import { LineSplitter, parseEvent, type SmokeEvent } from './events';
import { groupsToPass, type SmokePlan } from './plan';
import { makeRunFolder } from './runFolder';
import { forgetRun, type SavedRun, saveRun } from './savedRuns';
import type { Fault, GroupOperations, PassedGroup, SmokeResult } from './smokeResult';

/** How many of the job's last lines are kept. */
const MAX_LAST_LINES = 20;

/** The exit status of a job that its scheduler ended: that of a job that was told to stop. */
const ENDED_BY_SCHEDULER = 143;

/** How far a run has come. */
export interface SmokeProgress {
  readonly ranks: number;
  readonly world: number;
  /** Whether all ranks have imported torch. */
  readonly ready: boolean;
  /** The share of the groups that have been created, from 0 to 1. */
  readonly made: number;
  /** Groups of more than one rank that passed, and all of them. */
  readonly groups: number;
  readonly allGroups: number;
}

/** The callbacks of a run. */
export interface SmokeListener {
  /** The job is about to run: the last moment to cancel it before it starts. */
  onLaunch?(launch: Launch): void | Promise<void>;
  /** @param line the event as the job wrote it */
  onEvent?(event: SmokeEvent, progress: SmokeProgress, line: string): void;
  /** The state of the job at its scheduler has changed. */
  onState?(state: JobState): void;
  /** A line that the job, its launcher or a rank wrote for people. */
  onLog?(line: string): void;
}

/**
 * Prepares a run without starting anything.
 * @throws EnvironmentError where the job cannot run
 */
export function prepareSmoke(request: SmokeRequest<Cluster>, signal?: AbortSignal): Promise<Launch> {
  return backendOf(request.cluster).prepare(request, signal);
}

/**
 * Runs a smoke job to its end in a temporary folder.
 * @param signal cancels the job and ends every process that it started; for the reason DETACH see `Launch.run`
 * @param runs the folder that remembers the run for as long as `attachSmoke` can follow its job
 * @throws EnvironmentError where the job cannot run
 */
export async function runSmoke(
  request: SmokeRequest<Cluster>,
  listener: SmokeListener,
  signal: AbortSignal,
  runs?: string,
  backend: Backend<Cluster> = backendOf(request.cluster),
): Promise<SmokeResult> {
  const launch = await backend.prepare(request, signal);
  await listener.onLaunch?.(launch);
  signal.throwIfAborted();
  const folder = await makeRunFolder('smoke');
  let forget = () => {};
  const submitted = (ticket: Ticket) => {
    if (runs !== undefined) {
      const saved = saveRun(runs, { ...request.run, cluster: request.cluster, plan: launch.plan, ticket });
      forget = () => forgetRun(runs, saved);
    }
  };
  try {
    const result = await follow(launch.plan, listener, (output) => launch.run(output, signal, folder), submitted);
    forget();
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Follows the job of an earlier run from its first event to its end.
 * @param runs the folder that remembers the run; it is forgotten once the job has ended
 * @throws EnvironmentError where the job cannot be followed
 */
export async function attachSmoke(
  saved: SavedRun,
  listener: SmokeListener,
  signal: AbortSignal,
  runs: string,
  backend: Backend<Cluster> = backendOf(saved.cluster),
): Promise<SmokeResult> {
  const attach = backend.attach?.bind(backend);
  if (!attach) {
    throw new EnvironmentError(`A run on a cluster of the kind ${saved.cluster.kind} ends with what started it.`);
  }
  const result = await follow(saved.plan, listener, (output) => attach(saved.cluster, saved.ticket, output, signal));
  forgetRun(runs, saved);
  return result;
}

/** Collects the output of a job until `run` has ended. */
async function follow(
  plan: SmokePlan,
  listener: SmokeListener,
  run: (output: JobOutput) => Promise<Ending | null>,
  submitted: JobOutput['submitted'] = () => undefined,
): Promise<SmokeResult> {
  const outcome = new Outcome(plan, listener);
  const events = new LineSplitter((line) => outcome.readEvent(line));
  const log = new LineSplitter((line) => outcome.readLog(line));
  let told = '';
  const ending = await run({
    events: (text) => events.feed(text),
    log: (text) => log.feed(text),
    state(state) {
      const text = JSON.stringify(state);
      if (text !== told) {
        told = text;
        listener.onState?.(state);
      }
    },
    submitted,
  });
  events.end();
  log.end();
  return outcome.result(ending);
}

/** Collects the events of one run. */
class Outcome {
  readonly #began = Date.now();
  readonly #found = {
    groups: [] as PassedGroup[],
    fault: null as Fault | null,
    device: '',
    software: [] as readonly string[],
    communicatorBytes: null as number | null,
    skipped: [] as SmokeResult['skipped'][number][],
    passed: [] as SmokeResult['passed'][number][],
    bandwidth: [] as GroupOperations[],
    warnings: [] as string[],
    lastWords: [] as string[],
  };
  readonly #allGroups: number;
  #ranks = 0;
  #ready = false;
  #made = 0;
  #end: Extract<SmokeEvent, { ev: 'end' }> | null = null;

  constructor(
    readonly plan: SmokePlan,
    readonly listener: SmokeListener,
  ) {
    this.#allGroups = groupsToPass(plan);
  }

  readEvent(line: string): void {
    const event = parseEvent(line);
    if (!event) {
      this.readLog(line);
      return;
    }
    this.#take(event);
    const progress = {
      ranks: this.#ranks,
      world: this.plan.world_size,
      ready: this.#ready,
      made: this.#made,
      groups: this.#found.groups.length,
      allGroups: this.#allGroups,
    };
    this.listener.onEvent?.(event, progress, line);
  }

  readLog(line: string): void {
    this.#found.lastWords.push(line);
    if (this.#found.lastWords.length > MAX_LAST_LINES) {
      this.#found.lastWords.shift();
    }
    this.listener.onLog?.(line);
  }

  /** @param ending how the scheduler ended the job: it knows better than the job why the job had to stop */
  result(ending: Ending | null): SmokeResult {
    const ended = ending && { code: ending.code, exit: ENDED_BY_SCHEDULER, msg: ending.message };
    return {
      verdict: ending?.code ?? this.#end?.verdict ?? 'unknown',
      ok: ending === null && (this.#end?.ok ?? false),
      seconds: this.#end?.secs ?? (Date.now() - this.#began) / 1000,
      ...this.#found,
      fault: ended ? { ev: 'fault', ...ended, culprits: [], waiting: [] } : this.#found.fault,
    };
  }

  #take(event: SmokeEvent): void {
    const found = this.#found;
    switch (event.ev) {
      case 'rank':
        this.#ranks++;
        break;
      case 'phase':
        this.#ready ||= event.name === 'devices';
        this.#made = event.done !== undefined && event.of !== undefined ? event.done / event.of : this.#made;
        found.device = event.device ?? found.device;
        found.software = event.software ?? found.software;
        found.communicatorBytes = event.bytes ?? found.communicatorBytes;
        if (event.msg !== undefined) {
          found.warnings.push(event.msg);
        }
        break;
      case 'group':
        // one that fails ends in a fault
        if (event.ok) {
          found.groups.push({ ...event, ok: true });
        }
        break;
      case 'check':
        if (event.skipped !== undefined) {
          found.skipped.push({ name: event.name, reason: event.skipped });
        } else if (event.measured) {
          found.bandwidth.push(event.measured);
        } else if (event.ok) {
          found.passed.push({ name: event.name, message: event.msg ?? '' });
        }
        break;
      case 'fault':
        found.fault = event;
        break;
      case 'end':
        this.#end = event;
        if (event.left.length > 0) {
          found.warnings.push(`Processes that could not be ended: ${event.left.join(', ')}.`);
        }
        break;
    }
  }
}
