import { type Command, Option } from 'commander';
import { jsonText, lossOf, type Stage, type StagePlan, stagePlans, terminalLine } from '../layout';
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
    const { stages } = stagesOf(input);
    yield* stages.length > 0 ? text(input.file, stages) : [];
  }
}

function json(input: InputFile): string[] {
  return [jsonText({ file: input.file, ...stagesOf(input) })];
}

/**
 * The stages of a file, module by module, also where something else is wrong with it. What is wrong, and which layers are lost,
 * is said on standard error.
 */
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
    const reason = plans.length > 0 ? 'there are over 100,000 layers or stages' : 'no number of layers is known';
    complain(
      `${input.file}: ${reason}. ${plans.length > 0 ? 'Write fewer.' : 'Write `model.num_layers`, a pipeline layout or a hybrid pattern.'}`,
    );
    exitWith(EXIT.unusable);
  }
  return { ok: stages.length > 0, stages };
}

function lossLine(plan: StagePlan): string {
  const { name } = plan.module;
  return `${name === null ? '' : `${terminalLine(name)}: `}${lossOf(plan)}`;
}

function* text(file: string, stages: readonly Stage[]): Iterable<string> {
  yield `${terminalLine(file)}: ${stages.length} ${stages.length === 1 ? 'stage' : 'stages'}\n`;
  for (const { module, pp, vpp, layers } of stages) {
    yield `${module === null ? '' : `${terminalLine(module)} `}pp ${pp}, vpp ${vpp}: ${layers.length === 0 ? 'no layers' : layers.join(' ')}\n`;
  }
}
