import { expect, test } from 'vitest';
import { MarkupContent } from 'vscode-languageserver';
import { memory } from '../../cli/table';
import { check, fullestStage, gibibytes, neighbours, planLayouts, scoreOf } from '../../layout';
import { estimateOfChecked } from '../../layout/cost';
import { costHeadline, costOf } from '../../picture/cost';
import { hover } from '../../server/features/hover';
import { inlayHints } from '../../server/features/inlayHints';

const LAYOUT = `layout: 1
cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, gpu_memory: 50GB}
parallelism: {tp: 4}
model: {num_layers: 32, hidden_size: 6144, num_attention_heads: 48, vocab_size: 128256, gated_linear_unit: true}
sequence: {seq_length: 4096, sequence_parallel: true}
batch: {micro_batch_size: 4, global_batch_size: 64}
optimizer: {use_distributed_optimizer: true}
`;

const shownIn = (text: string) => /(?:~|about )(\d[\d.,]*)/.exec(text)?.[1];

test('every place shows the same memory of a layout', () => {
  const checked = check(LAYOUT);
  const estimate = estimateOfChecked(checked);
  const total = estimate && fullestStage(estimate)?.totalBytes;
  const words = gibibytes(total ?? Number.NaN);
  const { facts, resolved } = checked;
  if (!facts || !resolved) {
    throw new Error('the layout has errors');
  }

  const whole = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
  const hints = inlayHints(checked, whole).map(({ label }) => String(label));
  expect(hints.map(shownIn)).toContain(words);
  expect(shownIn(costHeadline(resolved, costOf(facts)).title)).toBe(words);
  expect(gibibytes(scoreOf(checked)?.totalBytes ?? Number.NaN)).toBe(words);
  expect(memory(total ?? Number.NaN)).toBe(`${words} GiB`);

  const over = checked.diagnostics.find(({ code }) => code === 'memory-over');
  expect(shownIn(over?.message ?? '')).toBe(words);

  const [twice] = neighbours(checked, ['parallelism.tp']).filter(({ to }) => to === '8');
  const found = hover(checked, LAYOUT.indexOf('tp: 4'))?.contents;
  const line = MarkupContent.is(found) ? found.value.split('\n').find((one) => one.startsWith('- tp 8')) : '';
  expect(shownIn(line ?? '')).toBe(gibibytes(twice?.score.totalBytes ?? Number.NaN));

  const plan = planLayouts(LAYOUT, { wanted: 1 });
  const [first] = plan.ok ? plan.layouts : [];
  expect(first?.totalBytes).toBe(scoreOf(check(first?.text ?? ''))?.totalBytes);
});
