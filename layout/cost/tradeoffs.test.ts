import { expect, test } from 'vitest';
import { COSTED_LAYOUT } from '../../test/harness/layouts';
import { check, hasErrors } from '../check';
import { applyEdits } from '../format/edit';
import { measuredRun } from '../logs';
import { estimateOfChecked, neighbours, scoreOf } from './neighbours';
import { planLayouts } from './plan';
import {
  type Alternatives,
  alternatives,
  alternativesKey,
  moduleScores,
  runMark,
  slowestModule,
  tradeoffSteps,
} from './tradeoffs';

function found(text: string): Extract<Alternatives, { ok: true }> {
  const all = alternatives(text);
  if (!all.ok) {
    throw new Error(all.reason);
  }
  return all;
}

test('the front holds layouts that every rule accepts and that no alternative beats in both memory and time', () => {
  const { front, points, gpuBytes, fitting } = found(COSTED_LAYOUT);
  expect(front.length).toBeGreaterThan(2);
  for (const layout of front) {
    expect(hasErrors(check(layout.text))).toBe(false);
    expect(scoreOf(check(layout.text))?.totalBytes).toBe(layout.totalBytes);
    expect(layout.totalInterval[1]).toBeLessThanOrEqual(gpuBytes);
    const better = points.filter(
      ({ fits, seconds, totalBytes }) => fits && seconds < layout.seconds && totalBytes < layout.totalBytes,
    );
    expect(better).toEqual([]);
  }
  const plan = planLayouts(COSTED_LAYOUT, { wanted: 1000 });
  expect(plan.ok && plan.fitting).toBe(fitting);
  expect(plan.ok && Math.min(...plan.layouts.map(({ seconds }) => seconds))).toBe(front[0]?.seconds);
});

test('layouts that a rule refuses are not alternatives of the front', () => {
  const refused = COSTED_LAYOUT.replace('layout: 1\n', 'layout: 1\nlaunch: {family: torchtitan}\n');
  for (const { text } of found(refused).front) {
    expect(hasErrors(check(text))).toBe(false);
  }
});

test('what a plan decides does not change the alternatives, all else does', () => {
  const key = alternativesKey(COSTED_LAYOUT);
  expect(alternativesKey(COSTED_LAYOUT.replace('tp: 4', 'tp: 2').replace('pp: 2', 'pp: 4'))).toBe(key);
  expect(alternativesKey(COSTED_LAYOUT.replace('global_batch_size: 64', 'global_batch_size: 128'))).not.toBe(key);
});

test('a file without a kind of GPU has none, and says why', () => {
  expect(alternatives(COSTED_LAYOUT.replace(', gpu: H100', ''))).toEqual({
    ok: false,
    reason: '`cluster.gpu` names the kind of GPU; without it nothing can be said to fit',
  });
});

test('step by step, the neighbours come first, the quickest before the others', () => {
  const steps = tradeoffSteps(check(COSTED_LAYOUT), null);
  let step = steps.next();
  while (!step.done) {
    step = steps.next();
  }
  const { value } = step;
  const seconds = value.neighbours.map(({ score }) => score.seconds);
  expect(seconds).toEqual(seconds.toSorted((a, b) => (a ?? 0) - (b ?? 0)));
  expect(new Set(value.neighbours.map(({ edits }) => applyEdits(COSTED_LAYOUT, edits)))).toEqual(
    new Set(neighbours(check(COSTED_LAYOUT)).map(({ edits }) => applyEdits(COSTED_LAYOUT, edits))),
  );
  expect(value.alternatives).toEqual(alternatives(COSTED_LAYOUT));
});

const MODULES = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100}
world_size: 16
modules:
  encoder:
    num_ranks: 8
    rank_offset: 0
    tp: 8
    model: {num_layers: 8, hidden_size: 1024, num_attention_heads: 16}
    sequence: {seq_length: 4096}
  language:
    num_ranks: 8
    rank_offset: 8
    tp: 8
    model: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, vocab_size: 128256}
    sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 16}
`;

test('each module has a score of its own, and the slowest is named', () => {
  const scores = moduleScores(check(MODULES));
  expect(scores.map(({ module, reason }) => [module, reason])).toEqual([
    ['encoder', null],
    ['language', null],
  ]);
  expect(slowestModule(scores)?.module).toBe('language');
  expect(slowestModule(moduleScores(check(COSTED_LAYOUT)))).toBeNull();
});

test('what is not known names the key that would tell', () => {
  const [score] = moduleScores(check(COSTED_LAYOUT.replace('hidden_size: 4096, ', '')));
  expect(score).toMatchObject({ score: null, missing: ['model.hidden_size'] });
  const [timeless] = moduleScores(check(COSTED_LAYOUT.replace(', gpu: H100', '')));
  expect(timeless).toMatchObject({ score: { seconds: null, gpuBytes: null }, missing: ['cluster.gpu'] });
  expect(moduleScores(check(COSTED_LAYOUT.replace('tp: 4', 'tp: 3')))).toMatchObject([{ score: null }]);
});

test('a measured run stands on the scale of the estimate', () => {
  const checked = check(COSTED_LAYOUT);
  const estimate = estimateOfChecked(checked);
  const seconds = scoreOf(checked)?.seconds ?? Number.NaN;
  const run = measuredRun(
    Array.from(
      { length: 20 },
      (_, i) =>
        ` [2026-01-01 00:00:00] iteration ${i + 1}/ 20 | consumed samples: ${64 * (i + 1)} | elapsed time per iteration (ms): ${(2000 * seconds).toFixed(1)} | global batch size: 64 |`,
    ),
  );
  const mark = run && estimate && runMark(run, estimate);
  expect(mark?.timeFactor).toBeCloseTo(2, 2);
  expect(mark?.seconds).toBeCloseTo(2 * seconds, 2);
  expect(mark?.totalBytes).toBeNull();
});
