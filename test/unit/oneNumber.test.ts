import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MarkupContent } from 'vscode-languageserver';
import { applyEdits, type Checked, check, gibibytes, neighbours, planLayouts, type Score, scoreOf } from '../../layout';
import { moduleScores } from '../../layout/cost';
import { comparisonOf } from '../../picture/comparison';
import { costHeadline, costOf } from '../../picture/cost';
import { figuresOf } from '../../picture/scoreboard';
import { completion } from '../../server/features/completion';
import { hover } from '../../server/features/hover';
import { inlayHints } from '../../server/features/inlayHints';

const TIGHT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, gpu_memory: 50GB}
parallelism: {tp: 4}
model: {num_layers: 32, hidden_size: 6144, num_attention_heads: 48, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 4, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

/** The engine takes more of the GPU than training does. */
const ENGINE = `layout: 1
cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}
parallelism: {tp: 8}
model: {num_layers: 16, hidden_size: 2048, num_attention_heads: 32, vocab_size: 32000}
sequence: {seq_length: 2048, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 16}
phases:
  train: {engine: megatron, tp: 8}
  rollout: {engine: vllm, tp: 2, memory_share: 0.6}
`;

const examples = readdirSync('examples')
  .filter((name) => name.endsWith('.layout.yaml'))
  .map((name) => [name, readFileSync(`examples/${name}`, 'utf8')] as const);

/** Every example whose cost is known, one that does not fit its GPU, one that shares it with an engine, and all that lie one change away. */
const layouts = [...examples, ['tight', TIGHT] as const, ['engine', ENGINE] as const].flatMap(([name, text]) => [
  [name, text] as const,
  ...neighbours(check(text)).map(({ key, to, edits }) => [`${name}, ${key} ${to}`, applyEdits(text, edits)] as const),
]);

interface Costed {
  readonly text: string;
  readonly checked: Checked;
  readonly score: Score;
  /** The need and its range in GiB, as they are written everywhere. */
  readonly need: string;
  readonly range: readonly string[];
}

function costed(text: string): Costed {
  const checked = check(text);
  const score = scoreOf(checked);
  if (!score) {
    throw new Error('the layout has no cost');
  }
  return { text, checked, score, need: gibibytes(score.totalBytes), range: score.totalInterval.map(gibibytes) };
}

const numbersIn = (text: string): string[] => [...text.matchAll(/\d[\d.,]*\d|\d/g)].map(([number]) => number);

const all = layouts.filter(([, text]) => scoreOf(check(text)));
const originals = all.filter(([name]) => !name.includes(','));
const onKnownGpu = originals.filter(([, text]) => scoreOf(check(text))?.gpuBytes);

describe('every place shows one memory of a layout, in GiB, with communicators and one range', () => {
  test('there are layouts to hold against one another, some of which do not fit', () => {
    expect(all.length).toBeGreaterThan(30);
    expect(all.some(([, text]) => check(text).diagnostics.some(({ code }) => code === 'memory-over'))).toBe(true);
  });

  test.each(all)('%s', (_, text) => {
    const { checked, score, need, range } = costed(text);
    const { facts, resolved } = checked;
    if (!facts || !resolved) {
      throw new Error('the layout has errors');
    }
    // the Cost view, its stages and their whiskers
    const result = costOf(facts);
    const fullest = result.cost?.stages.toSorted((a, b) => b.totalBytes - a.totalBytes)[0];
    expect(fullest && [fullest.totalBytes, ...fullest.totalInterval].map(gibibytes)).toEqual([need, ...range]);
    expect(costHeadline(resolved, result).title).toContain(`about ${need} `);
    // the scoreboard and the comparison
    const memory = figuresOf(score, null).find(({ label }) => label === 'memory');
    expect([memory?.value, ...numbersIn(memory?.range ?? '')]).toEqual([expect.stringMatching(`^${need} `), ...range]);
    const same = { layout: resolved, scores: moduleScores(checked) };
    const { headline } = comparisonOf(
      { ...same, values: [] },
      { ...same, values: [{ path: ['name'], value: 'x', unwritten: null }] },
    );
    expect(headline).toContain(`memory ${need} GiB`);
    // the hint behind the GPU
    const whole = { start: checked.lines.positionAt(0), end: checked.lines.positionAt(text.length) };
    const hint = inlayHints(checked, whole).find(({ label }) => String(label).startsWith('→ ~'));
    if (facts.root.cluster.value?.gpu.written) {
      expect(numbersIn(String(hint?.label))[0]).toBe(need);
      expect(numbersIn(String(hint?.tooltip))).toEqual(range);
    }
    // the warning
    const over = checked.diagnostics.find(({ code }) => code === 'memory-over');
    expect(over === undefined).toBe(score.gpuBytes === null || score.totalBytes <= score.gpuBytes);
    if (over) {
      expect(over.message).toContain(`needs about ${need} GiB (${range.join(' to ')})`);
    }
  });

  test.each(onKnownGpu)('%s: a plan says of each layout what it says of itself', (_, text) => {
    const { score } = costed(text);
    const plan = planLayouts(text, { wanted: 3 });
    const layouts = plan.ok ? plan.layouts : [];
    expect(layouts.length).toBeGreaterThan(0);
    expect(plan.ok && plan.present?.totalBytes).toBe(score.totalBytes);
    for (const planned of layouts) {
      const { score: own } = costed(planned.text);
      expect([planned.totalBytes, planned.totalInterval, planned.seconds]).toEqual([
        own.totalBytes,
        own.totalInterval,
        own.seconds,
      ]);
    }
  });

  test.each(originals)('%s: completion and hover say of another value what that layout says of itself', (_, text) => {
    const { checked } = costed(text);
    const at = /\btp: (\d+)/.exec(text);
    const start = (at?.index ?? 0) + 'tp: '.length;
    const withTp = (tp: string) => `${text.slice(0, start)}${tp}${text.slice(start + (at?.[1]?.length ?? 0))}`;
    const offered = completion(checked, checked.lines.positionAt(start));
    expect(offered.length).toBeGreaterThan(0);
    for (const { label, labelDetails, documentation } of offered) {
      const { need, range, score } = costed(withTp(label));
      const ofGpu = score.gpuBytes === null ? '' : ` of ${gibibytes(score.gpuBytes)}`;
      expect(labelDetails?.description).toContain(`~${need}${ofGpu} GiB`);
      const said = MarkupContent.is(documentation) ? documentation.value : '';
      expect(said).toContain(`About ${need} GiB a GPU (${range.join(' to ')})${ofGpu}`);
    }
    const found = hover(checked, start)?.contents;
    const lines = MarkupContent.is(found) ? found.value.split('\n').filter((line) => line.startsWith('- tp ')) : [];
    const others = neighbours(checked, ['parallelism.tp']);
    expect(lines.map((line) => numbersIn(line)[1])).toEqual(others.map(({ score }) => gibibytes(score.totalBytes)));
  });
});
