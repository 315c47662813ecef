import type { RlKeys } from '../../format/keys';
import type { Field, Section } from '../../format/spec';
import { type LayoutFacts, valueOr } from '../../topology/facts';

/** What trains on the rollouts of a reinforcement-learning job, and over how many ranks. */
export interface Trainer {
  readonly role: 'actor' | 'critic';
  /** How many of its GPUs read different data. */
  readonly dp: number;
  /** GPUs that share a sequence. */
  readonly sharing: number;
  /** Whether it shards by FSDP rather than with Megatron Core. */
  readonly onFsdp: boolean;
  readonly micro: Field<number> | undefined;
  /** Prompts of one update. */
  readonly mini: Field<number> | undefined;
  /** Samples of one update. */
  readonly global: Field<number> | undefined;
  /** Whether micro-batches are cut by tokens, whatever their number of samples. */
  readonly isDynamic: boolean;
  /** Tokens of such a micro-batch on one GPU. */
  readonly maxTokens: Field<number> | undefined;
}

/** The rollouts of a reinforcement-learning job. */
export interface Rollouts {
  readonly rl: Section<RlKeys>;
  /** Prompts of one step, and samples of each. */
  readonly prompts: number;
  readonly samples: number;
  /** GPUs of the trainer. */
  readonly ranks: number;
}

/** The rollouts that a file describes; null where the prompts of a step or the ranks are open. */
export function rolloutsOf({ root, world }: LayoutFacts): Rollouts | null {
  const rl = root.rl.value;
  const prompts = rl?.prompts_per_step.value;
  const samples = rl?.samples_per_prompt.written ? rl.samples_per_prompt.value : 1;
  return rl && prompts !== undefined && samples !== undefined && world.size !== undefined
    ? { rl, prompts, samples, ranks: world.size }
    : null;
}

/** The actor, and the critic where the file has one; without those whose data-parallel ranks are open. */
export function trainersOf(facts: LayoutFacts): readonly Trainer[] {
  const [actor, critic] = [actorOf(facts), criticOf(facts)];
  // verl runs both in one process, over the grid that the actor makes (verl/workers/megatron_workers.py)
  const sharesGrid = facts.framework?.name === 'verl' && actor?.onFsdp === false && critic?.onFsdp === false;
  const grid = sharesGrid ? { dp: actor.dp, sharing: actor.sharing } : {};
  return [actor, critic && { ...critic, ...grid }].filter((one) => one !== null);
}

function actorOf({ root, modules, framework }: LayoutFacts): Trainer | null {
  const ulysses = root.parallelism.value?.ulysses.value ?? 1;
  const onFsdp = framework?.rules.megatron === 'none';
  const dp = (modules[0]?.dp ?? Number.NaN) / (onFsdp ? ulysses : 1);
  const [batch, rl] = [root.batch.value, root.rl.value];
  return Number.isInteger(dp)
    ? {
        role: 'actor',
        dp,
        onFsdp,
        sharing: onFsdp ? ulysses : (modules[0]?.degrees?.cp ?? 1),
        micro: batch?.micro_batch_size,
        mini: rl?.mini_batch_size,
        global: batch?.global_batch_size,
        isDynamic: rl?.dynamic_batch.value === true,
        maxTokens: rl?.max_tokens_per_gpu,
      }
    : null;
}

/** The critic; what it does not say of its updates is the actor's. */
function criticOf({ root, world }: LayoutFacts): Trainer | null {
  const critic = root.phases.value?.find(({ name }) => name === 'critic')?.value;
  if (!critic) {
    return null;
  }
  const size = (name: 'tp' | 'cp' | 'pp' | 'ulysses') => valueOr(critic[name], 1) ?? Number.NaN;
  const sharing = size('cp') * size('ulysses');
  const dp = (world.size ?? Number.NaN) / (size('tp') * size('pp') * sharing);
  const rl = root.rl.value;
  return Number.isInteger(dp)
    ? {
        role: 'critic',
        dp,
        onFsdp: critic.engine.value === 'fsdp',
        sharing,
        micro: critic.micro_batch_size,
        mini: critic.mini_batch_size.written ? critic.mini_batch_size : rl?.mini_batch_size,
        global: critic.global_batch_size,
        isDynamic: (critic.dynamic_batch.written ? critic : rl)?.dynamic_batch.value === true,
        maxTokens: critic.max_tokens_per_gpu,
      }
    : null;
}
