import { type Command, Option } from 'commander';
import {
  CHECKPOINT_FORMATS,
  type CheckpointFormat,
  type CheckpointPart,
  type CheckpointVerdict,
  countOf,
  grouped,
  jsonText,
  type LayoutFacts,
  layoutName,
  type NodeLoss,
  OUTCOME_WORDS,
  type Resized,
  type Resizing,
  recoveries,
  resizeLayout,
  secondsText,
  terminalLine,
} from '../layout';
import { memory } from '../picture/cost';
import { checkpointJson, checkpointText } from './checkpoint';
import { inputFiles, type SoundLayout, soundLayout } from './files';
import { formatOption, wholeNumber } from './options';
import { complain, EXIT, exitWith, fail, print } from './output';
import type { Output } from './outputSchemas';
import { plannedJson } from './plan';
import { table } from './table';

interface Options {
  readonly format: 'text' | 'json';
  readonly world?: number;
  readonly withoutNodes?: readonly number[];
  readonly addNodes?: number;
  readonly checkpoint?: CheckpointFormat;
  readonly top: number;
  readonly show?: number;
  readonly risk?: boolean;
}

const nodeList = (text: string): readonly number[] => text.split(',').map(wholeNumber(0, 1_000_000));

/** Adds `resize`: the layouts of a job on the GPUs that are left or added, with what they keep of its checkpoint. */
export function addResizeCommand(program: Command): void {
  program
    .command('resize')
    .description('list the layouts of a job on fewer or more GPUs, and what each keeps of its checkpoint')
    .argument('<file>', 'a layout file with cluster.gpu; - is standard input')
    .addOption(formatOption('text', 'json'))
    .option('--world <n>', 'how many GPUs there are now', wholeNumber(1, 1_000_000))
    .option('--without-nodes <n,...>', 'the nodes that are gone, counted from 0', nodeList)
    .option('--add-nodes <n>', 'how many nodes are added', wholeNumber(1, 100_000))
    .addOption(
      new Option(
        '--checkpoint <format>',
        'the format of the checkpoint, in place of the one that the file names',
      ).choices(CHECKPOINT_FORMATS),
    )
    .option('--top <n>', 'how many layouts are listed', wholeNumber(1, 100), 5)
    .option('--show <n>', 'print the n-th layout as a file instead', wholeNumber(1, 100))
    .option('--risk', 'also layouts that may need more memory than there is, by the upper end of their range')
    .addHelpText('after', HELP)
    .action((file: string, options: Options) => print(output(file, options)));
}

const HELP = `
Exit status: 0 a layout is listed, 1 none fits or the file has errors, 2 a file or an option cannot be used.

Examples:
  parallelism-layout resize train.layout.yaml --without-nodes 3,17
  parallelism-layout resize train.layout.yaml --world 256 --show 1 > smaller.layout.yaml`;

function* output(file: string, options: Options): Iterable<string> {
  for (const input of inputFiles([file])) {
    const sound = soundLayout(input);
    const available = sound && availableGpus(sound.facts, options);
    if (typeof available === 'string') {
      complain(`${file}: ${available}`);
      exitWith(EXIT.unusable);
    } else if (sound && available !== null) {
      const wanted = Math.max(options.top, options.show ?? 0);
      const { checkpoint: format = null, risk = false, withoutNodes = [] } = options;
      const wish = { available, gone: [...new Set(withoutNodes)], wanted, format, risk };
      yield* told(file, resizeLayout(sound.facts, sound.resolved, wish), options);
      if (options.format === 'text' && options.show === undefined) {
        yield* smallerText(sound, wish.gone);
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
  const gone = new Set(withoutNodes ?? []);
  const beyond = [...gone].find((node) => node >= nodes);
  if (beyond !== undefined) {
    return `there is no node ${beyond}: the layout has nodes 0 to ${nodes - 1}`;
  }
  return gone.size === nodes ? 'no node is left' : (nodes - gone.size + (addNodes ?? 0)) * perNode;
}

function* told(file: string, resizing: Resizing, { format, show }: Options): Iterable<string> {
  if (!resizing.ok || resizing.layouts.length === 0) {
    const why = resizing.ok
      ? `no layout of this model and batch fits ${grouped(resizing.available)} GPUs`
      : resizing.reason;
    complain(`${file}: ${why}`);
    exitWith(EXIT.findings);
  }
  if (!resizing.ok) {
    return;
  }
  if (show !== undefined) {
    const chosen = resizing.layouts[show - 1];
    if (chosen) {
      yield chosen.planned.text;
    } else {
      fail(`${file}: only ${resizing.layouts.length} layouts are listed`);
    }
  } else if (format === 'json') {
    yield `${jsonText(jsonOf(file, resizing), 2)}\n`;
  } else {
    yield* textOf(file, resizing);
  }
}

type Known = Extract<Resizing, { ok: true }>;

const HEAD = ['', 'step', '90 % within', 'memory', 'GPUs', 'idle', 'layout', 'model', 'optimizer', 'RNG'];

function* textOf(file: string, resizing: Known): Iterable<string> {
  const { before, available, layouts, globalBatch, loss } = resizing;
  yield `${terminalLine(file)}: ${grouped(before)} → ${countOf(available, 'GPU')}\n`;
  yield* table([HEAD, ...layouts.map(cells)]);
  yield globalBatch === null
    ? ''
    : `  Every layout keeps global_batch_size ${grouped(globalBatch)}. --show 1 prints the first as a file.\n`;
  yield loss === null ? '' : `  ${lossText(loss)}\n`;
  const [first] = layouts;
  if (first) {
    yield '\nWhat the first keeps:\n';
    yield* checkpointText(first.checkpoint);
  }
}

function cells({ planned, idle, checkpoint }: Resized, index: number): string[] {
  return [
    String(index + 1),
    secondsText(planned.seconds),
    planned.secondsInterval.map(secondsText).join(' to '),
    memory(planned.totalBytes),
    grouped(planned.gpus),
    grouped(idle),
    layoutName(planned),
    ...(['model', 'optimizer', 'rng'] as const).map((part) => outcomeOf(checkpoint, part)),
  ];
}

const outcomeOf = ([verdict]: readonly CheckpointVerdict[], part: CheckpointPart): string =>
  OUTCOME_WORDS[verdict?.parts.find((one) => one.part === part)?.outcome ?? 'unknown'];

/** What happens without another layout. */
function lossText({ nodes, replicas, allReplicas, idle }: NodeLoss): string {
  const spare = `${countOf(nodes, 'spare node')} would keep the layout as it is`;
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

function jsonOf(file: string, { before, available, globalBatch, layouts, loss }: Known): Output<'resize'> {
  return {
    file,
    gpus_before: before,
    gpus_available: available,
    global_batch_size: globalBatch,
    layouts: layouts.map(({ planned, idle, checkpoint }) => ({
      ...plannedJson(planned),
      idle_gpus: idle,
      checkpoint: checkpoint.map((verdict) => checkpointJson(verdict, null)),
    })),
    loss: loss && { nodes: loss.nodes, replicas: loss.replicas, of_replicas: loss.allReplicas, idle_gpus: loss.idle },
  };
}
