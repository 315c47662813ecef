import type { Ending, JobState } from '../backend';

/** What squeue says of a job. */
export interface SlurmState {
  /** Such as `PENDING`. */
  readonly state: string;
  /** Why a job waits. */
  readonly reason: string;
  /** Such as `n[1-2]`; empty before it has any. */
  readonly nodes: string;
}

/** Ways in which Slurm, and not the job, ends a job. */
const ENDINGS: Readonly<Record<string, (job: string, on: string) => Ending>> = {
  BOOT_FAIL: (job, on) => ({ code: 'node_failed', message: `A node of Slurm job ${job}${on} could not be started.` }),
  CANCELLED: (job) => ({
    code: 'job_cancelled',
    message: `Slurm job ${job} was cancelled, by its cluster or by somebody else.`,
  }),
  DEADLINE: (job) => ({ code: 'time_limit', message: `Slurm ended job ${job} at its deadline.` }),
  NODE_FAIL: (job, on) => ({ code: 'node_failed', message: `A node of Slurm job ${job}${on} failed.` }),
  OUT_OF_MEMORY: (job, on) => ({
    code: 'out_of_memory',
    message: `Slurm job ${job}${on} took more memory than it had asked for. Ask for more in the cluster's options, such as --mem=0.`,
  }),
  PREEMPTED: (job, on) => ({
    code: 'preempted',
    message: `Slurm job ${job}${on} was preempted: another job of higher priority took its nodes.`,
  }),
  TIMEOUT: (job, on) => ({
    code: 'time_limit',
    message: `Slurm job ${job}${on} reached its time limit. Its setup, or pulling its image, took too long; set a longer time.`,
  }),
};

/** Reads `STATE|REASON|NODES`. */
export function parseState(text: string): SlurmState {
  const [state = '', reason = '', nodes = ''] = text.trim().split('|');
  return { state, reason, nodes };
}

/** A state as the listeners of a run are told of it. */
export function jobState(job: string, { state, reason, nodes }: SlurmState): JobState {
  switch (state) {
    case 'PENDING':
    case 'REQUEUED':
    case 'REQUEUE_HOLD':
    case 'SPECIAL_EXIT':
      return { job, phase: 'queued', detail: reason === 'None' ? 'Slurm has not looked at it yet' : reason };
    case 'CONFIGURING':
    case 'RUNNING':
    case 'SUSPENDED':
      return { job, phase: 'running', detail: state === 'RUNNING' ? nodes : `${nodes} (${state.toLowerCase()})` };
    default:
      return { job, phase: 'ending', detail: state.toLowerCase().replaceAll('_', ' ') };
  }
}

/**
 * How Slurm ended a job; null where the job ended by itself.
 * @param nodes where it ran, as far as it is known
 */
export function endingOf(job: string, { state }: SlurmState, nodes: string): Ending | null {
  // accounts write `CANCELLED by 1000`
  const [word = ''] = state.split(' ');
  return ENDINGS[word]?.(job, nodes === '' ? '' : ` on ${nodes}`) ?? null;
}
