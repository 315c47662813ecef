import { expect, test } from 'vitest';
import { check } from '../check';
import { scoreOf } from './neighbours';
import { type PlannedLayout, type PlanWish, planLayouts } from './plan';

const MODEL = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: h100}
parallelism: {tp: 3}
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 64}
`;

/** The layouts of a plan that is known to have some. */
function layoutsOf(text: string, wish: PlanWish): readonly PlannedLayout[] {
  const plan = planLayouts(text, wish);
  if (!plan.ok) {
    throw new Error(plan.reason);
  }
  return plan.layouts;
}

test('layouts fit the GPUs by the upper end of their range, and hold before the rules', () => {
  const layouts = layoutsOf(MODEL, { wanted: 5 });
  expect(layouts).toHaveLength(5);
  for (const layout of layouts) {
    expect(layout.totalInterval[1]).toBeLessThanOrEqual(80 * 2 ** 30);
    expect(layout.degrees.tp * layout.degrees.cp * layout.degrees.pp * layout.degrees.dp).toBe(16);
    expect(check(layout.text).diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(scoreOf(check(layout.text))).toMatchObject({ seconds: layout.seconds, totalBytes: layout.totalBytes });
  }
});

test('with risk the estimate alone must fit, which leaves more to choose from', () => {
  const large = MODEL.replace('hidden_size: 4096', 'hidden_size: 6144').replace('nodes: 2', 'nodes: 1');
  const [safe, bold] = [planLayouts(large, { wanted: 1 }), planLayouts(large, { wanted: 1, risk: true })];
  expect(bold.ok && safe.ok && bold.fitting > safe.fitting).toBe(true);
});

test('layouts as quick as one another are a group, in which the simplest comes first', () => {
  const layouts = layoutsOf(MODEL, { wanted: 20 });
  const groups = [...new Set(layouts.map(({ group }) => group))];
  expect(groups).toEqual([...groups].sort((a, b) => a - b));
  for (const group of groups) {
    const seconds = layouts.filter((layout) => layout.group === group).map((layout) => layout.seconds);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(1.1 * Math.min(...seconds));
  }
  expect(layouts[0]?.why).toMatch(/^(the simplest of|alone in) its group/);
});

test('the present layout is a row of its own', () => {
  const plan = planLayouts(MODEL.replace('{tp: 3}', '{tp: 8}'), { wanted: 1 });
  expect(plan.ok && plan.present).toMatchObject({ isPresent: true, degrees: { tp: 8, pp: 1, dp: 2 } });
  const wrong = planLayouts(MODEL, { wanted: 1 });
  expect(wrong.ok && wrong.present).toBeNull();
});

test('numbers and kinds of GPUs take the place of those of the file', () => {
  const layouts = layoutsOf(MODEL, { wanted: 400, gpus: [8, 16], gpu: ['H100', 'B200'] });
  const machines = new Set(layouts.map(({ gpus, gpu }) => `${gpus} ${gpu}`));
  expect([...machines].sort()).toEqual(['16 B200', '16 H100', '8 B200', '8 H100']);
  const b200 = layouts.find(({ gpus, gpu }) => gpus === 8 && gpu === 'B200');
  expect(b200?.text).toContain('cluster: {nodes: 1, gpus_per_node: 8, gpu: B200}');
});

test('where nothing fits, the least number of GPUs is said on which something does', () => {
  const large = MODEL.replace('hidden_size: 4096', 'hidden_size: 12288').replace('nodes: 2', 'nodes: 1');
  const plan = planLayouts(large, { wanted: 1 });
  const least = plan.ok ? plan.leastGpus : null;
  expect(plan).toMatchObject({ ok: true, fitting: 0, leastGpus: 16 });
  expect(layoutsOf(large, { wanted: 1, gpus: [least ?? 0] })).toHaveLength(1);
});

test('layers that no number of stages divides share the stages with the ends of the model', () => {
  const layouts = layoutsOf(MODEL.replace('num_layers: 32', 'num_layers: 31'), { wanted: 100 });
  const piped = layouts.find(({ degrees }) => degrees.pp === 2);
  expect(piped?.text).toContain('account_for_loss_in_pipeline_split: true');
  expect(scoreOf(check(piped?.text ?? ''))?.totalBytes).toBe(piped?.totalBytes);
});

test('the text holds the degrees, the micro-batch and what is recomputed, and all else as it was', () => {
  const plan = planLayouts(MODEL, { wanted: 20 });
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
  expect(planLayouts(huge, { wanted: 3 })).toMatchObject({ ok: true, fitting: 0, layouts: [] });
});

test('missing keys are named', () => {
  expect(planLayouts(MODEL.replace(', gpu: h100', ''), { wanted: 3 })).toEqual({
    ok: false,
    reason: '`cluster.gpu` names the kind of GPU; without it nothing can be said to fit',
  });
});

test('what else a section says is kept', () => {
  const plan = planLayouts(`${MODEL}optimizer: {overlap_grad_reduce: true}\n`, { wanted: 1 });
  expect(plan.ok && plan.layouts[0]?.text).toContain(
    'optimizer: {overlap_grad_reduce: true, use_distributed_optimizer: true}',
  );
});
