import type { Command } from 'commander';
import {
  countOf,
  lossOf,
  type Stage,
  stagePlans,
  terminalLine,
  type WeightUpdate,
  weightUpdateLines,
  weightUpdates,
} from '../layout';
import { type InputFile, outputOfFiles, soundLayout } from './files';
import { type Format, layoutFilesCommand } from './options';
import { complain, fail, print } from './output';
import type { OutputItem } from './outputSchemas';

const HELP = `
Exit status: 0 listed, 1 the layout has errors, 2 a file cannot be used, or its layers are not known.

Examples:
  parallelism-layout stages train.layout.yaml
  parallelism-layout stages jobs/*.layout.yaml --format json`;

/** Adds `stages`: which layers each pipeline stage of every file holds, and how they reach the engines that generate. */
export function addStagesCommand(program: Command): void {
  layoutFilesCommand(
    program,
    'stages',
    'list the layers of each pipeline stage, and how their weights reach the engines that generate',
  )
    .addHelpText('after', HELP)
    .action((files: string[], { format }: { format: Format }) => print(outputOfFiles(files, format, record, text)));
}

function record(input: InputFile): OutputItem<'stages'> {
  const { updates, ...stages } = stagesOf(input);
  return {
    file: input.file,
    ...stages,
    ...(updates.length > 0 && { weight_updates: updates.map(updateJson) }),
  };
}

/** More ranks of an engine are not listed. */
const MAX_ENGINE_RANKS = 1024;

function updateJson({ phase, engine, gpus, gpusPerEngine, isApart, bytes, senders, ranks }: WeightUpdate) {
  return {
    phase,
    engine,
    gpus,
    gpus_per_engine: gpusPerEngine,
    own_gpus: isApart,
    bytes,
    senders,
    engine_ranks: ranks(MAX_ENGINE_RANKS).map(({ rank, bytes: kept, heldBy }) => ({
      rank,
      bytes: kept,
      held_by: heldBy,
    })),
  };
}

/** What is said of a file. */
interface Listed {
  readonly ok: boolean;
  readonly stages: readonly Stage[];
  /** How the engines of a reinforcement-learning job get the weights of these stages. */
  readonly updates: readonly WeightUpdate[];
}

/** The stages of a file, module by module, also of a layout with errors. Errors and lost layers go to standard error. */
function stagesOf(input: InputFile): Listed {
  if ('error' in input) {
    return { ok: false, stages: [], updates: [] };
  }
  const { facts } = input.checked;
  const plans = facts ? stagePlans(facts) : [];
  const stages = plans.flatMap((plan) => plan.stages() ?? []);
  for (const plan of plans.filter(({ covers }) => covers === false)) {
    const { name } = plan.module;
    complain(`${input.file}: ${name === null ? '' : `${terminalLine(name)}: `}${lossOf(plan)}`);
  }
  if (!soundLayout(input)) {
    return { ok: false, stages, updates: [] };
  }
  const updates = facts ? weightUpdates(facts) : [];
  if (stages.length === 0) {
    const reason =
      plans.length > 0
        ? 'more than 100,000 layers or stages'
        : 'the number of layers is not known. Write model.num_layers, a pipeline layout or a hybrid pattern';
    fail(`${input.file}: ${reason}`);
  }
  return { ok: stages.length > 0, stages, updates };
}

function* text(input: InputFile): Iterable<string> {
  const { stages, updates } = stagesOf(input);
  if (stages.length > 0) {
    yield `${terminalLine(input.file)}: ${countOf(stages.length, 'stage')}\n`;
  }
  for (const { module, pp, vpp, layers } of stages) {
    yield `${module === null ? '' : `${terminalLine(module)} `}pp ${pp}, vpp ${vpp}: ${layers.length === 0 ? 'no layers' : layers.join(' ')}\n`;
  }
  for (const [first = '', ...lines] of updates.map((update) => weightUpdateLines(update))) {
    yield `${terminalLine(first)}\n${lines.map((line) => `  ${line}\n`).join('')}`;
  }
}
