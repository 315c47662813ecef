/** The machine cannot run the job; the message says what is missing and what to do. */
export class EnvironmentError extends Error {}

/** There are fewer GPUs than ranks. The job can run on the CPU if a person confirms it. */
export class TooFewGpusError extends EnvironmentError {}
