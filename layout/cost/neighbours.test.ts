import { expect, test } from 'vitest';
import { check, hasErrors } from '../check';
import { applyEdits } from '../format/edit';
import { neighbours, scoreOf } from './neighbours';

const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
parallelism:
  tp: 4 # inside a node
  pp: 2
model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, num_query_groups: 8, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

const changed = (text: string) => neighbours(check(text)).map(({ key, from, to }) => `${key} ${from} -> ${to}`);

test('each neighbour changes one choice, holds before the rules, and has the score of its own text', () => {
  const all = neighbours(check(LAYOUT));
  expect(changed(LAYOUT)).toEqual([
    'parallelism.tp 4 -> 2',
    'parallelism.tp 4 -> 8',
    'parallelism.cp 1 -> 2',
    'parallelism.pp 2 -> 1',
    'parallelism.pp 2 -> 4',
    'parallelism.vpp 1 -> 2',
    'batch.micro_batch_size 1 -> 2',
    'recompute.granularity none -> selective',
    'recompute.granularity none -> full',
    'parallelism.order tp-cp-ep-dp-pp -> tp-cp-ep-pp-dp',
  ]);
  for (const { edits, score } of all) {
    const after = check(applyEdits(LAYOUT, edits));
    expect(hasErrors(after)).toBe(false);
    expect(scoreOf(after)).toEqual(score);
    expect(after.text).toContain('# inside a node');
  }
});

test('a reason names the group that takes another link', () => {
  const reasons = (text: string) =>
    new Map(neighbours(check(text)).map(({ key, to, reason }) => [`${key} ${to}`, reason]));
  const found = reasons(LAYOUT);
  expect(found.get('parallelism.pp 1')).toBe('dp_cp takes the network now.');
  expect(found.get('parallelism.order tp-cp-ep-pp-dp')).toBe('dp_cp takes the network now.');
  const [, back] = [...reasons(LAYOUT.replace('pp: 2', 'pp: 2\n  order: tp-cp-ep-pp-dp'))].at(-1) ?? [];
  expect(back).toBe('dp_cp stays on NVLink now.');
  expect(found.get('parallelism.tp 8')).toBe('More NVLink traffic.');
});

test('the way back leads to the same score', () => {
  const [half] = neighbours(check(LAYOUT), ['parallelism.tp']);
  const there = check(applyEdits(LAYOUT, half?.edits ?? []));
  const back = neighbours(there, ['parallelism.tp']).find(({ to }) => to === '4');
  expect(back?.score).toEqual(scoreOf(check(LAYOUT)));
});

test('a written data-parallel size follows the change', () => {
  const text = LAYOUT.replace('  pp: 2\n', '  pp: 2\n  dp: 2\n');
  expect(changed(text)).toContain('parallelism.tp 4 -> 2');
});

test('experts have their own neighbours', () => {
  const text = LAYOUT.replace('  pp: 2\n', '  pp: 2\n  ep: 2\n  expt_tp: 1\n').replace(
    'num_layers: 32',
    'num_layers: 32, num_experts: 8, moe_router_topk: 2',
  );
  expect(changed(text)).toEqual(
    expect.arrayContaining(['parallelism.ep 2 -> 1', 'parallelism.ep 2 -> 4', 'parallelism.expt_tp 1 -> 2']),
  );
});

test('a layout that cannot be estimated has none', () => {
  expect(changed(LAYOUT.replace('hidden_size: 4096, ', ''))).toEqual([]);
  expect(changed(LAYOUT.replace('tp: 4', 'tp: 3'))).toEqual([]);
  expect(scoreOf(check(LAYOUT.replace('tp: 4', 'tp: 3')))).toBeNull();
});

test('a score says throughput and share of the peak', () => {
  const score = scoreOf(check(LAYOUT));
  expect(score?.tokensPerSecondPerGpu).toBeCloseTo((64 * 4096) / (score?.seconds ?? 0) / 16, 6);
  expect(score?.mfu).toBeGreaterThan(0.2);
  expect(score?.mfu).toBeLessThan(0.7);
});

test('a change that changes nothing says so', () => {
  const single = LAYOUT.replace('tp: 4 #', 'tp: 8 #').replace(
    'use_distributed_optimizer: true',
    'grad_reduce_in_bf16: false',
  );
  const found = neighbours(check(single)).find(({ key }) => key === 'optimizer.use_distributed_optimizer');
  expect(found?.reason).toBe('Memory and traffic hardly change.');
});
