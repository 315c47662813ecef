import { LANGUAGE_MODULE } from '../../format/names';
import type { LayoutFacts, ModuleFacts } from '../../topology/facts';

/** The replicas that share a batch. */
export interface BatchReplicas {
  readonly module: ModuleFacts;
  /** Sequences in a micro-batch. */
  readonly micro: number;
  readonly dp: number;
  readonly gtp: number;
  /** Sequences in which all replicas run one micro-batch: the global batch is a multiple of it. */
  readonly step: number;
}

/**
 * The global batch: the written size, or what the training script takes without one, a micro-batch a replica (its default
 * forgets generalized TP). Undefined where it is open.
 */
export function globalBatchOf({ root, trainingScript }: LayoutFacts, { micro, dp }: BatchReplicas): number | undefined {
  const batch = root.batch.value;
  const isDefault = trainingScript && !batch?.global_batch_size.written && !batch?.step_batch_size_schedule.written;
  return isDefault ? micro * dp : batch?.global_batch_size.value;
}

/** The replicas of `parallelism`, or of the language module; null where a size is unknown. */
export function batchReplicas({ root, modules, heterogeneous }: LayoutFacts): BatchReplicas | null {
  const module = heterogeneous ? modules.find(({ name }) => name === LANGUAGE_MODULE) : modules[0];
  const micro = root.batch.value?.micro_batch_size.value;
  if (!module?.degrees || module.dp === undefined || micro === undefined) {
    return null;
  }
  const { dp } = module;
  const gtp = module.degrees.gtpRemat;
  return { module, micro, dp, gtp, step: micro * dp * gtp };
}

/** What the library's calculator says of a global batch that it refuses. */
export function calculatorRefusal({ micro, dp, gtp, step }: BatchReplicas, size: number): string {
  return size % step === 0
    ? tooFewMicroBatches(size / step)
    : `global batch size (${size}) is not divisible by micro batch size (${micro}) times data parallel size (${dp * gtp})`;
}

export function tooFewMicroBatches(count: number): string {
  return `number of microbatches should be at least 1, got ${count}.`;
}
