import { expect, test } from 'vitest';
import { type LayoutData, layoutOf } from './document';
import { type ExportTarget, exportLayout } from './export';
import type { FactValue } from './facts';
import { readLaunchFile } from './import';
import { layoutFileValues } from './layout-values';

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

/** A homogeneous layout; each value stands in it or not. */
function layoutText(random: () => number): string {
  const [tp, cp, pp, ep, dp] = [1, 2, 3, 4, 5].map(() => pick(random, [1, 2, 4]));
  const nodes = (Number(tp) * Number(cp) * Number(pp) * Number(dp)) / 1;
  const maybe = (line: string) => (random() < 0.5 ? [line] : []);
  return [
    'layout: 1',
    ...(random() < 0.5 ? [`world_size: ${nodes}`] : [`cluster: {nodes: ${nodes}, gpus_per_node: 4}`]),
    'parallelism:',
    `  tp: ${tp}`,
    ...maybe(`  cp: ${cp}`),
    ...maybe(`  pp: ${pp}`),
    ...(Number(pp) > 1 ? maybe('  vpp: 2') : []),
    ...maybe(`  ep: ${ep}`),
    ...maybe('  expt_tp: 1'),
    ...maybe('  order: tp-cp-ep-pp-dp'),
    ...maybe('  num_distributed_optimizer_instances: 2'),
    'model:',
    '  num_layers: 32',
    ...maybe('  hidden_size: 4096'),
    ...maybe('  num_attention_heads: 32'),
    ...maybe('  num_query_groups: 8'),
    ...maybe('  num_experts: 16'),
    ...maybe('  gated_linear_unit: true'),
    ...maybe('  params_dtype: fp16'),
    'sequence:',
    '  seq_length: 4096',
    ...(Number(tp) > 1 ? maybe('  sequence_parallel: true') : []),
    'batch:',
    '  micro_batch_size: 1',
    ...maybe('  global_batch_size: 256'),
    ...maybe('optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true}'),
    ...maybe('recompute: {granularity: full, method: uniform, num_layers: 1}'),
    ...maybe('moe: {moe_token_dispatcher_type: alltoall}'),
  ].join('\n');
}

const FILES: Readonly<Partial<Record<ExportTarget, string>>> = {
  'megatron-args': 'flags.sh',
  'model-config': 'model_config.yaml',
  bridge: 'run_config.yaml',
  torchrun: 'train.sh',
  sbatch: 'train.sbatch',
  verl: 'run.sh',
  'nemo-rl': 'recipe.yaml',
  torchtitan: 'titan.sh',
  'mimo-args': 'mimo.sh',
};

/** The layout's values that an import of its export gives differently; the world is the launcher's where the form has none. */
function lost(text: string, target: ExportTarget): string[] {
  const exported = exportLayout(text, target);
  const reading = readLaunchFile(FILES[target] ?? 'x.sh', exported.text, () => null);
  const values = new Map(reading.values.map(({ key, value }) => [key, value]));
  const hasWorld = /torchrun|sbatch|verl|nemo-rl|torchtitan|mimo/.test(target);
  return [...(layoutFileValues('', text) ?? [])].flatMap(([key, { value }]) => {
    const isHeld = key !== 'layout' && !exported.left.includes(key) && (hasWorld || !/^(world_size|cluster)/.test(key));
    return isHeld && JSON.stringify(values.get(key)) !== JSON.stringify(value)
      ? [`${key}: ${JSON.stringify(value)} became ${JSON.stringify(values.get(key))}`]
      : [];
  });
}

const HOMOGENEOUS = [
  'megatron-args',
  'model-config',
  'bridge',
  'torchrun',
  'sbatch',
  'verl',
  'nemo-rl',
  'torchtitan',
] as const;

test.each(HOMOGENEOUS)('%s: what is exported is imported again', (target) => {
  const random = generator(14);
  for (let round = 0; round < 15; round++) {
    const text = layoutText(random);
    expect(lost(text, target), text).toEqual([]);
  }
});

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
