import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { check } from './check';
import { resizeLayout } from './resize';

const MOE = readFileSync(join(import.meta.dirname, '..', 'examples', 'moe-64gpu.layout.yaml'), 'utf8');

function resized(available: number, gone: readonly number[] = []) {
  const { facts, resolved } = check(MOE);
  const wish = { available, gone, wanted: 3, format: null };
  const resizing = facts && resolved ? resizeLayout(facts, resolved, wish) : null;
  expect(resizing?.ok).toBe(true);
  return resizing?.ok ? resizing : null;
}

test('layouts on the nodes that are left use as many as divide model and batch, and say what they keep', () => {
  const resizing = resized(56, [3]);
  expect(resizing).toMatchObject({
    before: 64,
    available: 56,
    globalBatch: 256,
    loss: { nodes: 1, replicas: 2, allReplicas: 4, idle: 24, nonuniformIdle: null },
  });
  for (const { planned, idle, checkpoint } of resizing?.layouts ?? []) {
    const { facts, diagnostics } = check(planned.text);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(facts?.world.size).toBe(planned.gpus);
    expect(planned.gpus + idle).toBe(56);
    expect(facts?.root.batch.value?.global_batch_size.value).toBe(256);
    expect(checkpoint[0]?.parts.map(({ part }) => part)).toEqual(['model', 'optimizer', 'rng', 'rerun', 'data']);
  }
  expect(resizing?.layouts.length).toBeGreaterThan(0);
});

test('replicas stop that have a rank on a lost node, whatever the order of the ranks', () => {
  // 16 ranks a stage: nodes 0 and 2 lie in two stages, and hold the same two of four replicas
  expect(resized(48, [0, 2])?.loss).toMatchObject({ nodes: 2, replicas: 2, allReplicas: 4, idle: 16 });
  expect(resized(48, [0, 1])?.loss).toMatchObject({ nodes: 2, replicas: 4, allReplicas: 4, idle: 48 });
});

test('more GPUs than before lose nothing', () => {
  const resizing = resized(128);
  expect(resizing?.loss).toBeNull();
  expect(Math.max(...(resizing?.layouts.map(({ planned }) => planned.gpus) ?? []))).toBe(128);
});
