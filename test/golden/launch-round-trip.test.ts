import fc from 'fast-check';
import { expect, test } from 'vitest';
import { check } from '../../layout';
import {
  driftBetween,
  EXPORT_TARGETS,
  type ExportTarget,
  exportLayout,
  layoutFileValues,
  layoutYaml,
  readLaunchFile,
} from '../../layout/launch';
import { runs } from '../harness/property';
import { homogeneousLayouts, SHAPES } from './layouts';

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
    // a form without names of models has the sizes of the one that the layout names
    const isWrittenOtherwise =
      values.has(WRITTEN_AS[key] ?? '') || (key === 'model.from' && values.has('model.num_layers'));
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
    fc.property(homogeneousLayouts, (text) => {
      expect(lost(text, target), text).toEqual([]);
    }),
    runs(8),
  );
});

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
