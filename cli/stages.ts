import { type Command, Option } from 'commander';
import { jsonText, type Stage, stagePlans, terminalLine } from '../layout';
import { type InputFile, inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, print, records } from './output';

interface Options {
  readonly format: 'text' | 'json' | 'jsonl';
}

/** Adds `stages`: which layers each pipeline stage of every file holds. */
export function addStagesCommand(program: Command): void {
  program
    .command('stages')
    .description('print the layers that each pipeline stage of layout files holds')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'jsonl']).default('text'))
    .action((files: string[], options: Options) => print(output(files, options)));
}

function* output(files: readonly string[], { format }: Options): Iterable<string> {
  if (format !== 'text') {
    yield* records(format, inputFiles(files), json);
    return;
  }
  for (const input of inputFiles(files)) {
    const stages = stagesOf(input);
    yield* stages ? text(input.file, stages) : [];
  }
}

function json(input: InputFile): string[] {
  const stages = stagesOf(input);
  return [jsonText({ file: input.file, ok: stages !== null, stages: stages ?? [] })];
}

/** The stages of a file, module by module; null, with the reason on standard error, where they are not known. */
function stagesOf(input: InputFile): Stage[] | null {
  const layout = soundLayout(input);
  if (!layout) {
    return null;
  }
  const stages = stagePlans(layout.facts).flatMap((plan) => plan.stages() ?? []);
  if (stages.length === 0) {
    complain(
      `${input.file}: no number of layers is known, or there are over 100,000. Write \`model.num_layers\`, a pipeline layout or a hybrid pattern.`,
    );
    exitWith(EXIT.unusable);
    return null;
  }
  return stages;
}

function* text(file: string, stages: readonly Stage[]): Iterable<string> {
  yield `${terminalLine(file)}: ${stages.length} ${stages.length === 1 ? 'stage' : 'stages'}\n`;
  for (const { module, pp, vpp, layers } of stages) {
    yield `${module === null ? '' : `${terminalLine(module)} `}pp ${pp}, vpp ${vpp}: ${layers.length === 0 ? 'no layers' : layers.join(' ')}\n`;
  }
}
