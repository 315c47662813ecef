import type { Diagnostic } from '..';
import { shellWord } from '../escape';
import { writeBridge } from '../frameworks/megatron-bridge';
import { writeNonuniform } from '../frameworks/megatron-lm';
import { megatronFlags } from '../frameworks/megatronWrite';
import { writeMimo, writeModuleGrids } from '../frameworks/mimo';
import { writeModelConfig } from '../frameworks/model-config';
import { writeNemoRl } from '../frameworks/nemo-rl';
import { writeTorchtitan } from '../frameworks/torchtitan';
import { writeVerl } from '../frameworks/verl';
import { type LauncherSettings, LayoutWriter, nodesOf, words } from './layoutWriter';
import { RECORDING } from './record';
import { layoutFileValues, namedModel } from './writtenValues';

/** How each form is written: by the framework that reads it, or as the lines that start Megatron-LM. */
const FORMS = {
  'megatron-args': (writer) => `${megatronFlags(writer).map(words).join(' \\\n')}\n`,
  'model-config': writeModelConfig,
  bridge: writeBridge,
  torchrun: (writer) =>
    [...writer.variables(), writer.command(writer.torchrun(PRETRAIN), megatronFlags(writer))].join('\n'),
  sbatch: writeBatchScript,
  'mimo-args': writeMimo,
  'module-grid-spec': writeModuleGrids,
  'ntp-config': writeNonuniform,
  verl: writeVerl,
  'nemo-rl': writeNemoRl,
  torchtitan: writeTorchtitan,
} as const satisfies Readonly<Record<string, (writer: LayoutWriter) => string>>;

const PRETRAIN = 'pretrain_gpt.py';

export type ExportTarget = keyof typeof FORMS;

/** What a layout can be written as. */
export const EXPORT_TARGETS = Object.keys(FORMS) as readonly ExportTarget[];

/** Forms that start the ranks of Megatron-LM, and so can record them. */
export const RECORDED_TARGETS = ['torchrun', 'sbatch', 'mimo-args'] as const satisfies readonly ExportTarget[];

/** Whether a form starts the ranks. */
export function isRecordedTarget(target: string): boolean {
  return (RECORDED_TARGETS as readonly string[]).includes(target);
}

/** Forms that say how many nodes a job has. */
const WITH_NODES: ReadonlySet<ExportTarget> = new Set([
  'torchrun',
  'sbatch',
  'mimo-args',
  'verl',
  'nemo-rl',
  'torchtitan',
]);

/** Forms whose ranks torchrun starts. */
const STARTED_BY_TORCHRUN: ReadonlySet<ExportTarget> = new Set(['torchrun', 'mimo-args', 'torchtitan']);

/** A layout in another form. */
export interface Exported {
  readonly text: string;
  /** Keys of the layout that the form cannot hold. */
  readonly left: readonly string[];
  /** Sentences on what the layout does not say and the form needs: what was chosen, and what is left out. */
  readonly notes: readonly string[];
}

/** Keys that no launch file has a place for: they are the layout's own. */
const OWN = /^(layout|name|description|megatron|launch|smoke)(\.|$)/;

/**
 * Writes a layout in the form that a framework or launcher reads. Keys that the form cannot hold are listed.
 * @param text the layout file
 * @throws Error where the layout is no map, or of a kind that the form cannot hold at all
 */
export function exportLayout(text: string, target: ExportTarget, settings: LauncherSettings = {}): Exported {
  const values = layoutFileValues('', text);
  if (!values) {
    throw new Error('The layout cannot be read.');
  }
  const model = OF_MEGATRON.has(target) ? namedModel(values) : null;
  const writer = new LayoutWriter(model ? new Map([...model.sizes, ...values]) : values, settings);
  const written = FORMS[target](writer);
  if (model) {
    writer.derives('model.from');
    writer.notes.push(`The sizes of ${model.name} are written out: this form does not name models.`);
  }
  const engine = values.get('launch.engine')?.value;
  const isOther = engine !== undefined && engine !== writer.engine;
  if (isOther) {
    writer.notes.push(`The layout trains on ${engine}; this form does not.`);
  }
  const left = [...values.keys()].filter((key) => !writer.used.has(key) && !OWN.test(key));
  return { text: written, left: isOther ? [...left, 'launch.engine'] : left, notes: notesOf(writer, target) };
}

/** Forms that say a model by its sizes alone. */
const OF_MEGATRON: ReadonlySet<ExportTarget> = new Set([
  'megatron-args',
  'model-config',
  'bridge',
  'torchrun',
  'sbatch',
]);

/** A layout that leaves a key open, such as one that was imported, is exported as far as it goes. */
const INCOMPLETE = 'missing-key';

/** The errors for which a layout is not exported unless that is asked for. */
export function exportErrors(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  return diagnostics.filter(({ severity, code }) => severity === 'error' && code !== INCOMPLETE);
}

function notesOf({ values, settings, notes }: LayoutWriter, target: ExportTarget): string[] {
  const found = WITH_NODES.has(target) ? nodesOf(values) : null;
  const { nodes, perNode } = found ?? { nodes: 1, perNode: 1 };
  const isChosen = found !== null && !values.has('cluster.nodes');
  const needsHost = nodes > 1 && STARTED_BY_TORCHRUN.has(target);
  return [
    ...notes,
    ...(isChosen
      ? [
          `The layout has no cluster; its ${nodes * perNode} ranks are written as ${nodes} x ${perNode}. Write cluster to choose.`,
        ]
      : []),
    ...(needsHost
      ? ['Start the command on each node, with MASTER_ADDR set to the first: a layout names no host.']
      : []),
    ...(isRecordedTarget(target)
      ? ['Add what a layout does not say: data, tokenizer, learning rate and number of steps.']
      : []),
    ...(target === 'sbatch' && settings.sbatch === undefined
      ? [
          'The script leaves out partition, account, time, container_image and setup: they come from the settings of a Slurm cluster.',
        ]
      : []),
  ];
}

/** An option of Slurm, whose value is quoted as the shell reads it. */
function slurmOption(option: string): string {
  const [name = '', ...value] = option.split('=');
  return value.length === 0 ? shellWord(option) : `${shellWord(name)}=${shellWord(value.join('='))}`;
}

/** What PyTorch's `env://` reads of each rank, and Slurm says under names of its own. */
const RENDEZVOUS = `export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export WORLD_SIZE=$SLURM_NTASKS
`;
const RANK = 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID; exec "$@"';

/** A batch script of Slurm: srun starts each rank, with the variables by which PyTorch finds the others. */
function writeBatchScript(writer: LayoutWriter): string {
  const own = writer.world();
  const ranks = own.nodes * own.perNode;
  const { shape } = writer.settings;
  const { nodes, ranksPerNode } = shape?.(ranks, own.perNode) ?? { nodes: own.nodes, ranksPerNode: own.perNode };
  const { sbatch = [], srun = [], setup = [], gpusPerNode = ranksPerNode, python = 'python', record } = writer.settings;
  const uneven = nodes * ranksPerNode === ranks ? [] : [`--ntasks=${ranks}`];
  const options = [
    `--nodes=${nodes}`,
    ...uneven,
    `--ntasks-per-node=${ranksPerNode}`,
    ...(gpusPerNode > 0 ? [`--gpus-per-node=${gpusPerNode}`] : []),
    ...sbatch.map(slurmOption),
  ];
  const start = [
    'srun',
    // each node is filled before the next, as layouts number ranks; ranks that fill all nodes lie so anyway
    ...uneven.flatMap((all) => [
      `--nodes=${nodes}`,
      all,
      `--ntasks-per-node=${ranksPerNode}`,
      '--distribution=block,Pack',
    ]),
    ...[...srun.map(slurmOption), 'bash', '-c', shellWord(RANK), 'bash', shellWord(python)],
    ...(record ? ['record_groups.py'] : []),
    PRETRAIN,
  ].join(' ');
  return [
    '#!/bin/bash',
    ...options.map((option) => `#SBATCH ${option}`),
    '',
    ...setup,
    ...writer.variables(),
    `${RENDEZVOUS}${record ? RECORDING : ''}${writer.command(start, megatronFlags(writer))}`,
  ].join('\n');
}
