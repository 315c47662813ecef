import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LocalCluster } from './clusters';
import { type Fault, type GroupFields, LineSplitter, type Operation, parseEvent, type SmokeEvent } from './events';
import { chooseBackend, findPython, localCommand } from './local';
import { type CommBackend, planFor, type SmokePlan } from './plan';

/** How long the job has to end by itself after it was told to, in milliseconds. */
const CANCEL_GRACE = 15_000;

/** How many of the job's last lines are kept. */
const LAST_WORDS = 20;

/** How one process group fared. */
export interface GroupResult extends GroupFields {
  readonly ops: Readonly<Record<string, Operation>>;
}

/** The outcome of a run. */
export interface SmokeResult {
  /** `ok`, `cancelled`, a fault's code, or `unknown` where the stream broke off: never passed. */
  readonly verdict: string;
  readonly ok: boolean;
  readonly groups: readonly GroupResult[];
  readonly fault: Fault | null;
  readonly seconds: number;
  /** What the ranks run on, such as `NVIDIA H200`. */
  readonly device: string;
  readonly software: readonly string[];
  /** The last lines that the job wrote for people: all there is to go by where the stream broke off. */
  readonly lastWords: readonly string[];
}

/** How far a run has come. */
export interface SmokeProgress {
  readonly ranks: number;
  readonly world: number;
  readonly groups: number;
  readonly allGroups: number;
}

/** Who listens to a run. */
export interface SmokeListener {
  /** The command is about to run. */
  onCommand?(command: readonly string[], backend: CommBackend): void;
  onEvent?(event: SmokeEvent, progress: SmokeProgress): void;
  /** A line that the job, torchrun or a rank wrote for people. */
  onLog?(line: string): void;
}

/** What a run needs. */
export interface SmokeRequest {
  readonly plan: SmokePlan;
  readonly cluster: LocalCluster;
  /** The folder of the Python job. */
  readonly job: string;
  /** Overrides the cluster's backend. */
  readonly backend?: CommBackend;
}

/**
 * Runs a smoke job on this machine to its end.
 * @param signal cancels it: every process that it started ends
 * @throws EnvironmentError where the machine cannot run it
 */
export async function runSmoke(
  request: SmokeRequest,
  listener: SmokeListener,
  signal: AbortSignal,
): Promise<SmokeResult> {
  const environment = await findPython(request.cluster, signal);
  const wanted = request.backend ?? request.cluster.backend ?? 'auto';
  const backend = chooseBackend(wanted, environment, request.plan.world_size);
  const folder = await mkdtemp(join(tmpdir(), 'parallelism-layout-smoke-'));
  try {
    const path = join(folder, 'plan.json');
    await writeFile(path, JSON.stringify(planFor(request.plan, backend)));
    const command = localCommand(environment.python, join(request.job, 'smoke_job.py'), path);
    listener.onCommand?.(command, backend);
    signal.throwIfAborted();
    return await follow(command, request.plan, listener, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts the command and reads its events until it ends. */
function follow(
  [program = '', ...arguments_]: readonly string[],
  plan: SmokePlan,
  listener: SmokeListener,
  signal: AbortSignal,
): Promise<SmokeResult> {
  const outcome = new Outcome(plan, listener);
  return new Promise((done, fail) => {
    const child = spawn(program, arguments_, { stdio: ['ignore', 'pipe', 'pipe'] });
    let patience: NodeJS.Timeout | undefined;
    const cancel = () => {
      child.kill('SIGTERM');
      // the ranks' helpers end them when the referee is gone, so this leaves nothing behind either
      patience = setTimeout(() => child.kill('SIGKILL'), CANCEL_GRACE);
    };
    const events = new LineSplitter();
    const log = new LineSplitter();
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      for (const line of events.feed(text)) {
        outcome.read(line);
      }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      for (const line of log.feed(text)) {
        outcome.hear(line);
      }
    });
    child.once('error', fail);
    child.once('close', () => {
      clearTimeout(patience);
      signal.removeEventListener('abort', cancel);
      for (const line of events.end()) {
        outcome.read(line);
      }
      done(outcome.result());
    });
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) {
      cancel();
    }
  });
}

/** Gathers the events of one run. */
class Outcome {
  readonly #began = Date.now();
  readonly #groups: GroupResult[] = [];
  readonly #allGroups: number;
  #ranks = 0;
  #fault: Fault | null = null;
  #end: Extract<SmokeEvent, { ev: 'end' }> | null = null;
  #device = '';
  #software: readonly string[] = [];
  readonly #lastWords: string[] = [];

  constructor(
    readonly plan: SmokePlan,
    readonly listener: SmokeListener,
  ) {
    this.#allGroups = plan.groups.reduce((n, { ranks }) => n + ranks.length, 0);
  }

  read(line: string): void {
    const event = parseEvent(line);
    if (!event) {
      this.hear(line);
      return;
    }
    this.#take(event);
    this.listener.onEvent?.(event, {
      ranks: this.#ranks,
      world: this.plan.world_size,
      groups: this.#groups.length,
      allGroups: this.#allGroups,
    });
  }

  hear(line: string): void {
    this.#lastWords.push(line);
    this.#lastWords.splice(0, this.#lastWords.length - LAST_WORDS);
    this.listener.onLog?.(line);
  }

  result(): SmokeResult {
    return {
      verdict: this.#end?.verdict ?? 'unknown',
      ok: this.#end?.ok ?? false,
      groups: this.#groups,
      fault: this.#fault,
      seconds: this.#end?.secs ?? (Date.now() - this.#began) / 1000,
      device: this.#device,
      software: this.#software,
      lastWords: this.#lastWords,
    };
  }

  #take(event: SmokeEvent): void {
    switch (event.ev) {
      case 'rank':
        this.#ranks++;
        break;
      case 'phase':
        this.#device = event.device ?? this.#device;
        this.#software = event.software ?? this.#software;
        break;
      case 'group':
        this.#groups.push(event);
        break;
      case 'fault':
        this.#fault = event;
        break;
      case 'end':
        this.#end = event;
        break;
    }
  }
}
