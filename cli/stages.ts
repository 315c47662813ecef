import type { Command } from 'commander';
import { countOf, jsonText, lossOf, type Stage, type StagePlan, stagePlans, terminalLine } from '../layout';
import { type InputFile, outputOfFiles, soundLayout } from './files';
import { type Format, layoutFilesCommand } from './options';
import { complain, fail, print } from './output';
import type { OutputItem } from './outputSchemas';

const HELP = `
Exit status: 0 listed, 1 the layout has errors, 2 a file cannot be used, or its layers are not known.

Examples:
  parallelism-layout stages train.layout.yaml
  parallelism-layout stages jobs/*.layout.yaml --format json`;

/** Adds `stages`: which layers each pipeline stage of every file holds. */
export function addStagesCommand(program: Command): void {
  layoutFilesCommand(program, 'stages', 'list the layers of each pipeline stage of layout files')
    .addHelpText('after', HELP)
    .action((files: string[], { format }: { format: Format }) => print(outputOfFiles(files, format, json, text)));
}

function json(input: InputFile): string[] {
  const output: OutputItem<'stages'> = { file: input.file, ...stagesOf(input) };
  return [jsonText(output)];
}

/** The stages of a file, module by module, also of a layout with errors. Errors and lost layers go to standard error. */
function stagesOf(input: InputFile): { readonly ok: boolean; readonly stages: readonly Stage[] } {
  if ('error' in input) {
    return { ok: false, stages: [] };
  }
  const { facts } = input.checked;
  const plans = facts ? stagePlans(facts) : [];
  const stages = plans.flatMap((plan) => plan.stages() ?? []);
  for (const plan of plans.filter(({ covers }) => covers === false)) {
    complain(`${input.file}: ${lossLine(plan)}`);
  }
  if (!soundLayout(input)) {
    return { ok: false, stages };
  }
  if (stages.length === 0) {
    const reason =
      plans.length > 0
        ? 'more than 100,000 layers or stages'
        : 'the number of layers is not known. Write model.num_layers, a pipeline layout or a hybrid pattern';
    fail(`${input.file}: ${reason}`);
  }
  return { ok: stages.length > 0, stages };
}

function lossLine(plan: StagePlan): string {
  const { name } = plan.module;
  return `${name === null ? '' : `${terminalLine(name)}: `}${lossOf(plan)}`;
}

function* text(input: InputFile): Iterable<string> {
  const { stages } = stagesOf(input);
  if (stages.length > 0) {
    yield `${terminalLine(input.file)}: ${countOf(stages.length, 'stage')}\n`;
  }
  for (const { module, pp, vpp, layers } of stages) {
    yield `${module === null ? '' : `${terminalLine(module)} `}pp ${pp}, vpp ${vpp}: ${layers.length === 0 ? 'no layers' : layers.join(' ')}\n`;
  }
}
