import { expect, test } from 'vitest';
import { type LayoutData, layoutOf } from './document';
import { exportLayout } from './export';
import type { FactValue } from './facts';
import { readLaunchFile } from './import';

const MODULES = `layout: 1
world_size: 12
modules:
  vision: {rank_offset: 0, tp: 2, dp: 2}
  language:
    rank_offset: 4
    num_ranks: 8
    tp: 2
    pp: 2
    ep: 2
    model: {num_layers: 20, num_attention_heads: 32}
batch: {micro_batch_size: 1, global_batch_size: 8}
`;

test('modules become the flags of the MIMO example', () => {
  const exported = exportLayout(MODULES, 'mimo-args');
  expect(exported.left).toEqual([]);
  const reading = readLaunchFile('mimo.sh', exported.text, () => null);
  const modules = layoutOf(reading).modules as LayoutData;
  const expected: Record<string, Record<string, FactValue>> = {
    encoder: { tp: 2, dp: 2 },
    language: { rank_offset: 4, tp: 2, pp: 2, dp: 2, ep: 2, expt_tp: 1 },
  };
  expect(modules).toMatchObject(expected);
  expect(modules.language).toMatchObject({ model: { num_layers: 20, num_attention_heads: 32 } });
  expect(layoutOf(reading)).toMatchObject({ world_size: 12, batch: { micro_batch_size: 1, global_batch_size: 8 } });
});

test('modules become module grids', () => {
  expect(exportLayout(MODULES, 'module-grid-spec')).toEqual({
    text:
      'specs = [\n' +
      '    ModuleGridSpec(name="vision", num_ranks=4, tp=2, cp=1, pp=1, ep=1, gtp_remat=1, rank_offset=0, expt_tp=1, expt_gtp_remat=1),\n' +
      '    ModuleGridSpec(name="language", num_ranks=8, tp=2, cp=1, pp=2, ep=2, gtp_remat=1, rank_offset=4, expt_tp=1, expt_gtp_remat=1),\n' +
      ']\n',
    left: expect.arrayContaining(['batch.micro_batch_size']),
  });
});

test('what a form cannot hold is listed, and a form that cannot hold the layout at all is refused', () => {
  const text = 'layout: 1\nworld_size: 8\nparallelism: {tp: 2, order: dp-tp}\nntp: {tp_spares: 1}\n';
  expect(exportLayout(text, 'torchrun').left).toEqual(['parallelism.order', 'ntp.tp_spares']);
  expect(exportLayout(text, 'ntp-config').text).toBe(
    'ntp_config = NonuniformTPConfig(tp_base=2, tp_spares=1, num_reduced_tp_dp_ranks=1)\n',
  );
  expect(() => exportLayout(MODULES, 'torchrun')).toThrow('modules');
});
