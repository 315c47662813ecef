import { expect, test } from 'vitest';
import { check } from '../check';
import { planLayouts } from './plan';

const MODEL = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: h100}
parallelism: {tp: 3}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 64}
`;

test('layouts fit the GPUs, hold before the rules, and come the quickest first', () => {
  const plan = planLayouts(MODEL, 5);
  expect(plan.ok && plan.layouts.length).toBe(5);
  for (const [i, layout] of (plan.ok ? plan.layouts : []).entries()) {
    expect(layout.totalInterval[1]).toBeLessThanOrEqual(80 * 2 ** 30);
    expect(layout.degrees.tp * layout.degrees.cp * layout.degrees.pp * layout.degrees.dp).toBe(16);
    expect(check(layout.text).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(layout.seconds).toBeGreaterThanOrEqual((plan.ok && plan.layouts[i - 1]?.seconds) || 0);
  }
});

test('the text holds the degrees, the micro-batch and what is recomputed, and all else as it was', () => {
  const plan = planLayouts(MODEL, 20);
  const layout = plan.ok ? plan.layouts.find(({ degrees }) => degrees.tp === 2 && degrees.pp === 2) : undefined;
  const { facts } = check(layout?.text ?? '');
  const root = facts?.root;
  expect(root?.parallelism.value?.tp.value).toBe(2);
  expect(root?.parallelism.value?.pp.value).toBe(2);
  expect(root?.sequence.value?.sequence_parallel.value).toBe(true);
  expect(root?.optimizer.value?.use_distributed_optimizer.value).toBe(true);
  expect(root?.batch.value?.micro_batch_size.value).toBe(layout?.micro);
  expect(layout?.text).toContain('model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32,');
});

test('a model that no layout can hold fits none', () => {
  const huge = MODEL.replace('hidden_size: 4096', 'hidden_size: 65536');
  expect(planLayouts(huge, 3)).toMatchObject({ ok: true, fitting: 0, layouts: [] });
});

test('missing keys are named', () => {
  expect(planLayouts(MODEL.replace(', gpu: h100', ''), 3)).toEqual({
    ok: false,
    reason: '`cluster.gpu` names the kind of GPU; without it nothing can be said to fit',
  });
});

test('what else a section says is kept', () => {
  const plan = planLayouts(`${MODEL}optimizer: {overlap_grad_reduce: true}\n`, 1);
  expect(plan.ok && plan.layouts[0]?.text).toContain(
    'optimizer: {overlap_grad_reduce: true, use_distributed_optimizer: true}',
  );
});
