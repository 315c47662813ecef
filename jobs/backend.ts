import type { ClusterBase } from './clusterFields';
import type { CommBackend, SmokePlan } from './plan';

export { EnvironmentError, TooFewGpusError } from './environmentError';

/** The reason to abort a run with that leaves its job running, where that is possible: it can be followed again later. */
export const DETACH = 'detach';

/** The run was left, and its job goes on. */
export class DetachedError extends Error {}

/** All that is needed to follow a job again, from another process: plain data, which its kind of cluster reads. */
export type Ticket = Readonly<Record<string, string>>;

/** What a run needs. */
export interface SmokeRequest<C extends ClusterBase = ClusterBase> {
  readonly plan: SmokePlan;
  readonly cluster: C;
  /** The folder of the Python job. */
  readonly job: string;
  /** Overrides the cluster's communication backend. */
  readonly backend?: CommBackend;
  /** The launch is only shown: what this machine lacks becomes a note, because the script may run on another. */
  readonly dryRun?: boolean;
}

/** Where a job stands with its scheduler: what its own events cannot tell. */
export interface JobState {
  /** The scheduler's name of the job; undefined before it has one. */
  readonly job?: string;
  readonly phase: 'submitting' | 'queued' | 'running' | 'ending' | 'disconnected';
  /** Why it waits, on which nodes it runs, what was lost: for people. */
  readonly detail: string;
}

/** Where a running job writes to. */
export interface JobOutput {
  /** A piece of the event stream. */
  events(text: string): void;
  /** A piece of what the job, its launcher and its ranks write for people. */
  log(text: string): void;
  /** The scheduler says something new of the job. */
  state(state: JobState): void;
  /** From now on the job goes on without this process, and can be followed again. */
  submitted(ticket: Ticket): void;
}

/** How the scheduler ended a job, where it was not the job itself: a verdict, and what a person should know. */
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

/** Where a command runs that is not called where it stands: in a folder to which all its files are copied first. */
interface RunPlace {
  /** The folder, which may begin with `~/`. */
  readonly folder: string;
  /** The folder on this machine whose Python files go to `job/` in that folder. */
  readonly job: string;
  /** The destination of ssh where the folder is; left out: this machine. */
  readonly host?: string;
}

/** What a person should agree to before a job runs; a script agrees by calling for it. */
export interface Question {
  /** `cpu`: nothing runs on a GPU. `crowded`: more processes than this machine is made for. */
  readonly code: 'cpu' | 'crowded';
  readonly message: string;
}

/** A job that is ready to run: what a dry run shows, and the run itself. */
export interface Launch {
  /** The plan that the job reads, as it will be written to `planFile`. */
  readonly plan: SmokePlan;
  readonly planFile: string;
  readonly backend: CommBackend;
  /** The command as an array: no shell reads it. */
  readonly command: readonly string[];
  /** Left out: the command runs where it stands. */
  readonly place?: RunPlace;
  /** Scripts and manifests that the command uses, word for word. */
  readonly files: readonly RunFile[];
  /** The run as lines of a shell script, where it is more than the command with the plan in its file. */
  readonly script?: readonly string[];
  /** What the user must know about this run, a sentence each. */
  readonly notes: readonly string[];
  readonly questions?: readonly Question[];
  /**
   * Runs the job; resolves once nothing of it is left.
   * @param signal cancels it; for the reason DETACH, a job that has been submitted goes on
   * @param folder a fresh private folder on this machine, removed after the run
   * @returns how the scheduler ended the job, where that is not in the event stream
   * @throws DetachedError where the job was left running
   */
  run(output: JobOutput, signal: AbortSignal, folder: string): Promise<Ending | null>;
}

/** A kind of cluster: drives an existing engine, such as Slurm. */
export interface Backend<C extends ClusterBase> {
  /**
   * Finds out how the job can be run, and starts nothing.
   * @throws EnvironmentError where it cannot
   */
  prepare(request: SmokeRequest<C>, signal?: AbortSignal): Promise<Launch>;
  /**
   * Follows a job that an earlier run has submitted, as `Launch.run` does, from its first event; left out by kinds whose
   * jobs end with the process that started them.
   */
  attach?(cluster: C, ticket: Ticket, output: JobOutput, signal: AbortSignal): Promise<Ending | null>;
}
