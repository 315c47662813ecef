/** What decides how many queues to the GPU a job of Megatron-LM needs. */
interface Queued {
  readonly tp: number;
  readonly cp: number;
  /** The name of the GPU, as the layout writes it; empty for unknown. */
  readonly gpu: string;
  readonly overlapsExperts: boolean;
}

/**
 * Whether a job has communication that must start before the computation beside it, so that Megatron-LM wants
 * `CUDA_DEVICE_MAX_CONNECTIONS` to be 1 (`validate_args`, megatron/training/arguments.py). There is no limit since Blackwell.
 */
export function needsOneQueue({ tp, cp, gpu, overlapsExperts }: Queued): boolean {
  // B100, B200, B300, GB200, GB300
  const isBlackwell = /\bG?B\d{3}\b/i.test(gpu);
  return !isBlackwell && !overlapsExperts && (tp > 1 || cp > 1);
}
