import { describe, expect, test } from 'vitest';
import { type CostResult, costHeadline, costOf, memory } from './cost';
import { costDiagram } from './costDiagram';
import type { Shape } from './diagram';
import { traffic } from './flows';
import { diagramSvg } from './svg';
import { sound } from './testing';

const DENSE = `cluster: {nodes: 8, gpus_per_node: 8, gpu: H100-80GB}
parallelism: {tp: 8, pp: 4, vpp: 2}
model:
  num_layers: 64
  hidden_size: 8192
  ffn_hidden_size: 28672
  num_attention_heads: 64
  num_query_groups: 8
  vocab_size: 128256
  gated_linear_unit: true
  add_bias_linear: false
  position_embedding_type: rope
sequence: {seq_length: 8192, sequence_parallel: true}
batch: {micro_batch_size: 1, global_batch_size: 128}
optimizer: {use_distributed_optimizer: true}
`;

function shown(text: string): { result: CostResult; title: string; texts: string[]; shapes: readonly Shape[] } {
  const { facts, layout } = sound(text);
  const result = costOf(facts);
  const { title } = costHeadline(layout, result);
  const { shapes } = costDiagram(result, 960);
  return { result, title, texts: textsOf(shapes), shapes };
}

/** The shapes of all groups, each where its own group has it. */
const flat = (shapes: readonly Shape[]): Shape[] =>
  shapes.flatMap((shape) => (shape.kind === 'group' ? flat(shape.shapes) : shape));

const textsOf = (shapes: readonly Shape[]): string[] =>
  flat(shapes).flatMap((shape) => (shape.kind === 'text' ? shape.words : []));

describe('the cost of a layout', () => {
  test('the headline says what the fullest stage needs of its GPU and what leaves the node', () => {
    expect(shown(DENSE).title).toMatch(
      /^Stage 0 needs about \d+ of 80 GiB; a rank sends \d[\d.]* GB a step out of its node\.$/,
    );
  });

  test('a GPU that is not known stays unknown', () => {
    const { title, texts } = shown(DENSE.replace(', gpu: H100-80GB', ''));
    expect(title).toMatch(/^Stage 0 needs about \d+ GiB of a GPU of unknown memory; /);
    expect(texts.filter((text) => text.endsWith('GiB a GPU'))).toEqual([]);
    expect(texts).toContain('Not in the file, and would narrow the estimate: cluster.gpu.');
    expect(texts.filter((text) => text.startsWith('A step takes'))).toEqual([]);
  });

  test('without a model there is no estimate, and the keys that it needs are named', () => {
    const { result, title, texts } = shown('world_size: 8\nparallelism: {tp: 2}\n');
    expect(result.cost).toBeNull();
    expect(title).toMatch(/^The cost is not known: the layout lacks model\.hidden_size, .*\.$/);
    expect(texts.join(' ')).toMatch(/^Once the file says enough, this view shows the memory /);
  });

  test('a job inside one NVLink domain sends nothing out of it', () => {
    const text = DENSE.replace('nodes: 8,', 'nodes: 1,').replace('tp: 8, pp: 4, vpp: 2', 'tp: 8');
    expect(shown(text).title).toMatch(/^A rank .* a rank sends [\d.]+ [GT]B a step, all over NVLink\.$/);
  });

  test('every stage, the limit, every group and the schedule are drawn', () => {
    const { texts, result } = shown(DENSE);
    for (const stage of result.cost?.stages ?? []) {
      expect(texts).toContain(stage.name);
    }
    expect(texts).toContain('80 GiB a GPU');
    expect(texts.filter((text) => text.startsWith('tp · activations · '))).toHaveLength(1);
    expect(
      texts.filter((text) => text.startsWith('interleaved 1F1B, 2 chunks a stage · 64 micro-batches')),
    ).toHaveLength(1);
    expect(texts).toContain('Drawn with 8 of 64 micro-batches; all chunks are drawn equally long.');
  });

  test('more than fits is said and drawn as such', () => {
    const { title, shapes } = shown(DENSE.replace('micro_batch_size: 1', 'micro_batch_size: 8'));
    const [, needs = '0'] = /about ([\d,]+) of 80 GiB/.exec(title) ?? [];
    expect(Number(needs.replace(',', ''))).toBeGreaterThan(80);
    expect(title).toMatch(/^Stage 0 does not fit: it needs about /);
    expect(JSON.stringify(shapes)).toContain('"paint":"error"');
  });

  test('what the engine of another phase takes beyond training fills the bar up to the whole', () => {
    const engine = 'more that an engine takes';
    const train = DENSE.replace('{tp: 8, pp: 4, vpp: 2}', '{tp: 8}').replace('nodes: 8', 'nodes: 1');
    const small = train.replace('num_layers: 64', 'num_layers: 4');
    const shared = `${small}phases:\n  train: {engine: megatron, tp: 8}\n  rollout: {engine: vllm, tp: 2, memory_share: 0.6}\n`;
    const { title, texts, shapes } = shown(shared);
    expect(title).toMatch(/^A rank needs about 49 of 80 GiB; /);
    expect(texts).toContain(engine);
    const drawn = flat(shapes);
    const bars = drawn.flatMap((shape) => (shape.kind === 'rect' && shape.y === 42 ? [shape] : []));
    const start = Math.min(...bars.map(({ x }) => x));
    const end = Math.max(...bars.map(({ x, width }) => x + width));
    const [limit = 0] = drawn.flatMap((shape) =>
      shape.kind === 'path' && shape.stroke === 'error' ? [Number(/^M([\d.]+)/.exec(shape.d)?.[1])] : [],
    );
    expect((end - start) / (limit - start)).toBeCloseTo(49 / 80, 2);
    expect(shown(small).texts).not.toContain(engine);
  });

  test('a pipeline of many stages shows the fullest, and stays small', () => {
    const text = DENSE.replace('tp: 8, pp: 4, vpp: 2', 'pp: 64').replace('recompute', '');
    const { shapes, texts } = shown(text);
    expect(texts).toContain('the 24 fullest of 64 stages');
    expect(JSON.stringify(shapes).length).toBeLessThan(1_500_000);
  });

  test('texts fit the width that there is', () => {
    const { result } = shown(DENSE);
    const { shapes, width } = costDiagram(result, 320);
    const svg = diagramSvg({ name: 'x', headline: { title: '', sub: '' }, diagram: { width, height: 900, shapes } });
    expect(svg).not.toContain('NaN');
    expect(svg).not.toMatch(/width="-/);
  });
});

test('quantities have units that people read', () => {
  expect([memory(85_899_345_920), memory(3 * 2 ** 30)]).toEqual(['80 GiB', '3.0 GiB']);
  expect([traffic(0), traffic(1234), traffic(3.1e9), traffic(481e9), traffic(2.5e13)]).toEqual([
    '0 B',
    '1.2 kB',
    '3.1 GB',
    '481 GB',
    '25 TB',
  ]);
});
