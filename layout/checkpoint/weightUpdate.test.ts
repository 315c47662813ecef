import { expect, test } from 'vitest';
import { check } from '../check';
import { type WeightUpdate, weightUpdates } from './weightUpdate';

/** A dense model without biases: 4 layers of 12 x 64 x 64 weights, two matrices of 512 x 64, norms of 64. */
const MODEL =
  'model: {num_layers: 4, hidden_size: 64, num_attention_heads: 8, vocab_size: 512, make_vocab_size_divisible_by: 1, ' +
  'add_bias_linear: false, normalization: RMSNorm, position_embedding_type: rope, untie_embeddings_and_output_weights: true}';
const LAYER = 12 * 64 * 64 + 2 * 64;
const VOCABULARY = 512 * 64;
const WEIGHTS = 2 * (4 * LAYER + 2 * VOCABULARY + 64);

function updateOf(...lines: readonly string[]): WeightUpdate | undefined {
  const { facts } = check(['layout: 1', 'world_size: 8', ...lines, ''].join('\n'));
  return facts ? weightUpdates(facts)[0] : undefined;
}

test('an engine rank keeps its cut of the weights, which the ranks of all stages hold', () => {
  const update = updateOf(
    'launch: {family: verl}',
    'parallelism: {tp: 4, pp: 2}',
    MODEL,
    'phases: {rollout: {engine: vllm, tp: 2}}',
  );
  expect(update).toMatchObject({
    gpus: 8,
    gpusPerEngine: 2,
    isApart: false,
    isAlike: false,
    bytes: WEIGHTS,
    senders: [],
  });
  const ranks = update?.ranks(10) ?? [];
  expect(ranks.map(({ rank, heldBy }) => [rank, heldBy])).toEqual([
    [0, [0, 1, 4, 5]],
    [1, [2, 3, 6, 7]],
  ]);
  // matrices are cut, norms are whole on each rank
  const norms = 2 * (8 * 64 + 64);
  expect(ranks.map(({ bytes }) => bytes)).toEqual([(WEIGHTS - norms) / 2 + norms, (WEIGHTS - norms) / 2 + norms]);
});

test('the first rank of each stage sends its layers to engines on GPUs of their own', () => {
  const update = updateOf(
    'launch: {family: slime}',
    'parallelism: {tp: 2, pp: 2}',
    MODEL,
    'phases: {rollout: {engine: sglang, tp: 4}}',
    'rl: {rollout_gpus: 16, colocated: false}',
  );
  const stage = 2 * (2 * LAYER + VOCABULARY);
  expect(update).toMatchObject({ gpus: 16, gpusPerEngine: 4, isApart: true });
  expect(update?.senders).toEqual([
    { rank: 0, stage: 0, bytes: stage },
    { rank: 4, stage: 1, bytes: stage + 2 * 64 },
  ]);
  expect(update?.ranks(4).map(({ heldBy }) => heldBy)).toEqual([
    [0, 4],
    [0, 4],
    [1, 5],
    [1, 5],
  ]);
});

test('a rank that has what its engine takes, and ways that are not known', () => {
  const alike = updateOf('parallelism: {tp: 2}', 'phases: {rollout: {engine: vllm, tp: 2}}');
  expect(alike).toMatchObject({ isAlike: true, senders: null, bytes: null });
  expect(updateOf('parallelism: {tp: 2}', 'phases: {rollout: {engine: sglang, tp: 4, dp: 2}}')).toBeUndefined();
  expect(updateOf('parallelism: {tp: 2}', 'phases: {reference: {tp: 4}}')).toBeUndefined();
});

test('FSDP has a part of every tensor on all ranks of a shard group', () => {
  const update = updateOf(
    'launch: {family: verl, engine: fsdp}',
    'fsdp: {data_parallel_shard_degree: 4, data_parallel_replicate_degree: 2}',
    'phases: {rollout: {engine: vllm, tp: 2}}',
  );
  expect(update?.ranks(1)).toEqual([{ rank: 0, bytes: null, heldBy: [0, 1, 2, 3] }]);
});
