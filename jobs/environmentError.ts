/** The machine cannot run the job; the message says what is missing and what to do. */
export class EnvironmentError extends Error {}

/** There are GPUs, but fewer than ranks: the job can run on the CPU, which a person must want. */
export class TooFewGpusError extends EnvironmentError {}
