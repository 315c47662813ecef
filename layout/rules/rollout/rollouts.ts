import type { RlKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import type { LayoutFacts } from '../../topology/facts';

/** The rollouts of a reinforcement-learning job and the ranks that train on them. */
export interface Rollouts {
  readonly rl: Section<RlKeys>;
  /** Prompts of one step, and samples of each. */
  readonly prompts: number;
  readonly samples: number;
  /** GPUs of the trainer, and how many of them read different data. */
  readonly ranks: number;
  readonly dp: number;
  readonly micro: Field<number> | undefined;
  /** GPUs that share a sequence. */
  readonly sharing: number;
  /** Whether micro-batches are cut by tokens, whatever their number of samples. */
  readonly isDynamic: boolean;
  /** Whether the trainer shards by FSDP rather than with Megatron Core. */
  readonly onFsdp: boolean;
}

/** The rollouts that a file describes; null where the prompts of a step or the data-parallel ranks are open. */
export function rolloutsOf({ root, world, modules, framework }: LayoutFacts): Rollouts | null {
  const rl = root.rl.value;
  const prompts = rl?.prompts_per_step.value;
  const samples = rl?.samples_per_prompt.written ? rl.samples_per_prompt.value : 1;
  const replicas = modules[0]?.dp;
  const ulysses = root.parallelism.value?.ulysses.value ?? 1;
  if (!rl || prompts === undefined || samples === undefined || world.size === undefined || replicas === undefined) {
    return null;
  }
  const onFsdp = framework?.rules.megatron === 'none';
  const dp = onFsdp ? replicas / ulysses : replicas;
  if (!Number.isInteger(dp)) {
    return null;
  }
  const micro = root.batch.value?.micro_batch_size;
  const sharing = onFsdp ? ulysses : (modules[0]?.degrees?.cp ?? 1);
  return {
    sharing,
    rl,
    prompts,
    samples,
    ranks: world.size,
    dp,
    micro,
    isDynamic: rl.dynamic_batch.value === true,
    onFsdp,
  };
}
