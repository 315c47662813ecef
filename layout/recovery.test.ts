import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check } from './check';
import { recoveries } from './recovery';

const MOE = readFileSync(join(import.meta.dirname, '..', 'examples', 'moe-64gpu.layout.yaml'), 'utf8');

function waysOn(text: string, failed: readonly number[]) {
  const { facts, resolved } = check(text);
  const all = facts && resolved ? recoveries(facts, resolved, failed) : [];
  const [replicas, spares] = all;
  return { all, replicas, spares };
}

const costs = (recovery: { readonly costs: readonly (readonly [string, string])[] } | undefined) =>
  Object.fromEntries(recovery?.costs ?? []);

describe('after ranks have failed', () => {
  test('a job with a pipeline goes on without the replicas that lost one, with the batch that it had', () => {
    // dp lies inside a node: rank 9 belongs to replica 2 of four, of 16 ranks each
    const { replicas } = waysOn(MOE, [9]);
    expect(replicas?.title).toBe('2 of 4 replicas out (1 lost a rank)');
    expect(costs(replicas)).toMatchObject({ 'Compute kept': '50.0 %', 'GPUs that stop': '32' });
    const smaller = check(replicas?.text ?? '');
    expect(smaller.resolved?.worldSize).toBe(32);
    expect(smaller.facts?.root.batch.value?.global_batch_size.value).toBe(256);
    expect(smaller.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  test('each replica takes more micro-batches where the batch can be spread over fewer', () => {
    const text =
      'layout: 1\nworld_size: 32\ncluster: {nodes: 4, gpus_per_node: 8}\nparallelism: {tp: 2, pp: 4, dp: 4}\nbatch: {micro_batch_size: 2, global_batch_size: 48}\n';
    const { replicas, spares } = waysOn(text, [3]);
    expect(replicas?.title).toBe('1 of 4 replicas out');
    expect(costs(replicas)).toEqual({
      'Compute kept': '75.0 %',
      'GPUs that stop': '8',
      'Micro-batches a replica and step': '6 → 8',
      Checkpoint: 'model loads, optimizer loads, RNG state loads',
    });
    expect(replicas?.text).toContain('world_size: 24\ncluster: {nodes: 3, gpus_per_node: 8}');
    expect(replicas?.text).toContain('dp: 3');
    expect(spares).toMatchObject({ title: '1 spare node in', text: null, closed: null });
    expect(costs(spares)['Healthy GPUs that leave with their node']).toBe('7');
    // two broken nodes leave two whole ones
    expect(waysOn(text, [3, 11]).replicas?.title).toBe('2 of 4 replicas out (1 lost a rank)');
  });

  test('modules lose the same share of their replicas, and their ranks close ranks', () => {
    const text = `layout: 1
world_size: 64
cluster: {nodes: 8, gpus_per_node: 8}
modules:
  images: {rank_offset: 0, num_ranks: 32, tp: 4, dp: 8}
  language: {rank_offset: 32, num_ranks: 32, tp: 4, pp: 2, dp: 4}
`;
    // the first rank of language: one of the four shares that both modules can be divided into
    const { replicas } = waysOn(text, [32]);
    expect(replicas?.title).toBe('1 in 4 replicas of every module out');
    expect(costs(replicas)).toEqual({
      'Compute kept': '75.0 %',
      'GPUs that stop': '16',
      'dp of images': '8 → 6',
      'dp of language': '4 → 3',
      Checkpoint:
        'images: model loads, optimizer loads, RNG state loads; language: model loads, optimizer loads, RNG state loads',
    });
    expect(replicas?.text).toContain('images: {rank_offset: 0, num_ranks: 24, tp: 4, dp: 6}');
    expect(replicas?.text).toContain('language: {rank_offset: 24, num_ranks: 24, tp: 4, pp: 2, dp: 3}');
    // a rank of either module in the same share costs no more; in another share it does
    expect(waysOn(text, [0, 32]).replicas?.title).toBe('1 in 4 replicas of every module out');
    expect(waysOn(text, [8, 32]).replicas?.title).toBe('2 in 4 replicas of every module out');
    expect(waysOn(text, [0, 8, 16, 24]).replicas?.closed).toBe('Every such share of the modules has lost a rank.');
  });

  test.each<readonly [of: string, failed: readonly number[], closed: string | undefined]>([
    ['every replica', [0, 2, 4, 6], 'Every replica has lost a rank.'],
    ['nothing that there is', [99], undefined],
  ])('of %s', (_, failed, closed) => {
    const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2}\n';
    expect(waysOn(text, failed).replicas?.closed).toBe(closed);
  });
});
