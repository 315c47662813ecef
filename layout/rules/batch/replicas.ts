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
