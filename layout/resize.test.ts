import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { check } from './check';
import { batchChange, dataPart, resizeLayout } from './resize';

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
  for (const { planned, idle, checkpoint, globalBatch } of resizing?.layouts ?? []) {
    const { facts, diagnostics } = check(planned.text);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(facts?.world.size).toBe(planned.gpus);
    expect(planned.gpus + idle).toBe(56);
    expect(facts?.root.batch.value?.global_batch_size.value).toBe(globalBatch);
    expect(checkpoint[0]?.parts.map(({ part }) => part)).toEqual(['model', 'optimizer', 'rng', 'rerun', 'data']);
  }
  // seven nodes divide no 256: those that keep it leave one idle
  expect(resizing?.layouts.map((one) => [one.planned.gpus, one.globalBatch])).toEqual([
    [48, 256],
    [48, 256],
    [48, 256],
    [56, 252],
  ]);
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

describe('another batch', () => {
  /** A model that divides little, on nodes of one GPU or on one of eight. */
  const resizedTo = (batch: number, available: number, perNode = 1) => {
    const { facts, resolved, diagnostics } = check(
      `layout: 1
model: {num_layers: 2, hidden_size: 4096, num_attention_heads: 1, vocab_size: 1024}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: ${batch}}
parallelism: {tp: 1}
cluster: {nodes: ${8 / perNode}, gpus_per_node: ${perNode}, gpu: h100}
`,
    );
    expect(diagnostics.filter(({ severity }) => severity === 'error').map(({ message }) => message)).toEqual([]);
    const wish = { available, gone: [], wanted: 2, format: null };
    const resizing = facts && resolved ? resizeLayout(facts, resolved, wish) : null;
    expect(resizing?.ok).toBe(true);
    return resizing?.ok ? { resizing, layouts: resizing.layouts } : { resizing, layouts: [] };
  };
  const batches = (...asked: Parameters<typeof resizedTo>) =>
    resizedTo(...asked).layouts.map((one) => [one.planned.gpus, one.globalBatch]);

  test('follows those that keep it, where it uses more of the GPUs, and says what it means', () => {
    const { resizing, layouts } = resizedTo(1024, 7);
    expect(layouts.map((one) => [one.planned.gpus, one.globalBatch])).toEqual([
      [4, 1024],
      [4, 1024],
      [7, 1022],
    ]);
    const last = layouts.at(-1);
    expect(resizing?.ok && last ? batchChange(resizing, last) : null).toBe('1,024 → 1,022');
    const { facts, diagnostics } = check(last?.planned.text ?? '');
    expect(facts?.root.batch.value?.global_batch_size.value).toBe(1022);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(last ? dataPart(last)?.because : '').toContain('1022 a step in place of 1024');
  });

  test('lies on either side, the nearest first', () =>
    expect(batches(24, 5)).toEqual([
      [4, 24],
      [4, 24],
      [5, 25],
      [5, 20],
    ]));

  test('stands alone where none keeps it', () => expect(batches(1024, 7, 8)).toEqual([[7, 1022]]));

  test('is not listed where all GPUs keep it', () =>
    expect(batches(1024, 8)).toEqual([
      [8, 1024],
      [8, 1024],
    ]));
});
