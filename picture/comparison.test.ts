import { describe, expect, test } from 'vitest';
import { check, keyValues } from '../layout';
import { moduleScores } from '../layout/cost';
import { changeKindsOf } from './changeColouring';
import { type Comparable, comparisonOf } from './comparison';
import { differenceOf } from './difference';
import { gridOf, modulesOf } from './testing';

const LAYOUT = `layout: 1
name: before
cluster: {nodes: 8, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 8, pp: 2}
model: {num_layers: 32, hidden_size: 8192, num_attention_heads: 64, vocab_size: 128256}
sequence: {seq_length: 4096}
batch: {micro_batch_size: 1, global_batch_size: 256}
`;

function sound(text: string): Comparable {
  const checked = check(text);
  if (!checked.resolved) {
    throw new Error('the layout has errors');
  }
  return { layout: checked.resolved, values: keyValues(checked), scores: moduleScores(checked) };
}

const compare = (...changes: readonly (readonly [from: string, to: string])[]) =>
  comparisonOf(sound(LAYOUT), sound(changes.reduce((text, [from, to]) => text.replace(from, to), LAYOUT)));

/** A headline with its numbers of memory, time and traffic left out. */
const shape = (headline: string) =>
  headline.replaceAll(/(?<=(?:memory|step|→|network [+−]) ?)[\d.,]+(?= (?:→|GiB|s\b|[MG]B))/g, 'N');

describe('the comparison of two layouts', () => {
  test('says in one line what changed, and what that does to memory, step and network', () => {
    const { headline, keys } = compare(['tp: 8', 'tp: 4'], ['before', 'after']);
    expect(shape(headline)).toBe('tp 8 → 4: memory N → N GiB, step N → N s, network +N MB');
    expect(keys.map(({ path }) => path.join('.'))).toEqual(['name', 'parallelism.tp']);
  });

  test('says of each figure what it was, what it is, and by how much it changed', () => {
    const { figures } = compare(['micro_batch_size: 1', 'micro_batch_size: 4']);
    expect(figures.map(({ label }) => label)).toEqual(['step', 'memory', 'network', 'tokens/s/GPU', 'MFU', 'bubble']);
    expect(figures.find(({ label }) => label === 'memory')).toMatchObject({ verdict: 'worse' });
    expect(figures.find(({ label }) => label === 'network')).toMatchObject({ change: '=', verdict: 'same' });
  });

  test('says that the second layout does not fit its GPU', () => {
    expect(compare(['micro_batch_size: 1', 'micro_batch_size: 16']).headline).toMatch(
      /→ \d+ GiB \(does not fit 80\), step/,
    );
  });

  test('a micro-batch is a change, though no rank moves', () => {
    const { headline, words } = compare(['micro_batch_size: 1', 'micro_batch_size: 4']);
    expect(shape(headline)).toMatch(/^micro_batch_size 1 → 4: memory N → N GiB/);
    expect(words).toEqual([]);
  });

  test('step times within the error of the estimate are as quick', () => {
    expect(compare(['num_layers: 32', 'num_layers: 34']).headline).toContain('(as quick, by this estimate)');
  });

  test('many changed keys are counted, and keys that change nothing stand back', () => {
    const many = compare(['before', 'after'], ['tp: 8, pp: 2', 'tp: 4, pp: 4, vpp: 2'], ['h_size: 1', 'h_size: 2']);
    expect(many.headline).toMatch(/^tp 8 → 4, pp 2 → 4, vpp not set → 2, 1 more key: /);
    expect(compare(['before', 'after']).headline).toMatch(
      /^name before → after: memory \d+ GiB, step [\d.]+ s, network the same$/,
    );
  });

  test('the same values in other words are no difference', () => {
    expect(compare(['layout: 1', '# a comment\nlayout: 1'])).toMatchObject({
      headline: 'The layouts have the same values.',
      keys: [],
      figures: [],
    });
  });

  test('a cost that is not known says why, once', () => {
    const { headline, figures, unknown } = compare(
      ['vocab_size', 'vocab_size'],
      ['tp: 8', 'tp: 4'],
      [', global_batch_size: 256', ''],
      ['micro_batch_size: 1', ''],
    );
    expect(headline).not.toContain('memory');
    expect(figures.every(({ after }) => after === null)).toBe(true);
    expect(unknown).toEqual(['The cost of the second layout is not known: the layout lacks batch.micro_batch_size.']);
  });
});

describe('what changed for ranks', () => {
  test('ranks are told apart by the dimensions along which they moved', () => {
    const kinds = changeKindsOf(differenceOf(gridOf(16, 'tp: 4'), gridOf(16, 'tp: 2')));
    expect(kinds.legend()).toBe('o other peers (2)   a other tp and dp (8)   b other dp (6)');
    expect([0, 2, 4].map((rank) => kinds.kinds[kinds.kindOf(rank)]?.label)).toEqual([
      'other peers',
      'other tp and dp',
      'other dp',
    ]);
  });

  test('a rank of another module is not described by its dimensions, and ranks of one layout only stand apart', () => {
    const before = modulesOf(12, 'num_ranks: 4, tp: 2', 'rank_offset: 4, num_ranks: 8, tp: 2');
    const after = modulesOf(16, 'num_ranks: 8, tp: 2', 'rank_offset: 8, num_ranks: 8, tp: 2');
    const labels = changeKindsOf(differenceOf(before, after)).kinds.map(({ label }) => label);
    expect(labels).toContain('other module');
    expect(labels.at(-1)).toBe('in one layout only');
  });
});
