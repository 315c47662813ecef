import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { check, RULES } from '../../layout';
import {
  driftBetween,
  EXPORT_TARGETS,
  type ExportTarget,
  exportLayout,
  layoutFileValues,
  layoutYaml,
  readLaunchFile,
} from '../../layout/launch';
import { passingText } from '../../layout/rules/page';
import { runs } from '../harness/property';
import { loadGolden } from './golden';
import { type ParallelInput, parallelText, type TopologyInput, topologyText } from './inputs';

const EXAMPLES = join(import.meta.dirname, '../../examples');

const degree = fc.constantFrom(1, 2, 4);
const degrees = fc.record({ tp: degree, cp: degree, pp: degree, ep: degree, dp: degree });

/** Homogeneous layouts; each value stands in them or not. */
const layouts = fc.tuple(degrees, fc.infiniteStream(fc.boolean())).map(([{ tp, cp, pp, ep, dp }, choices]) => {
  const world = tp * cp * pp * dp;
  const maybe = (line: string) => (choices.next().value ? [line] : []);
  return [
    'layout: 1',
    choices.next().value ? `world_size: ${world}` : `cluster: {nodes: ${world}, gpus_per_node: 4}`,
    'parallelism:',
    `  tp: ${tp}`,
    ...maybe(`  cp: ${cp}`),
    ...maybe(`  pp: ${pp}`),
    ...(pp > 1 ? maybe('  vpp: 2') : []),
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
    ...(tp > 1 ? maybe('  sequence_parallel: true') : []),
    'batch:',
    '  micro_batch_size: 1',
    ...maybe('  global_batch_size: 256'),
    ...maybe('optimizer: {use_distributed_optimizer: true, overlap_grad_reduce: true}'),
    ...maybe('recompute: {granularity: full, method: uniform, num_layers: 1}'),
    ...maybe('moe: {moe_token_dispatcher_type: alltoall}'),
  ].join('\n');
});

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

/** Keys that speak of the layout file and its smoke job, not of the job that a launch file starts. */
const OWN = /^(layout|name|description|megatron|launch|smoke)(\.|$)/;

/** Degrees that some forms write as a total of weight shards; that both say the same is left to `driftBetween`. */
const WRITTEN_AS: Readonly<Record<string, string>> = {
  'parallelism.gtp_remat': 'parallelism.num_weight_shards',
  'parallelism.expt_gtp_remat': 'parallelism.expt_num_weight_shards',
};

/**
 * The layout's values that an import of its export gives differently, unless the export lists them as left out. Left unsaid,
 * a value is its default; the world is the launcher's where the form has none.
 */
function lost(text: string, target: ExportTarget): string[] {
  const exported = exportLayout(text, target);
  const reading = readLaunchFile(FILES[target] ?? 'x.sh', exported.text, () => null);
  const values = new Map<string, unknown>(reading.values.map(({ key, value }) => [key, value]));
  const hasWorld = /torchrun|sbatch|verl|nemo-rl|torchtitan|mimo/.test(target);
  const missing = [...(layoutFileValues('', text) ?? [])].flatMap(([key, { value }]) => {
    const isDerived = hasWorld && /^parallelism\.(expt_)?dp$/.test(key);
    const isHeld =
      !isDerived && !OWN.test(key) && !exported.left.includes(key) && (hasWorld || !/^(world_size|cluster)/.test(key));
    const isWrittenOtherwise = values.has(WRITTEN_AS[key] ?? '');
    const imported = JSON.stringify(values.get(key) ?? DEFAULTS[key]);
    return isHeld && !isWrittenOtherwise && imported !== JSON.stringify(value)
      ? [`${key}: ${JSON.stringify(value)} became ${imported}`]
      : [];
  });
  const { differences } = driftBetween('', text, reading);
  const drifted = differences.filter(({ key }) => !exported.left.includes(key)).map(({ message }) => message);
  return [...missing, ...drifted];
}

/** What a form may leave unsaid; data parallelism follows from the world. */
const DEFAULTS: Readonly<Record<string, number>> = { 'parallelism.gtp_remat': 1, 'parallelism.expt_gtp_remat': 1 };

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
  fc.assert(
    fc.property(layouts, (text) => {
      expect(lost(text, target), text).toEqual([]);
    }),
    runs(8),
  );
});

/** The layouts that Megatron-LM accepts, the examples, and the files on which no rule fires. */
const ALL: readonly string[] = [
  ...loadGolden<ParallelInput, unknown>('homogeneous').flatMap(({ ok, input }) => (ok ? parallelText(input) : [])),
  ...loadGolden<TopologyInput, unknown>('hetero').flatMap(({ ok, input }) => (ok ? (topologyText(input) ?? []) : [])),
  ...readdirSync(EXAMPLES)
    .filter((name) => name.endsWith('.layout.yaml'))
    .map((name) => readFileSync(join(EXAMPLES, name), 'utf8')),
  ...RULES.map(passingText),
];

/** One layout of each shape: which keys it writes, and which of them say more than 1. */
const SHAPES: readonly string[] = [
  ...new Map(
    ALL.map((text) => {
      const values = [...(layoutFileValues('', text) ?? [])];
      return [JSON.stringify(values.map(([key, { value }]) => [key, value === 1])), text];
    }),
  ).values(),
];

test.each(EXPORT_TARGETS)('%s: a layout of every shape is imported again, or it is said what is left out', (target) => {
  const wrong = SHAPES.flatMap((text) => lostOrRefused(text, target).map((what) => `${what}\n${text}`));
  expect(wrong).toEqual([]);
});

/** As `lost`; a layout that a form cannot hold at all is refused in a sentence that says so. */
function lostOrRefused(text: string, target: ExportTarget): string[] {
  try {
    return MODULES.has(target) ? lostGrids(text, target) : lost(text, target);
  } catch (error) {
    return error instanceof Error && /^The .*\.$|^A layout .*\.$/.test(error.message) ? [] : [String(error)];
  }
}

/** Forms that hold grids rather than keys. */
const MODULES: ReadonlySet<ExportTarget> = new Set(['mimo-args', 'module-grid-spec', 'ntp-config']);

/** The grids of a layout that an import of its export resolves otherwise; a module's name may be the form's. */
function lostGrids(text: string, target: ExportTarget): string[] {
  const exported = exportLayout(text, target);
  const reading = readLaunchFile(target === 'mimo-args' ? 'mimo.sh' : 'grids.py', exported.text, () => null);
  if (target === 'ntp-config') {
    const values = [...(layoutFileValues('', text) ?? [])].filter(([key]) => key.startsWith('ntp.'));
    const read = new Map<string, unknown>(reading.values.map(({ key, value }) => [key, value]));
    return values.flatMap(([key, { value }]) =>
      read.has(key) && String(read.get(key)) !== String(value) ? [key] : [],
    );
  }
  const grids = [check(text), check(layoutYaml(reading))].map(({ resolved }) =>
    resolved?.modules.map(({ numRanks, rankOffset, dense, expert }) =>
      JSON.stringify([rankOffset, numRanks, dense, expert]),
    ),
  );
  const [before, after] = grids.map((one) => one?.toSorted().join('\n'));
  return before === after ? [] : [`${before} became ${after}`];
}
