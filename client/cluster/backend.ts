import type { Cluster } from './clusters';
import type { CommBackend, SmokePlan } from './plan';

/** The machine cannot run the job; the message says what is missing and what to do. */
export class EnvironmentError extends Error {}

/** What a run needs. */
export interface SmokeRequest<C extends Cluster = Cluster> {
  readonly plan: SmokePlan;
  readonly cluster: C;
  /** The folder of the Python job. */
  readonly job: string;
  /** Overrides the cluster's communication backend. */
  readonly backend?: CommBackend;
}

/** Where a running job writes to. */
export interface JobOutput {
  /** A piece of the event stream. */
  events(text: string): void;
  /** A piece of what the job, its launcher and its ranks write for people. */
  log(text: string): void;
}

/** A job that is ready to run: what a dry run shows, and the run itself. */
export interface Launch {
  /** The plan that the job reads, as it will be written to `planFile`. */
  readonly plan: SmokePlan;
  readonly planFile: string;
  readonly backend: CommBackend;
  /** The command as an array: no shell reads it. */
  readonly command: readonly string[];
  /** What the user must know about this run, a sentence each. */
  readonly notes: readonly string[];
  /**
   * Runs the job; resolves once nothing of it is left.
   * @param signal cancels it
   */
  run(output: JobOutput, signal: AbortSignal): Promise<void>;
}

/** A kind of cluster: drives an existing engine, such as torchrun or Slurm. */
export interface Backend<C extends Cluster> {
  /**
   * Finds out how the job can be run, and starts nothing.
   * @param folder where the files of the run will be
   * @throws EnvironmentError where it cannot
   */
  prepare(request: SmokeRequest<C>, folder: string, signal?: AbortSignal): Promise<Launch>;
}
