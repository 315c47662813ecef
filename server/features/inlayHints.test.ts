import { expect, test } from 'vitest';
import { check } from '../../layout';
import { inlayHints } from './inlayHints';

/** The lines of a layout with their hints behind them. */
function hinted(text: string, shown?: Parameters<typeof inlayHints>[2]): string[] {
  const checked = check(text);
  const range = { start: checked.lines.positionAt(0), end: checked.lines.positionAt(text.length) };
  return inlayHints(checked, range, shown).map(
    ({ position, label }) =>
      `${position.line + 1}: ${typeof label === 'string' ? label : label.map((part) => part.value).join('')}`,
  );
}

const TEXT = `layout: 1
world_size: 64
parallelism:
  tp: 4
  pp: 2
model:
  num_layers: 32
  num_experts: 8
batch: {micro_batch_size: 1, global_batch_size: 64}
`;

test('numbers that follow stand behind those that are written', () => {
  expect(hinted(TEXT)).toEqual(['3: → dp 8', '7: → 16 layers/stage', '9: → 8 micro-batches/step']);
});

test('kinds that are switched off are not shown', () => {
  expect(hinted(TEXT, new Set())).toEqual([]);
});
