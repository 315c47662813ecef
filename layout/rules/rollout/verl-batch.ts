import { gcd } from '../../grid/arithmetic';
import type { LayoutFacts } from '../../topology/facts';
import { virtualSize } from '../../topology/stages';
import { changeFix, changes } from '../fixes';
import { countOf, eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import { valueRelated, writtenRelated } from '../related';
import { inFramework, type Report, type Rule } from '../rule';
import { type Rollouts, rolloutsOf, type Trainer, trainersOf } from './rollouts';

/** What verl takes for `ppo_mini_batch_size` where it is not set (verl/trainer/config/actor/actor.yaml). */
const MINI_BATCH = 256;

/** The same for `ppo_max_token_len_per_gpu` (verl/trainer/config/actor/actor.yaml, critic/critic.yaml). */
const MAX_TOKENS = { actor: 16_384, critic: 32_768 } as const;

export const verlBatch: Rule = {
  code: 'verl-batch',
  severity: 'error',
  title: "verl's batches do not divide among its GPUs",
  effect: 'verl stops before it starts the workers, or when it builds them',
  what: "In a verl job: the samples of a step (`prompts_per_step * samples_per_prompt`) are not a multiple of the smallest batch (data-parallel ranks times `micro_batch_size` on Megatron Core, all GPUs on FSDP); `mini_batch_size` is above `prompts_per_step` (unless `dynamic_batch`); or a GPU's part of a mini-batch is 0, or no multiple of `micro_batch_size`; or `mini_batch_size` does not divide the prompts (a warning on FSDP, where the last update is smaller). With `dynamic_batch` the samples are a multiple of the data-parallel ranks, and the longest prompt with the longest response fits into `max_tokens_per_gpu` of the GPUs that share a sequence. An interleaved pipeline needs a micro-batch a stage in each mini-batch. The phase `critic` is held to the same with sizes of its own.",
  why: 'The controller cuts every batch into equal parts, one a data-parallel rank: `only support equal chunk`.',
  failing:
    'layout: 1\nworld_size: 8\nlaunch: {family: verl, engine: fsdp}\nrl: {prompts_per_step: 100, samples_per_prompt: 1, mini_batch_size: 64}\n',
  passing:
    'layout: 1\nworld_size: 8\nlaunch: {family: verl, engine: fsdp}\nrl: {prompts_per_step: 128, samples_per_prompt: 1, mini_batch_size: 64}\n',
  sources: [
    inFramework('volcengine/verl', 'verl/utils/config.py', 'validate_config'),
    inFramework('volcengine/verl', 'verl/utils/seqlen_balancing.py', 'rearrange_micro_batches'),
    inFramework('volcengine/verl', 'verl/protocol.py', 'DataProto.make_iterator'),
    inFramework('volcengine/verl', 'verl/workers/config/actor.py', 'ActorConfig.validate'),
    inFramework('volcengine/verl', 'verl/workers/config/critic.py', 'CriticConfig.validate'),
    inFramework('volcengine/verl', 'verl/workers/fsdp_workers.py', 'ActorRolloutRefWorker', 'CriticWorker'),
    inFramework('volcengine/verl', 'verl/protocol.py', 'DataProto.chunk'),
  ],
  *check(facts) {
    const rollouts = rolloutsOf(facts);
    const [actor, critic] = trainersOf(facts);
    if (!rollouts || actor?.role !== 'actor') {
      return;
    }
    const report =
      reportOf(rollouts, actor) ??
      windowReport(rollouts, actor, facts) ??
      (critic && (chunkReport(rollouts, critic) ?? reportOf(rollouts, critic)));
    if (report) {
      yield report;
    }
  },
};

function reportOf(rollouts: Rollouts, trainer: Trainer): Report | null {
  return (
    (trainer.role === 'actor' ? samplesReport(rollouts, trainer) : null) ??
    miniBatchReport(rollouts, trainer) ??
    tokensReport(rollouts, trainer)
  );
}

/** The samples of a step, which verl compares with the smallest batch of the actor. */
function samplesReport(rollouts: Rollouts, actor: Trainer): Report | null {
  const { prompts, samples, ranks } = rollouts;
  const { dp, micro, isDynamic, onFsdp } = actor;
  if (isDynamic) {
    return chunkReport(rollouts, actor);
  }
  const total = prompts * samples;
  const least = onFsdp ? ranks : dp * (micro?.value ?? 1);
  const of = onFsdp ? countOf(ranks, 'GPU') : `dp ${dp} x micro_batch_size ${micro?.value ?? 1} = ${least}`;
  return undividedReport(
    rollouts,
    least,
    of,
    `real_train_batch_size (${total}) must be divisible by minimal possible batch size (${least})`,
  );
}

/** The controller cuts what it hands out into a part a data-parallel rank. */
function chunkReport(rollouts: Rollouts, { role, dp }: Trainer): Report | null {
  const of = countOf(dp, `data-parallel rank`);
  return undividedReport(
    rollouts,
    dp,
    role === 'critic' ? `${of} of the critic` : of,
    `only support equal chunk. Got size of DataProto ${rollouts.prompts * rollouts.samples} and chunk ${dp}.`,
  );
}

function undividedReport(
  { rl, prompts, samples }: Rollouts,
  least: number,
  of: string,
  predicts: string,
): Report | null {
  const total = prompts * samples;
  if (total % least === 0) {
    return null;
  }
  const steps = nearestMultiples(least / gcd(least, samples), prompts);
  return {
    message: `prompts_per_step ${prompts}${samples > 1 ? ` x samples_per_prompt ${samples} = ${total} samples,` : ' is'} not a multiple of ${of}. Use prompts_per_step ${eitherNumber(steps)}.`,
    ...changes('prompts_per_step', rl.prompts_per_step, ...steps),
    related: [...writtenRelated('samples_per_prompt', rl.samples_per_prompt)],
    predicts,
  };
}

function miniBatchReport({ rl, prompts, samples }: Rollouts, trainer: Trainer): Report | null {
  const { role, dp, micro, isDynamic, onFsdp, mini: field = rl.mini_batch_size } = trainer;
  const mini = field.written ? field.value : MINI_BATCH;
  if (mini === undefined) {
    return null;
  }
  const span = field.written ? field.span : rl.prompts_per_step.span;
  const unwritten = field.written ? '' : " (verl's default)";
  const of = role === 'critic' ? ' of the critic' : '';
  if (!isDynamic && prompts < mini) {
    return {
      message: `prompts_per_step ${prompts} is less than mini_batch_size ${mini}${of}${unwritten}. Use mini_batch_size ${prompts} or less.`,
      span,
      related: field.written ? [valueRelated('prompts_per_step', rl.prompts_per_step)] : [],
      predicts: `train_batch_size (${prompts}) must be >= ${role}.ppo_mini_batch_size (${mini})`,
      fixes: [changeFix('mini_batch_size', field, prompts)],
    };
  }
  const share = Math.floor((mini * samples) / dp);
  const each = !isDynamic && micro?.value !== undefined ? micro : null;
  // a critic that has no micro-batch size meets no assertion
  if (onFsdp && share === 0 && (role === 'actor' || each)) {
    return {
      message: `mini_batch_size ${mini}${of}${samples > 1 ? ` x samples_per_prompt ${samples}` : ''} leaves nothing for each of ${dp} data-parallel ranks. Use a mini_batch_size of at least ${Math.ceil(dp / samples)}.`,
      span,
      predicts:
        role === 'actor'
          ? `ppo_mini_batch_size ${share} should be larger than 0 after normalization`
          : `normalized ppo_mini_batch_size ${share} should be larger than ppo_micro_batch_size_per_gpu ${each?.value}`,
      fixes: [changeFix('mini_batch_size', field, Math.ceil(dp / samples))],
    };
  }
  if (onFsdp && each?.value !== undefined && share % each.value !== 0) {
    return {
      message: `Each of ${dp} data-parallel ranks${of} takes ${share} samples of a mini-batch (mini_batch_size ${mini}${unwritten}${samples > 1 ? ` x ${samples} samples` : ''} / ${dp}), not a multiple of micro_batch_size ${each.value}.`,
      span,
      related: [valueRelated('micro_batch_size', each)],
      predicts: `normalized ppo_mini_batch_size ${share} should be divisible by ppo_micro_batch_size_per_gpu ${each.value}`,
    };
  }
  const part = (prompts * samples) / dp;
  if (share > 0 && Number.isInteger(part) && part % share !== 0) {
    const nearest = nearestDivisors(prompts, mini, 2, (size) => (size * samples) % dp === 0);
    return {
      // FSDP workers split what they have; those on Megatron Core iterate over whole mini-batches
      ...(onFsdp && { severity: 'warning' as const }),
      message: `mini_batch_size ${mini}${of}${unwritten} does not divide prompts_per_step ${prompts}${onFsdp ? `: the last update of a step takes ${part % share} of ${share} samples a rank` : ''}. Use mini_batch_size ${eitherNumber(nearest)}.`,
      span,
      related: field.written ? [valueRelated('prompts_per_step', rl.prompts_per_step)] : [],
      predicts: onFsdp ? null : `${part} % ${share} != 0`,
      fixes: nearest.map((size) => changeFix('mini_batch_size', field, size)),
    };
  }
  return null;
}

/** The micro-batches of a mini-batch on one replica, of which an interleaved pipeline needs one a stage. */
function windowReport({ rl, samples }: Rollouts, actor: Trainer, facts: LayoutFacts): Report | null {
  const [module] = facts.modules;
  const mini = rl.mini_batch_size.written ? rl.mini_batch_size.value : MINI_BATCH;
  const { dp, micro, isDynamic, onFsdp } = actor;
  const pp = module?.degrees?.pp ?? 1;
  if (!module || onFsdp || isDynamic || pp === 1 || mini === undefined || !micro?.value) {
    return null;
  }
  const count = Math.ceil(Math.floor((mini * samples) / dp) / micro.value);
  if ((virtualSize(facts, module) ?? 1) === 1 || count >= pp) {
    return null;
  }
  const needed = Math.ceil((pp * micro.value * dp) / samples);
  return {
    message: `vpp with pp ${pp} needs at least ${pp} micro-batches in a mini-batch; mini_batch_size ${mini}${samples > 1 ? ` x ${samples} samples` : ''} / dp ${dp} / micro_batch_size ${micro.value} gives ${count}. Use mini_batch_size ${needed}.`,
    span: rl.mini_batch_size.written ? rl.mini_batch_size.span : rl.prompts_per_step.span,
    related: writtenRelated('vpp', facts.root.parallelism.value?.vpp ?? rl.mini_batch_size),
    predicts: `The number of contiguous micro-batches in a virtual pipeline stageshould range in [PP=${pp} , M=${count}]`,
    speaker: 'Megatron Core',
    fixes: [changeFix('mini_batch_size', rl.mini_batch_size, needed)],
  };
}

/** A micro-batch that is cut by tokens has room for the longest sample. */
function tokensReport({ rl }: Rollouts, { role, sharing, isDynamic, maxTokens }: Trainer): Report | null {
  const { max_tokens_per_gpu, max_prompt_length: prompt, max_response_length: response } = rl;
  const field = maxTokens ?? max_tokens_per_gpu;
  const each = field.written ? field.value : MAX_TOKENS[role];
  if (!isDynamic || each === undefined || prompt.value === undefined || response.value === undefined) {
    return null;
  }
  const [longest, room] = [prompt.value + response.value, each * sharing];
  const needed = Math.ceil(longest / sharing);
  const of = role === 'critic' ? ' of the critic' : '';
  return longest <= room
    ? null
    : {
        message: `max_prompt_length ${prompt.value} + max_response_length ${response.value} = ${longest} tokens do not fit into a micro-batch${of} of max_tokens_per_gpu ${each}${field.written ? '' : " (verl's default)"}${sharing > 1 ? ` x ${sharing} GPUs that share a sequence = ${room}` : ''}. Use max_tokens_per_gpu ${needed} or more.`,
        span: field.written ? field.span : response.span,
        related: field.written ? [valueRelated('max_response_length', response)] : [],
        predicts: `max_token_len must be greater than the sequence length. Got max_token_len=${room} and max_seq_len=${longest}`,
        fixes: field.written ? [changeFix('max_tokens_per_gpu', field, needed)] : [],
      };
}
