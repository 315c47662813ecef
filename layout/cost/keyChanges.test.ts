import { expect, test } from 'vitest';
import { check } from '../check';
import { applyEdits } from '../format/edit';
import { type KeyChange, keyEdits } from './keyChanges';

function changed(text: string, ...changes: readonly KeyChange[]): string | null {
  const { facts } = check(text);
  const edits = facts && keyEdits(facts, changes);
  return edits && applyEdits(text, edits);
}

const FLOW = 'layout: 1\nworld_size: 8\nparallelism: {tp: 1, cp: 1, pp: 2, ep: 4} # grid\n';
const BLOCK = 'layout: 1\nworld_size: 8\nparallelism:\n  tp: 1 # inside\n  cp: 1\n  pp: 2\n';
const RECOMPUTE = 'recompute: {granularity: full, method: uniform, num_layers: 1}\n';

const set = (key: string, value: string | null): KeyChange => ({ section: 'parallelism', key, value });
const forget = (key: string): KeyChange => ({ section: 'recompute', key, value: null });

test('keys in braces are changed, removed and added at once', () => {
  const text = changed(FLOW, set('tp', '2'), set('cp', null), set('ep', null), set('vpp', '2'));
  expect(text).toBe('layout: 1\nworld_size: 8\nparallelism: {tp: 2, pp: 2, vpp: 2} # grid\n');
});

test('keys in lines keep their comments', () => {
  const text = changed(BLOCK, set('tp', '2'), set('cp', null), set('ep', '2'), set('expt_tp', '1'));
  expect(text).toBe('layout: 1\nworld_size: 8\nparallelism:\n  tp: 2 # inside\n  pp: 2\n  ep: 2\n  expt_tp: 1\n');
});

test('a section without keys goes, and one that is not there comes', () => {
  const all = ['granularity', 'method', 'num_layers'].map(forget);
  expect(changed(`${BLOCK}${RECOMPUTE}`, ...all)).toBe(BLOCK);
  expect(changed(`${RECOMPUTE}${FLOW}`, ...all)).toBe(FLOW);
  expect(changed(BLOCK, ...all)).toBe(BLOCK);
  expect(changed(BLOCK, { section: 'optimizer', key: 'use_distributed_optimizer', value: 'true' })).toBe(
    `${BLOCK.trimEnd()}\noptimizer: {use_distributed_optimizer: true}\n`,
  );
});

test('a key is added where the last one goes, and no two edits overlap', () => {
  const changes = [set('pp', null), set('ep', '2'), set('expt_tp', '1')];
  expect(changed(BLOCK, ...changes)).toBe(
    'layout: 1\nworld_size: 8\nparallelism:\n  tp: 1 # inside\n  cp: 1\n  ep: 2\n  expt_tp: 1\n',
  );
  for (const text of [BLOCK, FLOW]) {
    const { facts } = check(text);
    const edits = (facts && keyEdits(facts, changes)) ?? [];
    const sorted = edits.map(({ span }) => span).sort((a, b) => a.start - b.start || a.end - b.end);
    expect(sorted.every(({ start }, i) => start >= (sorted[i - 1]?.end ?? 0))).toBe(true);
  }
});

test('keys come into a section that has none, or whose sizes a named model gives', () => {
  const of = (key: string, value: string | null): KeyChange => ({ section: 'model', key, value });
  const sizes = [of('num_layers', '2'), of('hidden_size', '8')];
  const made = `${FLOW}model: {num_layers: 2, hidden_size: 8}\n`;
  expect(changed(`${FLOW}model: {}\n`, ...sizes)).toBe(made);
  expect(changed(`${FLOW}model:\n`, ...sizes)).toBe(made);
  expect(changed(`${FLOW}model: {from: Qwen/Qwen3-32B}\n`, of('from', null), of('kv_channels', null), ...sizes)).toBe(
    made,
  );
});
