import { type Command, Option } from 'commander';
import { type SlurmCluster, slurmShape } from '../jobs';
import type { Checked, ResolvedLayout } from '../layout';
import {
  EXPORT_TARGETS,
  type ExportTarget,
  exportErrors,
  exportLayout,
  isRecordedTarget,
  type LauncherSettings,
  RECORDED_TARGETS,
} from '../layout/launch';
import { drawingOf, USUAL_CHOICE } from '../picture/drawing';
import { failedRanks } from '../picture/roles';
import { svgOf } from '../picture/svg';
import { clusterNamed } from './clusters';
import { type InputFile, inputFiles, soundLayout } from './files';
import { groupsOutput } from './groups';
import { complain, EXIT, fail, jsonChunks, print } from './output';
import { diagnosticTexts } from './text';

/** Forms that need the layout's groups or picture rather than its keys. */
const DRAWN_TARGETS = ['groups-json', 'mermaid', 'svg'] as const;

type Target = ExportTarget | (typeof DRAWN_TARGETS)[number];

/** Adds `export`: a layout becomes the flags, recipe or launcher lines that run it. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('write a layout for a framework, launcher or document')
    .argument('<file>', 'a layout file; - is standard input')
    .addOption(
      new Option('--to <form>', 'what is written').choices([...EXPORT_TARGETS, ...DRAWN_TARGETS]).makeOptionMandatory(),
    )
    .option(
      '--record',
      `switch on what verify reads of a run, where launch lines are written: ${RECORDED_TARGETS.join(', ')}`,
    )
    .option(
      '--cluster <name>',
      'a Slurm cluster whose settings the sbatch form takes: partition, time, container, setup',
    )
    .option('--clusters <file>', 'the YAML file that lists it')
    .option('--allow-errors', 'write a layout that has errors too')
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => {
      const { to } = options;
      const record = options.record === true;
      if (record && !isRecordedTarget(to)) {
        fail(`${to} starts no ranks: --record goes with ${RECORDED_TARGETS.join(', ')}`);
        return undefined;
      }
      const settings = settingsOf(options);
      return settings ? print(output(file, settings, options)) : undefined;
    });
}

const HELP = `
Exit status: 0 written, 1 the layout has errors, 2 a file or option cannot be used, or the form cannot hold the layout.

Examples:
  parallelism-layout export train.layout.yaml --to torchrun > train.sh
  parallelism-layout export train.layout.yaml --to sbatch --clusters my.clusters.yaml --cluster big
  parallelism-layout export train.layout.yaml --to bridge`;

interface Options {
  readonly to: Target;
  readonly record?: true;
  readonly allowErrors?: true;
  readonly cluster?: string;
  readonly clusters?: string;
}

/** What the cluster that is asked for adds; null where it cannot be used. */
function settingsOf({ cluster: wanted, clusters }: Options): LauncherSettings | null {
  if (wanted === undefined) {
    return {};
  }
  const cluster = clusterNamed(wanted, clusters);
  return cluster?.kind === 'slurm' ? slurmSettings(cluster) : cluster && fail(`${wanted} is no Slurm cluster`);
}

/** The settings of a cluster that a batch script holds. */
function slurmSettings(cluster: SlurmCluster): LauncherSettings {
  const { partition, account, qos, reservation, constraint, time, setup, python } = cluster;
  const { container_image, container_mounts, gpus_per_node: gpusPerNode, options = [] } = cluster;
  return {
    sbatch: [...optionsOf({ partition, account, qos, reservation, constraint, time }), ...options],
    srun: optionsOf({ 'container-image': container_image, 'container-mounts': container_mounts?.join(',') }),
    ...(setup && { setup }),
    ...(python !== undefined && { python }),
    ...(gpusPerNode !== undefined && { gpusPerNode }),
    shape: (ranks, perNode) => slurmShape(cluster, ranks, perNode),
  };
}

/** The options of Slurm that are set. */
function optionsOf(values: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
}

function* output(file: string, settings: LauncherSettings, options: Options): Iterable<string> {
  const { to: target } = options;
  for (const input of inputFiles([file])) {
    if (!('checked' in input)) {
      continue;
    }
    if (target === 'groups-json') {
      yield* jsonChunks(groupsOutput(input));
      yield '\n';
    } else if (target === 'mermaid' || target === 'svg') {
      yield* drawn(input, target);
    } else {
      yield* written(file, input.checked, target, settings, options);
    }
  }
}

function* written(
  file: string,
  checked: Checked,
  target: ExportTarget,
  settings: LauncherSettings,
  { record, allowErrors }: Options,
): Iterable<string> {
  const errors = exportErrors(checked.diagnostics);
  if (errors.length > 0 && !allowErrors) {
    process.stderr.write([...diagnosticTexts(file, { ...checked, diagnostics: errors })].join(''));
    fail(`${file}: is not exported, as it has errors; --allow-errors exports it as it is`, EXIT.findings);
    return;
  }
  try {
    const { text, left, notes } = exportLayout(checked.text, target, { ...settings, record: record === true });
    for (const note of notes) {
      complain(`${file}: ${note}`);
    }
    if (left.length > 0) {
      complain(`${file}: ${target} cannot express ${left.join(', ')}`);
    }
    yield text;
  } catch (error) {
    fail(`${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function* drawn(input: InputFile, target: 'mermaid' | 'svg'): Iterable<string> {
  const layout = soundLayout(input)?.resolved;
  if (!layout) {
    return;
  }
  if (target === 'mermaid') {
    yield mermaid(layout);
  } else {
    const drawing = drawingOf(layout, 'physical', USUAL_CHOICE);
    yield svgOf({ ...drawing, layout, name: layout.name ?? '', failed: failedRanks(layout) });
  }
}

/** More pipeline stages than a diagram shows one by one. */
const MAX_STAGES = 32;

/** A Mermaid flowchart: the pipeline stages of each module, with the ranks that each has. */
function mermaid({ modules }: ResolvedLayout): string {
  const lines = modules.flatMap(({ name, numRanks, dense }, module) => {
    const [tp = 1, cp = 1, dp = 1, pp = 1] = ['tp', 'cp', 'dp', 'pp'].map(
      (dim) => dense.find((one) => one.name === dim)?.size,
    );
    const stages = Array.from({ length: Math.min(pp, MAX_STAGES) }, (_, stage) => `m${module}s${stage}`);
    const label = (stage: number) => `stage ${stage}: ${numRanks / pp} ranks (tp ${tp}, cp ${cp}, dp ${dp})`;
    return [
      `  subgraph m${module}["${escaped(name ?? 'job')}"]`,
      ...stages.map((id, stage) => `    ${id}["${label(stage)}"]`),
      ...(stages.length > 1 ? [`    ${stages.join(' --> ')}`] : []),
      '  end',
    ];
  });
  return `flowchart LR\n${lines.join('\n')}\n`;
}

/** A text as Mermaid shows it in quotes. */
function escaped(text: string): string {
  return text.replace(/[^\w .-]/gu, (character) => `#${character.codePointAt(0)};`);
}
