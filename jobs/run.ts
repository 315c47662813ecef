import { rm } from 'node:fs/promises';
import {
  type Backend,
  type Ending,
  EnvironmentError,
  type JobOutput,
  type JobState,
  type Launch,
  type SmokeRequest,
} from './backend';
import { type Fault, type GroupOperations, LineSplitter, parseEvent, type SmokeEvent } from './events';
import { backendOf, type Cluster } from './kinds';
import type { SmokePlan } from './plan';
import { makeRunFolder } from './runFolder';
import { forgetRun, type SavedRun, saveRun } from './savedRuns';

/** How many of the job's last lines are kept. */
const LAST_WORDS = 20;

/** The exit status of a job that its scheduler ended: that of a job that was told to stop. */
const ENDED_BY_SCHEDULER = 143;

/** How one process group fared. */
type GroupResult = GroupOperations;

/** A check that a layout asks for and the job did not run. */
interface SkippedCheck {
  readonly name: string;
  readonly reason: string;
}

/** A check beside the groups that passed, and what it found. */
interface PassedCheck {
  readonly name: string;
  readonly message: string;
}

/** The outcome of a run. */
export interface SmokeResult {
  /** `ok`, `cancelled`, a fault's code, or `unknown` where the stream broke off: never passed. */
  readonly verdict: string;
  readonly ok: boolean;
  /** The groups of more than one rank that passed. */
  readonly groups: readonly GroupResult[];
  readonly fault: Fault | null;
  readonly seconds: number;
  /** What the ranks run on, such as `NVIDIA H200`. */
  readonly device: string;
  readonly software: readonly string[];
  /** GPU memory that communicators hold, the most of any rank, in bytes; null on a CPU. */
  readonly communicatorBytes: number | null;
  readonly skipped: readonly SkippedCheck[];
  readonly passed: readonly PassedCheck[];
  /** What the check `bandwidth` measured: of each kind one group, once a payload. */
  readonly bandwidth: readonly GroupOperations[];
  /** What the job warns of, such as ranks that run different software. */
  readonly warnings: readonly string[];
  /** The last lines that the job wrote for people: all there is to go by where the stream broke off. */
  readonly lastWords: readonly string[];
}

/** How far a run has come. */
export interface SmokeProgress {
  readonly ranks: number;
  readonly world: number;
  /** Whether all ranks have imported torch. */
  readonly ready: boolean;
  /** The share of the groups that are made. */
  readonly made: number;
  /** Groups of more than one rank that passed, and all of them. */
  readonly groups: number;
  readonly allGroups: number;
}

/** Who listens to a run. */
export interface SmokeListener {
  /** The job is about to run: the last moment to cancel it before it starts. */
  onLaunch?(launch: Launch): void | Promise<void>;
  /** @param line the event as the job wrote it */
  onEvent?(event: SmokeEvent, progress: SmokeProgress, line: string): void;
  /** The scheduler says something new of the job. */
  onState?(state: JobState): void;
  /** A line that the job, its launcher or a rank wrote for people. */
  onLog?(line: string): void;
}

/**
 * Finds out how a job would run, and starts nothing.
 * @throws EnvironmentError where it cannot run
 */
export function prepareSmoke(request: SmokeRequest<Cluster>, signal?: AbortSignal): Promise<Launch> {
  return backendOf(request.cluster).prepare(request, signal);
}

/**
 * Runs a smoke job to its end. Its files are in a folder of their own, which is removed.
 * @param signal cancels it: every process that it started ends; for the reason DETACH see `Launch.run`
 * @param runs a folder that remembers the run for as long as its job can be followed again (`attachSmoke`)
 * @throws EnvironmentError where it cannot run
 */
export async function runSmoke(
  request: SmokeRequest<Cluster>,
  listener: SmokeListener,
  signal: AbortSignal,
  runs?: string,
): Promise<SmokeResult> {
  return runWith(backendOf(request.cluster), request, listener, signal, runs);
}

/** `runSmoke` with an engine of one's own. */
export async function runWith(
  backend: Backend<Cluster>,
  request: SmokeRequest<Cluster>,
  listener: SmokeListener,
  signal: AbortSignal,
  runs?: string,
): Promise<SmokeResult> {
  const launch = await backend.prepare(request, signal);
  await listener.onLaunch?.(launch);
  signal.throwIfAborted();
  const folder = await makeRunFolder('smoke');
  let saved: SavedRun | undefined;
  try {
    const result = await follow(
      launch.plan,
      listener,
      (output) => launch.run(output, signal, folder),
      (ticket) => {
        if (runs !== undefined) {
          saved = saveRun(runs, { cluster: request.cluster, plan: launch.plan, ticket });
        }
      },
    );
    forget(runs, saved);
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Follows a job that an earlier run has left behind, from its first event to its end.
 * @param runs the folder that remembers the run; it is forgotten once the job has ended
 * @throws EnvironmentError where the job cannot be followed
 */
export async function attachSmoke(
  saved: SavedRun,
  listener: SmokeListener,
  signal: AbortSignal,
  runs: string,
): Promise<SmokeResult> {
  return attachWith(backendOf(saved.cluster), saved, listener, signal, runs);
}

/** `attachSmoke` with an engine of one's own. */
export async function attachWith(
  backend: Backend<Cluster>,
  saved: SavedRun,
  listener: SmokeListener,
  signal: AbortSignal,
  runs: string,
): Promise<SmokeResult> {
  const attach = backend.attach?.bind(backend);
  if (!attach) {
    throw new EnvironmentError(`A run on a cluster of the kind ${saved.cluster.kind} ends with what started it.`);
  }
  const result = await follow(saved.plan, listener, (output) => attach(saved.cluster, saved.ticket, output, signal));
  forget(runs, saved);
  return result;
}

function forget(runs: string | undefined, saved: SavedRun | undefined): void {
  if (runs !== undefined && saved) {
    forgetRun(runs, saved);
  }
}

/** Gathers what a job writes until `run`, which is given where to, has come to its end. */
async function follow(
  plan: SmokePlan,
  listener: SmokeListener,
  run: (output: JobOutput) => Promise<Ending | null>,
  submitted: JobOutput['submitted'] = () => undefined,
): Promise<SmokeResult> {
  const outcome = new Outcome(plan, listener);
  const events = new LineSplitter();
  const log = new LineSplitter();
  const each = (lines: Iterable<string>, take: (line: string) => void) => {
    for (const line of lines) {
      take(line);
    }
  };
  const read = (line: string) => outcome.read(line);
  const hear = (line: string) => outcome.hear(line);
  const ending = await run({
    events: (text) => each(events.feed(text), read),
    log: (text) => each(log.feed(text), hear),
    state: (state) => listener.onState?.(state),
    submitted,
  });
  each(events.end(), read);
  each(log.end(), hear);
  return outcome.result(ending);
}

/** A scheduler's word as a fault of the run, which names no rank and no group. */
function faultOf({ code, message }: Ending): Fault {
  return { ev: 'fault', code, exit: ENDED_BY_SCHEDULER, msg: message, culprits: [], waiting: [] };
}

/** Gathers the events of one run. */
class Outcome {
  readonly #began = Date.now();
  readonly #groups: GroupResult[] = [];
  readonly #allGroups: number;
  readonly #skipped: SkippedCheck[] = [];
  readonly #passed: PassedCheck[] = [];
  readonly #bandwidth: GroupOperations[] = [];
  readonly #warnings: string[] = [];
  readonly #lastWords: string[] = [];
  #ranks = 0;
  #ready = false;
  #made = 0;
  #fault: Fault | null = null;
  #end: Extract<SmokeEvent, { ev: 'end' }> | null = null;
  #device = '';
  #software: readonly string[] = [];
  #communicatorBytes: number | null = null;

  constructor(
    readonly plan: SmokePlan,
    readonly listener: SmokeListener,
  ) {
    this.#allGroups = plan.groups
      .filter(({ check }) => check === undefined)
      .reduce((n, { ranks }) => n + ranks.filter(({ length }) => length > 1).length, 0);
  }

  read(line: string): void {
    const event = parseEvent(line);
    if (!event) {
      this.hear(line);
      return;
    }
    this.#take(event);
    const progress = {
      ranks: this.#ranks,
      world: this.plan.world_size,
      ready: this.#ready,
      made: this.#made,
      groups: this.#groups.length,
      allGroups: this.#allGroups,
    };
    this.listener.onEvent?.(event, progress, line);
  }

  hear(line: string): void {
    this.#lastWords.push(line);
    if (this.#lastWords.length > LAST_WORDS) {
      this.#lastWords.shift();
    }
    this.listener.onLog?.(line);
  }

  /** @param ending how the scheduler ended the job: it knows better than the job why the job had to stop */
  result(ending: Ending | null): SmokeResult {
    return {
      verdict: ending?.code ?? this.#end?.verdict ?? 'unknown',
      ok: ending === null && (this.#end?.ok ?? false),
      groups: this.#groups,
      fault: ending ? faultOf(ending) : this.#fault,
      seconds: this.#end?.secs ?? (Date.now() - this.#began) / 1000,
      device: this.#device,
      software: this.#software,
      communicatorBytes: this.#communicatorBytes,
      skipped: this.#skipped,
      passed: this.#passed,
      bandwidth: this.#bandwidth,
      warnings: this.#warnings,
      lastWords: this.#lastWords,
    };
  }

  #take(event: SmokeEvent): void {
    switch (event.ev) {
      case 'rank':
        this.#ranks++;
        break;
      case 'phase':
        this.#ready ||= event.name === 'devices';
        this.#made = event.done !== undefined && event.of !== undefined ? event.done / event.of : this.#made;
        this.#device = event.device ?? this.#device;
        this.#software = event.software ?? this.#software;
        this.#communicatorBytes = event.bytes ?? this.#communicatorBytes;
        if (event.msg !== undefined) {
          this.#warnings.push(event.msg);
        }
        break;
      case 'group':
        this.#groups.push(event);
        break;
      case 'check':
        if (event.skipped !== undefined) {
          this.#skipped.push({ name: event.name, reason: event.skipped });
        } else if (event.measured) {
          this.#bandwidth.push(event.measured);
        } else if (event.ok) {
          this.#passed.push({ name: event.name, message: event.msg ?? '' });
        }
        break;
      case 'fault':
        this.#fault = event;
        break;
      case 'end':
        this.#end = event;
        if (event.left.length > 0) {
          this.#warnings.push(`Processes that could not be ended: ${event.left.join(', ')}.`);
        }
        break;
    }
  }
}
