import { changes } from '../fixes';
import { countOf, divisors, eitherNumber, nearestDivisors, nearestMultiples } from '../numbers';
import { valueRelated } from '../related';
import { inFramework, job, type Rule } from '../rule';

export const ulyssesSize: Rule = {
  code: 'ulysses-size',
  severity: 'error',
  title: 'Ulysses sequence parallelism cannot share the ranks or the heads',
  effect: 'the framework stops when it builds the model',
  what: '`ulysses` does not divide the world, or `num_attention_heads`; or it neither divides `num_query_groups` nor is a multiple of them (verl, accelerate, DeepSpeed).',
  why: 'Around attention, an all-to-all gives each rank all tokens of some heads. Each rank takes the same number of heads; key-value heads that are fewer than ranks are copied.',
  failing: job(64, 'ulysses: 64', 'launch: {family: verl, engine: fsdp}', 'model: {num_attention_heads: 48}'),
  sources: [
    inFramework('volcengine/verl', 'verl/models/transformers/monkey_patch.py', 'apply_monkey_patch'),
    inFramework(
      'deepspeedai/DeepSpeed',
      'deepspeed/runtime/sequence_parallel/ulysses_sp.py',
      'UlyssesSPAttentionHF.__init__',
    ),
    inFramework('deepspeedai/DeepSpeed', 'deepspeed/sequence/layer.py', '_generate_layout_params'),
  ],
  *check({ framework, root, world, modules }) {
    const field = root.parallelism.value?.ulysses;
    const words = framework?.ulysses;
    if (!field?.value || field.value === 1 || !words) {
      return;
    }
    const size = field.value;
    const model = modules[0]?.model.value;
    const [heads, groups] = [model?.num_attention_heads, model?.num_query_groups];
    const length = modules[0]?.sequence.value?.seq_length;
    if (world.size !== undefined && world.size % size !== 0) {
      const better = nearestDivisors(world.size, size, 3);
      yield {
        // accelerate itself accepts it, and DeepSpeed stops behind it
        ...(framework.world?.isOpen?.({ sp: size }) && { severity: 'warning' as const }),
        message: `ulysses ${size} does not divide ${countOf(world.size, 'rank')}. Use ulysses ${eitherNumber(better)}.`,
        ...changes('ulysses', field, ...better),
      };
    } else if (heads?.value !== undefined && heads.value % size !== 0) {
      const better = divisors(heads.value)
        .filter((one) => world.size === undefined || world.size % one === 0)
        .slice(-3);
      yield {
        message: `ulysses ${size} does not divide ${heads.value} attention heads. Use ulysses ${eitherNumber(better)}.`,
        ...changes('ulysses', field, ...better.toReversed()),
        related: [valueRelated('num_attention_heads', heads)],
        predicts: words.heads(heads.value, size),
      };
    } else if (
      words.keyValueHeads &&
      groups?.value !== undefined &&
      groups.value % size !== 0 &&
      size % groups.value !== 0
    ) {
      const count = groups.value;
      const better = divisors(heads?.value ?? count)
        .filter((one) => (count % one === 0 || one % count === 0) && (world.size ?? 0) % one === 0)
        .slice(-3);
      yield {
        message: `ulysses ${size} is neither a divisor nor a multiple of ${count} key-value heads. Use ulysses ${eitherNumber(better)}.`,
        ...changes('ulysses', field, ...better.toReversed()),
        related: [valueRelated('num_query_groups', groups)],
        predicts: words.keyValueHeads(count, size),
      };
    } else if (words.cutsSequences && length?.value !== undefined && length.value % size !== 0) {
      const better = nearestMultiples(size, length.value);
      yield {
        message: `seq_length ${length.value} does not divide among the ${size} ranks of ulysses. Use ${eitherNumber(better)}.`,
        ...changes('seq_length', length, ...better),
        related: [valueRelated('ulysses', field)],
      };
    }
  },
};
