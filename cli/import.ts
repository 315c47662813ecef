import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ObservedRun, observeScript } from '../jobs';
import { jsonText, terminalLine } from '../layout';
import {
  FAMILIES,
  type FamilyName,
  type LaunchReading,
  type LaunchValue,
  layoutOf,
  layoutYaml,
  SHELL_SCRIPT,
} from '../layout/launch';
import { separately } from './files';
import { type LaunchInput, launchInputs, shownPath, UNKNOWN_FAMILY } from './launchFiles';
import { complain, fail, print, SIGNAL_EXIT } from './output';
import type { Output } from './outputSchemas';

interface Options {
  readonly format: 'yaml' | 'json' | 'jsonl';
  readonly family?: FamilyName;
  readonly job?: string;
  readonly run?: boolean;
  readonly set?: ReadonlyMap<string, string>;
}

/** Adds `import`: a launch file becomes a layout, and every value says where it comes from. */
export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('read a launch script, recipe, configuration or log as a layout')
    .argument('<file...>', 'launch files; - is standard input')
    .addOption(
      new Option('-f, --format <format>', 'form of the output; json and jsonl both print one object a line')
        .choices(['yaml', 'json', 'jsonl'])
        .default('yaml'),
    )
    .addOption(new Option('--family <name>', 'the family of the files; detected where left out').choices(FAMILIES))
    .option(
      '--job <name>',
      'which of several jobs is read: the name of a recipe, what an argument of the script is, or a number from 1',
    )
    .option('--set <name=value>', 'a variable of the environment of the scripts; may be given more than once', variable)
    .option('--run', 'EXECUTE the scripts, as you, with recording stubs for launchers, and read what they start')
    .addHelpText('after', HELP)
    .action(async (files: string[], options: Options) => {
      const observedRuns = options.run ? await observedRunsOf(files, options.set) : new Map<string, ObservedRun>();
      await print(output(files, options, observedRuns));
    });
}

const HELP = `
Exit status: 0 read, 2 a file cannot be used, or starts no job of a supported framework.

Examples:
  parallelism-layout import train.sh > train.layout.yaml
  parallelism-layout import train.sh --set NNODES=8 --job pretrain
  parallelism-layout import --format json run_config.yaml`;

/** Reads `NAME=value` beside those that were given before. */
function variable(word: string, before: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, name, value] = /^([A-Za-z_]\w{0,255})=(.*)$/s.exec(word) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('Write NAME=value, such as SLURM_NNODES=4.');
  }
  return new Map([...before, [name, value]]);
}

/** What a layout names as its launch file; standard input has no name that a later check could read. */
function namedFile(file: string, shown: (file: string) => string = (path) => path): readonly string[] {
  return file === '-' ? [] : [shown(file)];
}

/** Signals on which the command ends a script that it runs, and itself. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

/** Runs each script; one that cannot be run is read statically. */
async function observedRunsOf(
  files: readonly string[],
  variables: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, ObservedRun>> {
  const observedRuns = new Map<string, ObservedRun>();
  const cancelled = new AbortController();
  const cancel = (signal: NodeJS.Signals) => cancelled.abort(signal);
  for (const signal of SIGNALS) {
    process.on(signal, cancel);
  }
  for (const file of files) {
    if (!SHELL_SCRIPT.test(file)) {
      complain(`${file}: --run executes shell scripts alone; the file is read as it stands`);
      continue;
    }
    try {
      const run = await observeScript(file, {
        signal: cancelled.signal,
        variables: Object.fromEntries(variables),
        mayUseNetwork: process.platform !== 'linux',
      });
      if (run === null) {
        process.exit(SIGNAL_EXIT[cancelled.signal.reason as (typeof SIGNALS)[number]]);
      }
      observedRuns.set(file, run);
    } catch (error) {
      fail(`${file}: cannot be run: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  for (const signal of SIGNALS) {
    process.off(signal, cancel);
  }
  return observedRuns;
}

function* output(
  files: readonly string[],
  { format, family, job, set }: Options,
  observedRuns: ReadonlyMap<string, ObservedRun>,
): Iterable<string> {
  let separator = '';
  for (const input of launchInputs(files, { family, job, variables: set }, observedRuns)) {
    if ('reading' in input && input.reading.family === null) {
      fail(`${input.file}: ${input.reading.notes.at(-1) ?? UNKNOWN_FAMILY}`);
    }
    if (format !== 'yaml') {
      yield* separately(input.file, () => [`${jsonText(importData(input))}\n`]);
    } else if ('reading' in input) {
      for (const text of separately(input.file, () => [
        layoutYaml(input.reading, shownPath, namedFile(input.file, shownPath)),
      ])) {
        yield separator + text;
        separator = '---\n';
      }
    }
  }
}

/** What `import --format json` prints of one file. */
function importData(input: LaunchInput): Output<'import'> {
  if ('error' in input) {
    return { file: input.file, family: null, layout: null, values: [], unmapped: [], notes: [], error: input.error };
  }
  const { file, reading } = input;
  return {
    file,
    family: reading.family,
    layout: layoutOf(reading, namedFile(file)),
    values: reading.values.map((value) => valueData(value, file, reading)),
    unmapped: reading.unmapped,
    notes: reading.notes.map(terminalLine),
  };
}

function valueData({ key, value, source, lookedFor }: LaunchValue, file: string, reading: LaunchReading) {
  const place =
    typeof source === 'string'
      ? source
      : { file: source.file === reading.file ? file : shownPath(source.file), line: source.line };
  return { key, value, source: place, ...(lookedFor !== undefined && { looked_for: lookedFor }) };
}
