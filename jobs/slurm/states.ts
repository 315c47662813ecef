import type { Ending, JobState } from '../backend';

/** The state of a job according to squeue. */
export interface SlurmState {
  /** Such as `PENDING`. */
  readonly state: string;
  /** Why a job waits. */
  readonly reason: string;
  /** Such as `n[1-2]`; empty before it has any. */
  readonly nodes: string;
}

/** States in which Slurm itself has ended a job. */
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

/** The meanings of Slurm's commonest reasons, by their beginnings. */
const REASONS: readonly (readonly [string, string])[] = [
  ['None', 'Slurm has not looked at it yet'],
  ['Resources', 'it is next, once enough nodes are free'],
  ['Priority', 'jobs of higher priority are before it'],
  ['Nodes required for job are DOWN', 'nodes that it needs are down, drained or reserved'],
  ['ReqNodeNotAvail', 'nodes that it asks for are not available'],
  ['BeginTime', 'its time has not come'],
  ['Dependency', 'it waits for another job'],
  ['Reservation', 'its reservation has not begun'],
  ['JobHeldUser', "it is held: 'scontrol release' lets it go"],
  ['JobHeldAdmin', 'it is held by an administrator'],
  ['PartitionTimeLimit', 'it can never start: it asks for more time than the partition gives'],
  ['PartitionNodeLimit', 'it can never start: it asks for more nodes than the partition gives'],
  ['BadConstraints', 'it can never start: no nodes are as it asks'],
  ['InvalidAccount', 'it can never start with this account'],
  ['InvalidQOS', 'it can never start with this quality of service'],
  ['QOS', 'a limit of its quality of service is reached'],
  ['Assoc', 'a limit of its account is reached'],
];

/** A reason with its meaning, if that is known. */
function reasonText(reason: string): string {
  const meaning = REASONS.find(([beginning]) => reason.startsWith(beginning))?.[1];
  return meaning === undefined ? reason : `${reason} (${meaning})`;
}

/** Reads `STATE|REASON|NODES`. */
export function parseState(text: string): SlurmState {
  const [state = '', reason = '', nodes = ''] = text.trim().split('|');
  return { state, reason, nodes };
}

/** A state for the listeners of a run. */
export function jobState(job: string, { state, reason, nodes }: SlurmState): JobState {
  switch (state) {
    case 'PENDING':
    case 'REQUEUED':
    case 'REQUEUE_HOLD':
    case 'SPECIAL_EXIT':
      return { job, phase: 'queued', detail: reasonText(reason) };
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
 * @param nodes its nodes; empty for unknown
 */
export function endingOf(job: string, { state }: SlurmState, nodes: string): Ending | null {
  // accounts write `CANCELLED by 1000`
  const [word = ''] = state.split(' ');
  return ENDINGS[word]?.(job, nodes === '' ? '' : ` on ${nodes}`) ?? null;
}
