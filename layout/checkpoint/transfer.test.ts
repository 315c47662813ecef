import { describe, expect, test } from 'vitest';
import { check } from '../check';
import { checkpointVerdicts } from '.';
import { ShardMap } from './shards';
import type { CheckpointVerdict } from './verdict';

/** A dense model without biases: 8 layers of 12 x 64 x 64 weights, two matrices of 512 x 64, norms of 64. */
const MODEL =
  'model: {num_layers: 8, hidden_size: 64, num_attention_heads: 8, vocab_size: 512, make_vocab_size_divisible_by: 1, ' +
  'add_bias_linear: false, normalization: RMSNorm, position_embedding_type: rope, untie_embeddings_and_output_weights: true}';
const WEIGHTS = 8 * 12 * 64 * 64 + 2 * 512 * 64 + (2 * 8 + 1) * 64;

function layout(parallelism: string, ...sections: readonly string[]): string {
  return ['layout: 1', `parallelism: {${parallelism}}`, MODEL, ...sections, ''].join('\n');
}

const SHARDED = 'optimizer: {use_distributed_optimizer: true}';
const WORLD = 'world_size: 8';
const NODES = 'cluster: {nodes: 2, gpus_per_node: 4, gpu: H100}';

function pair(before: string, after: string) {
  const [one, other] = [check(before), check(after)];
  const [verdict] = one.facts && other.facts ? checkpointVerdicts(one.facts, other.facts) : [];
  return { verdict, before: one.resolved?.modules[0], after: other.resolved?.modules[0] };
}

const transferOf = (before: string, after: string): CheckpointVerdict['transfer'] | undefined =>
  pair(before, after).verdict?.transfer;

describe('what a layout reads of a checkpoint', () => {
  test('weights are counted once in the checkpoint, and by every rank that reads them', () => {
    const transfer = transferOf(layout('tp: 2', WORLD, SHARDED), layout('', WORLD, SHARDED));
    expect(transfer?.weightsBytes).toBe(2 * WEIGHTS);
    expect(transfer?.statesBytes).toBe(12 * WEIGHTS);
    // written anew as fully_reshardable, every rank reads the states of all its weights
    expect(transfer?.perRankBytes).toBe(14 * WEIGHTS);
    expect(transfer?.allRanksBytes).toBe(8 * 14 * WEIGHTS);
  });

  test('states saved by the shard are read by the shard', () => {
    const same = layout('', WORLD, SHARDED);
    const transfer = transferOf(same, same);
    expect(transfer?.stages).toEqual([{ weightsBytes: 2 * WEIGHTS, statesBytes: (12 * WEIGHTS) / 8 }]);
    expect(transfer?.nodeBytes).toBe(0);
  });

  test('the least time is that of the network, measured or of the kind of GPU', () => {
    const before = layout('tp: 2', NODES, SHARDED);
    const assumed = transferOf(before, layout('tp: 4', NODES, SHARDED));
    expect([assumed?.bytesPerSecond, assumed?.isMeasured]).toEqual([50e9, false]);
    expect(assumed?.seconds).toBe((assumed?.perRankBytes ?? 0) / 50e9);
    const measured = transferOf(before, layout('tp: 4', NODES.replace('}', ', network_bandwidth: 40GB}'), SHARDED));
    expect([measured?.bytesPerSecond, measured?.isMeasured]).toEqual([40e9, true]);
    expect(transferOf(layout('tp: 2', WORLD, SHARDED), layout('', WORLD, SHARDED))?.seconds).toBeNull();
  });

  test('whole optimizer states of all ranks of a node lie in its main memory', () => {
    const transfer = transferOf(layout('tp: 2', NODES, SHARDED), layout('', NODES, SHARDED));
    expect(transfer?.nodeBytes).toBe(4 * 12 * WEIGHTS);
    expect(transfer?.converterBytes).toBe(2 * 2 * WEIGHTS);
  });

  test('without the size of the model nothing is said', () => {
    const bare = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
    expect(transferOf(bare, bare)).toBeNull();
  });
});

/** Which ranks saved what each rank reads. */
function sources(before: string, after: string): (readonly number[])[] {
  const found = pair(before, after);
  if (!found.verdict?.shards || !found.before || !found.after) {
    return [];
  }
  const map = new ShardMap(found.before, found.after, found.verdict.shards);
  const all = Array.from({ length: found.after.numRanks }, (_, rank) => map.sourcesOf(rank));
  // the way back is the same way
  for (const [rank, from] of all.entries()) {
    for (const source of from) {
      expect(map.readersOf(source)).toContain(rank);
    }
  }
  return all;
}

describe('who reads from whom', () => {
  test('fewer tensor-parallel ranks read the shards of several, more share one', () => {
    expect(sources(layout('tp: 4', WORLD), layout('tp: 2', WORLD)).slice(0, 3)).toEqual([
      [0, 1],
      [2, 3],
      [0, 1],
    ]);
    expect(sources(layout('tp: 2', WORLD), layout('tp: 4', WORLD)).slice(0, 4)).toEqual([[0], [0], [1], [1]]);
  });

  test('shards that do not divide meet at their borders', () => {
    const wide = (tp: number) =>
      layout(`tp: ${tp}`, `world_size: ${tp}`)
        .replace('num_attention_heads: 8', 'num_attention_heads: 24')
        .replaceAll('hidden_size: 64', 'hidden_size: 96');
    expect(sources(wide(3), wide(2))).toEqual([
      [0, 1],
      [1, 2],
    ]);
  });

  test('a stage reads from the stages that held its layers', () => {
    // ranks 0 to 3 have layers 0 to 3, ranks 4 to 7 the others
    const uneven = layout('pp: 2, pipeline_model_parallel_layout: Et*6|t*2L', WORLD);
    expect(sources(layout('pp: 2', WORLD), uneven).filter((_, rank) => rank % 4 === 0)).toEqual([[0, 4], [4]]);
  });

  test('experts are read from where they were, beside the weights that all ranks have', () => {
    const experts = (parallelism: string) =>
      layout(parallelism, WORLD).replace('num_layers', 'num_experts: 4, num_layers');
    // expert 1 of rank 1 under ep 4 lay on rank 0 under ep 2
    expect(sources(experts('ep: 2'), experts('ep: 4')).slice(0, 4)).toEqual([[0], [0], [0, 1], [0, 1]]);
  });
});
