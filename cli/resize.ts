import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  askedFor,
  batchChange,
  CHECKPOINT_FORMATS,
  type CheckpointFormat,
  type CheckpointPart,
  type CheckpointVerdict,
  countOf,
  dataPart,
  grouped,
  isPlainPatch,
  jsonText,
  type LayoutFacts,
  layoutName,
  type NodeLoss,
  nodeExclusion,
  nodeNames,
  OUTCOME_WORDS,
  type Resized,
  type Resizing,
  recoveries,
  resizeLayout,
  secondsText,
  terminalLine,
  terminalLines,
} from '../layout';
import {
  handLine,
  type LaunchChange,
  type LaunchPatch,
  type LaunchReading,
  launchChange,
  shortName,
  unifiedDiff,
} from '../layout/launch';
import { memory } from '../picture/cost';
import { checkpointJson, checkpointText } from './checkpoint';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { launchPathsOf } from './launchDrift';
import { readLaunch, shownPath } from './launchFiles';
import { formatOption, wholeNumber } from './options';
import { complain, EXIT, fail, orFailure, print } from './output';
import type { Output } from './outputSchemas';
import { plannedJson } from './plan';
import { table } from './table';

interface Options {
  readonly format: 'text' | 'json';
  readonly world?: number;
  readonly withoutNodes?: LostNodes;
  readonly addNodes?: number;
  readonly checkpoint?: CheckpointFormat;
  readonly top: number;
  readonly show?: number;
  readonly patch?: number;
  readonly risk?: boolean;
}

/** The nodes that are gone: numbers of the layout's nodes, or names that the scheduler knows. */
type LostNodes = { readonly numbers: readonly number[] } | { readonly names: readonly string[] };

function lostNodes(text: string): LostNodes {
  if (/^[\d,]+$/.test(text)) {
    return { numbers: [...new Set(text.split(',').map(wholeNumber(0, 1_000_000)))] };
  }
  const names = nodeNames(text);
  if (names === null) {
    throw new InvalidArgumentError('Write numbers, such as 3,17, or names, such as gpu[003,017-019].');
  }
  return { names };
}

/** Adds `resize`: the layouts of a job on the GPUs that are left or added, with what they keep of its checkpoint. */
export function addResizeCommand(program: Command): void {
  program
    .command('resize')
    .description('list the layouts of a job on fewer or more GPUs, and what each keeps of its checkpoint')
    .argument('<file>', 'a layout file with cluster.gpu; - is standard input')
    .addOption(formatOption('text', 'json'))
    .option('--world <n>', 'how many GPUs there are now', wholeNumber(1, 1_000_000))
    .option(
      '--without-nodes <nodes>',
      'the nodes that are gone: counted from 0, or by name, as Slurm lists them',
      lostNodes,
    )
    .option('--add-nodes <n>', 'how many nodes are added', wholeNumber(1, 100_000))
    .addOption(
      new Option(
        '--checkpoint <format>',
        'the format of the checkpoint, in place of the one that the file names',
      ).choices(CHECKPOINT_FORMATS),
    )
    .option(
      '--top <n>',
      'how many layouts are listed, of those that keep the batch and of those that change it',
      wholeNumber(1, 100),
      5,
    )
    .option('--show <n>', 'print the n-th layout as a file instead', wholeNumber(1, 100))
    .option(
      '--patch <n>',
      'print what the n-th layout changes in the launch files instead, as a patch',
      wholeNumber(1, 100),
    )
    .option('--risk', 'also layouts that may need more memory than there is, by the upper end of their range')
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => print(orFailure(options.format, output(file, options))));
}

const HELP = `
Exit status: 0 a layout is listed, 1 none fits or the file has errors, 2 a file or an option cannot be used.

Examples:
  parallelism-layout resize train.layout.yaml --without-nodes 3,17
  parallelism-layout resize train.layout.yaml --without-nodes 'gpu[003,017]' --patch 1 | patch -p1
  parallelism-layout resize train.layout.yaml --world 256 --show 1 > smaller.layout.yaml`;

function* output(file: string, options: Options): Iterable<string> {
  for (const input of inputFiles([file])) {
    const sound = soundLayout(input);
    const available = sound && availableGpus(sound.facts, options);
    if (typeof available === 'string') {
      fail(`${file}: ${available}`);
    } else if (sound && available !== null) {
      const { checkpoint: format = null, risk = false, top: wanted, withoutNodes: lost } = options;
      const gone = lost && 'numbers' in lost ? lost.numbers : [];
      const resizing = resizeLayout(sound.facts, sound.resolved, { available, gone, wanted, format, risk });
      yield* told({ file, sound, names: lost && 'names' in lost ? lost.names : [] }, resizing, options);
      if (options.format === 'text' && options.show === undefined && options.patch === undefined) {
        yield* smallerText(sound, gone);
      }
    }
  }
}

/** How many GPUs there are now; or what is wrong with the options, in words. */
function availableGpus(facts: LayoutFacts, { world, withoutNodes, addNodes }: Options): number | string {
  const given = [world, withoutNodes, addNodes].filter((one) => one !== undefined);
  const cluster = facts.root.cluster.value;
  const [nodes, perNode] = [cluster?.nodes.value, cluster?.gpus_per_node.value];
  if (given.length !== 1) {
    return 'name one of --world, --without-nodes and --add-nodes';
  }
  if (world !== undefined) {
    return world;
  }
  if (nodes === undefined || perNode === undefined) {
    return 'the layout needs cluster.nodes and cluster.gpus_per_node for nodes to be counted; or use --world';
  }
  const lost = withoutNodes && ('names' in withoutNodes ? withoutNodes.names : withoutNodes.numbers);
  const beyond = lost?.find((node) => typeof node === 'number' && node >= nodes);
  if (beyond !== undefined) {
    return `there is no node ${beyond}: the layout has nodes 0 to ${nodes - 1}`;
  }
  const left = nodes - (lost?.length ?? 0);
  return left <= 0 ? 'no node is left' : (left + (addNodes ?? 0)) * perNode;
}

/** The layout that is resized. */
interface Asked {
  readonly file: string;
  readonly sound: SoundLayout;
  /** The nodes that are gone, where they were named. */
  readonly names: readonly string[];
}

function* told(asked: Asked, resizing: Resizing, { format, show, patch }: Options): Iterable<string> {
  const { file } = asked;
  if (!resizing.ok || resizing.layouts.length === 0) {
    const why = resizing.ok ? `no layout of this model fits ${grouped(resizing.available)} GPUs` : resizing.reason;
    fail(`${file}: ${why}`, EXIT.findings);
  }
  if (!resizing.ok) {
    return;
  }
  const nth = show ?? patch;
  if (nth !== undefined) {
    const chosen = resizing.layouts[nth - 1];
    if (chosen) {
      yield* show === undefined ? patchText(asked, changeOf(asked, chosen)) : [terminalLines(chosen.planned.text)];
    } else {
      fail(`${file}: only ${resizing.layouts.length} layouts are listed; --top lists more`);
    }
  } else if (format === 'json') {
    yield `${jsonText(jsonOf(asked, resizing), 2)}\n`;
  } else {
    yield* textOf(asked, resizing);
  }
}

type Known = Extract<Resizing, { ok: true }>;

const HEAD = ['', 'step', '90 % within', 'memory', 'GPUs', 'idle', 'layout', 'model', 'optimizer', 'RNG'];

function* textOf(asked: Asked, resizing: Known): Iterable<string> {
  const { before, available, layouts, globalBatch, loss } = resizing;
  const { file } = asked;
  yield `${terminalLine(file)}: ${grouped(before)} → ${countOf(available, 'GPU')}\n`;
  yield* table([HEAD, ...layouts.map((one, index) => cells(one, index, batchChange(resizing, one)))]);
  yield globalBatch === null || layouts.length === 0 ? '' : `  ${batchText(resizing, globalBatch)}\n`;
  yield loss === null ? '' : `  ${lossText(loss)}\n`;
  yield* asked.names.length > 0 ? exclusionText(asked) : [];
  const [first] = layouts;
  if (first) {
    yield* launchText(changeOf(asked, first));
    yield '\nWhat the first keeps:\n';
    yield* checkpointText(first.checkpoint);
  }
}

function cells({ planned, idle, checkpoint }: Resized, index: number, change: string | null): string[] {
  return [
    String(index + 1),
    secondsText(planned.seconds),
    planned.secondsInterval.map(secondsText).join(' to '),
    memory(planned.totalBytes),
    grouped(planned.gpus),
    grouped(idle),
    change === null ? layoutName(planned) : `${layoutName(planned)} · batch ${change}`,
    ...(['model', 'optimizer', 'rng'] as const).map((part) => outcomeOf(checkpoint, part)),
  ];
}

/** What becomes of the sequences of a step, and what a changed number means for the run. */
function batchText(resizing: Known, globalBatch: number): string {
  const show = '--show 1 prints the first as a file.';
  const changed = resizing.layouts.filter((one) => batchChange(resizing, one) !== null);
  const [first] = changed;
  if (!first) {
    return `Every layout keeps global_batch_size ${grouped(globalBatch)}. ${show}`;
  }
  const each = changed.map(
    (one) => `Layout ${resizing.layouts.indexOf(one) + 1}: global batch ${batchChange(resizing, one)}.`,
  );
  const rest = changed.length < resizing.layouts.length ? 'The others keep it.' : 'None keeps it.';
  const data = dataPart(first);
  return `${each.join(' ')} ${rest} ${show}\n  ${data ? `${data.because} Source: ${data.source}` : ''}`;
}

const outcomeOf = ([verdict]: readonly CheckpointVerdict[], part: CheckpointPart): string =>
  OUTCOME_WORDS[verdict?.parts.find((one) => one.part === part)?.outcome ?? 'unknown'];

/** What happens without another layout. */
function lossText({ nodes, replicas, allReplicas, idle, nonuniformIdle }: NodeLoss): string {
  const nonuniform =
    nonuniformIdle === null
      ? 'nonuniform TP cannot take these nodes out'
      : `nonuniform TP would go on and leave ${countOf(nonuniformIdle, 'GPU')} idle`;
  const spare = `${nonuniform}; ${countOf(nodes, 'spare node')} would keep the layout as it is`;
  return replicas === allReplicas
    ? `Every replica had ranks there, so none can go on; ${spare}.`
    : `Without another layout, ${grouped(replicas)} of ${countOf(allReplicas, 'replica')} would stop and leave ${countOf(idle, 'GPU')} idle; ${spare}.`;
}

/** What the same layout is without the replicas that lay on lost nodes, where it can go on so. */
function* smallerText({ facts, resolved }: SoundLayout, gone: readonly number[]): Iterable<string> {
  const { gpusPerNode } = resolved;
  const lost = gone.flatMap((node) => Array.from({ length: gpusPerNode }, (_, gpu) => node * gpusPerNode + gpu));
  const out = recoveries(facts, resolved, lost).find(({ way, text }) => way === 'replicas-out' && text !== null);
  if (out) {
    yield `\nThe same layout with ${out.title}:\n`;
    yield* out.costs.map(([name, value]) => `  ${name}: ${value}\n`);
  }
}

/** The options that exclude the nodes from scheduling, and what of the scripts they contradict. */
function* exclusionText(asked: Asked): Iterable<string> {
  const { names } = asked;
  const scripts = scriptsOf(asked);
  const { slurm, kubernetes } = nodeExclusion(names, scripts);
  yield `\nKeep the scheduler off ${countOf(names.length, 'node')}:\n`;
  yield `  Slurm       sbatch ${slurm}\n  Kubernetes  ${kubernetes}\n`;
  const wanted = askedFor(names, scripts);
  yield wanted.length === 0
    ? ''
    : `  Take ${wanted.join(', ')} out of --nodelist in the script first: Slurm refuses a node that is asked for and excluded.\n`;
}

/** The launch files beside the layout that can be read. */
function readingsOf({ file, sound }: Asked): readonly LaunchReading[] {
  const near = file === '-' ? [] : launchPathsOf(file, sound).filter(({ isNear }) => isNear);
  return near.flatMap(({ file: launch }) => {
    const read = readLaunch(launch);
    return 'reading' in read ? [read.reading] : [];
  });
}

const scriptsOf = (asked: Asked): string[] => readingsOf(asked).flatMap(({ files }) => [...files.values()]);

/** How a resized layout gets into the launch files that can be read. */
const changeOf = (asked: Asked, { planned }: Resized): LaunchChange =>
  launchChange(asked.file, asked.sound, planned.text, readingsOf(asked));

/** What differs in the launch files: what a patch writes, and what is left to a person. */
function* launchText({ patches, byHand }: LaunchChange): Iterable<string> {
  for (const { files, written } of patches ?? []) {
    const paths = [...files.keys()].map((path) => terminalLine(shownPath(path)));
    yield written.length === 0 ? '' : `\nThe first layout in ${paths.join(', ')} (--patch 1 prints it):\n`;
    yield* written.map(
      ({ key, launch, layout }) =>
        `  ${shortName(key)} ${terminalLine(String(launch.value))} → ${terminalLine(String(layout.value))}\n`,
    );
  }
  yield patches && byHand.length > 0 ? '\nTo change by hand in the launch files:\n' : '';
  yield* patches ? byHand.map((change) => `  ${handLine(change)}\n`) : [];
}

/** The patch of the launch files; what is left to a person goes to standard error. */
function* patchText({ file }: Asked, { patches, byHand }: LaunchChange): Iterable<string> {
  if (!patches) {
    fail(`${file}: the layout names no launch file that can be read (launch.files)`);
    return;
  }
  const diffs = patches.flatMap(diffsOf);
  yield* diffs.filter(isPlainPatch);
  if (!diffs.every(isPlainPatch)) {
    fail(
      `${file}: a launch file holds characters that a terminal obeys or nobody sees; --format json has its patch, as launch_patch`,
    );
  }
  for (const change of byHand) {
    complain(`${file}: to change by hand: ${handLine(change)}`);
  }
}

const diffsOf = ({ files }: LaunchPatch): string[] =>
  [...files].map(([path, { before, after }]) => unifiedDiff(shownPath(path), before, after));

function jsonOf(asked: Asked, { before, available, globalBatch, layouts, loss }: Known): Output<'resize'> {
  return {
    file: asked.file,
    gpus_before: before,
    gpus_available: available,
    global_batch_size: globalBatch,
    layouts: layouts.map((one) => {
      const { patches, byHand } = changeOf(asked, one);
      return {
        ...plannedJson(one.planned),
        global_batch_size: one.globalBatch,
        idle_gpus: one.idle,
        checkpoint: one.checkpoint.map((verdict) => checkpointJson(verdict, null)),
        launch_patch: patches?.flatMap(diffsOf).join('') ?? null,
        by_hand: byHand.map(({ path, before: was, after }) => ({ key: path.join('.'), before: was, after })),
      };
    }),
    loss: loss && {
      nodes: loss.nodes,
      replicas: loss.replicas,
      of_replicas: loss.allReplicas,
      idle_gpus: loss.idle,
      nonuniform_tp_idle_gpus: loss.nonuniformIdle,
    },
    exclusion: asked.names.length > 0 ? nodeExclusion(asked.names, scriptsOf(asked)) : null,
  };
}
