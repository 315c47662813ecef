import type { ClusterBase } from './clusterFields';
import type { CommBackend, SmokePlan } from './plan';
import type { NamedRun } from './runRecord';

export { EnvironmentError, TooFewGpusError } from './environmentError';

/** The abort reason that leaves the job running, where that is possible: it can be followed again later. */
export const DETACH = 'detach';

/** The client detached from the run; its job is still running. */
export class DetachedError extends Error {}

/** What another process needs to follow the job again: plain data, which its kind of cluster reads. */
export type Ticket = Readonly<Record<string, string>>;

/** The input of a run. */
export interface SmokeRequest<C extends ClusterBase = ClusterBase> {
  readonly plan: SmokePlan;
  readonly cluster: C;
  /** The folder of the Python job. */
  readonly jobFolder: string;
  /** Overrides the cluster's communication backend. */
  readonly backend?: CommBackend;
  /** The launch is only shown: what this machine lacks becomes a note, because the script may run on another one. */
  readonly dryRun?: boolean;
  /** How the run is saved while its job runs without this process. */
  readonly run?: NamedRun;
}

/** The state of a job at its scheduler. */
export interface JobState {
  /** The scheduler's name of the job; undefined before it has one. */
  readonly job?: string;
  readonly phase: 'submitting' | 'queued' | 'running' | 'ending' | 'disconnected';
  /** The reason to wait, the nodes, or what was lost, as text. */
  readonly detail: string;
}

/** The output of a running job. */
export interface JobOutput {
  /** A piece of the event stream. */
  events(text: string): void;
  /** A piece of what the job, its launcher and its ranks write for people. */
  log(text: string): void;
  /** The state of the job at its scheduler; the same one counts once. */
  state(state: JobState): void;
  /** The job runs without this process from now on, and can be followed again. */
  submitted(ticket: Ticket): void;
}

/** The end of a job by its scheduler, and not by the job itself: a verdict and a message. */
export interface Ending {
  /** A fault's code, such as `preempted`; or `cancelled`. */
  readonly code: string;
  readonly message: string;
}

/** A file of a run, beside the plan and the Python job. */
export interface RunFile {
  readonly path: string;
  readonly text: string;
}

/** The folder of a command to which all its files are copied first. */
interface RunPlace {
  /** The folder, which may begin with `~/`. */
  readonly folder: string;
  /** The folder on this machine whose Python files go to `job/` in that folder. */
  readonly jobFolder: string;
  /** The destination of ssh where the folder is; left out: this machine. */
  readonly host?: string;
}

/** What a person must confirm before a job runs; a script confirms by its options. */
export interface Question {
  /** `cpu`: nothing runs on a GPU. `crowded`: more processes than this machine can run well. */
  readonly code: 'cpu' | 'crowded';
  readonly message: string;
}

/** A job that is ready to run. */
export interface Launch {
  /** The plan that the job reads, as it will be written to `planFile`. */
  readonly plan: SmokePlan;
  readonly planFile: string;
  readonly backend: CommBackend;
  /** The command as an array: no shell reads it. */
  readonly command: readonly string[];
  /** Left out: the command runs in any folder. */
  readonly place?: RunPlace;
  /** Scripts and manifests that the command uses, word for word. */
  readonly files: readonly RunFile[];
  /** The run as lines of a shell script, where it is more than the command with the plan in its file. */
  readonly script?: readonly string[];
  /** What the user must know about this run, one sentence each. */
  readonly notes: readonly string[];
  readonly questions?: readonly Question[];
  /**
   * Runs the job; resolves once nothing of it is left.
   * @param signal cancels it; for the reason DETACH, a submitted job keeps running
   * @param folder a fresh private folder on this machine, removed after the run
   * @returns the end by the scheduler, where the event stream does not have it
   * @throws DetachedError where the job was left running
   */
  run(output: JobOutput, signal: AbortSignal, folder: string): Promise<Ending | null>;
}

/** The driver of a kind of cluster. */
export interface Backend<C extends ClusterBase> {
  /**
   * Prepares the job without starting anything.
   * @throws EnvironmentError where it cannot
   */
  prepare(request: SmokeRequest<C>, signal?: AbortSignal): Promise<Launch>;
  /**
   * Follows the job of an earlier run from its first event, as `Launch.run` does; left out by kinds whose jobs end with the
   * process that started them.
   */
  attach?(cluster: C, ticket: Ticket, output: JobOutput, signal: AbortSignal): Promise<Ending | null>;
}
