import { type Command, Option } from 'commander';
import {
  type AppliedFix,
  applyAllFixes,
  applySafeFixes,
  type Checked,
  check,
  diagnosticData,
  hasErrors,
  jsonText,
  MAX_TRIED,
  soundFixes,
} from '../layout';
import { forgetLevels, levelsFor } from './config';
import { failedOn, type InputFile, inputFiles, separately, writesFixes } from './files';
import { githubLines } from './github';
import { type GitlabIssue, gitlabIssues } from './gitlab';
import { withLaunchDrift } from './launchDrift';
import { layoutFiles } from './layoutFiles';
import { formatOption, wholeNumber } from './options';
import { colour, EXIT, exitWith, fail, jsonArray, print } from './output';
import type { FileReport } from './outputSchemas';
import { sarifText } from './sarif';
import { type Statistic, statisticsOf, statisticsText } from './statistics';
import { diagnosticTexts, fixTexts, summaryText } from './text';
import { watchLayouts } from './watch';

interface Options {
  readonly format: Format;
  readonly stdinFilename?: string;
  readonly quiet?: true;
  readonly maxWarnings?: number;
  /** False for `--no-drift`. */
  readonly drift: boolean;
  readonly fix?: true;
  readonly unsafe?: true;
  readonly statistics?: true;
  readonly watch?: true;
  readonly color: 'auto' | 'always' | 'never';
}

/** Adds `check`: every rule over every file. */
export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('check layout files')
    .argument('<file...>', 'layout files, or folders to search (.gitignore applies); - is standard input')
    .addOption(formatOption('text', 'json', 'jsonl', 'sarif', 'github', 'gitlab'))
    .option('--stdin-filename <name>', 'the path of standard input, in messages and for its configuration')
    .option('-q, --quiet', 'print errors only')
    .option('--max-warnings <n>', 'exit with status 1 if there are more warnings', wholeNumber(0, 999_999_999))
    .option('--no-drift', 'leave the launch files that a layout names alone')
    .option('--fix', 'write safe fixes to the files')
    .option('--unsafe', 'with --fix: also apply the first other fix of each diagnostic')
    .option('--statistics', 'print how often each rule fired instead, as text or json')
    .option('-w, --watch', 'check again whenever a layout changes, until Ctrl-C')
    .addOption(new Option('--color <when>', 'colours').choices(['auto', 'always', 'never']).default('auto'))
    .addHelpText('after', HELP)
    .action(run);
}

const HELP = `
Exit status: 0 clean, 1 errors found, 2 a file cannot be used.

Examples:
  parallelism-layout check jobs/                      every layout below a folder
  parallelism-layout check --fix train.layout.yaml    write the safe fixes, which are marked [*]
  git show HEAD:a.layout.yaml | parallelism-layout check --stdin-filename a.layout.yaml -

Severities by rule: .parallelism-layout.yaml in the folder of a layout or above.
One line: # layout-ignore: code reason`;

async function run(paths: string[], options: Options): Promise<void> {
  colour(options.color);
  const problem = whyNot(paths, options);
  if (problem !== null) {
    fail(problem);
  } else if (options.watch) {
    await watchLayouts(paths, () => {
      forgetLevels();
      return checkAll(paths, options);
    });
  } else {
    await checkAll(paths, options);
  }
}

/** Why options conflict; null where they do not. */
function whyNot(paths: readonly string[], { unsafe, fix, watch, statistics, format }: Options): string | null {
  if (unsafe && !fix) {
    return '--unsafe needs --fix';
  }
  if (fix && paths.includes('-')) {
    return '--fix takes files and folders, not standard input';
  }
  if (watch && paths.includes('-')) {
    return '--watch takes files and folders, not standard input';
  }
  return statistics && format !== 'text' && format !== 'json' ? '--statistics needs --format text or json' : null;
}

async function checkAll(paths: readonly string[], options: Options): Promise<void> {
  const files = [...layoutFiles(paths)];
  if (files.length === 0) {
    fail(`no layout file (*.layout.yaml) in ${paths.join(', ')}`);
    return;
  }
  const warnings = { count: 0 };
  const inputs = asWanted(files, options, warnings);
  await print(
    options.statistics ? statistics(inputs, options.format) : FORMATS[options.format](inputs, options.quiet === true),
  );
  if (options.maxWarnings !== undefined && warnings.count > options.maxWarnings) {
    fail(`too many warnings: ${warnings.count}; --max-warnings allows ${options.maxWarnings}`, EXIT.findings);
  }
}

/** A checked file, with the fixes that were written to it. */
type Wanted = InputFile & { readonly fixes?: readonly AppliedFix[] };

/** The checked files, after `--fix` and `--quiet`; counts their warnings. */
function* asWanted(files: readonly string[], options: Options, warnings: { count: number }): Iterable<Wanted> {
  for (const read of inputFiles(files, options.stdinFilename)) {
    try {
      yield wanted(read, options, warnings);
    } catch (error) {
      yield failedOn(read.file, error);
    }
  }
}

function wanted(read: InputFile, options: Options, warnings: { count: number }): Wanted {
  const input = options.fix && 'checked' in read && read.file !== options.stdinFilename ? fixed(read, options) : read;
  if ('error' in input) {
    return input;
  }
  const checked = options.drift ? withLaunchDrift(input.file, input.checked) : input.checked;
  const { diagnostics } = checked;
  warnings.count += diagnostics.filter(({ severity }) => severity === 'warning').length;
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  return { ...input, checked: options.quiet ? { ...checked, diagnostics: errors } : checked };
}

/** Applies the fixes of a file and writes it. */
function fixed(input: Extract<InputFile, { readonly checked: Checked }>, { unsafe }: Options): Wanted {
  const { file, checked } = input;
  const { text, fixes } = unsafe ? applyAllFixes(checked) : applySafeFixes(checked, MAX_TRIED);
  return file === '-' || text === checked.text || !writesFixes(file, text)
    ? input
    : { file, checked: check(text, levelsFor(file)), fixes };
}

type Format = 'text' | 'json' | 'jsonl' | 'sarif' | 'github' | 'gitlab';

const FORMATS: Readonly<Record<Format, (inputs: Iterable<Wanted>, quiet: boolean) => Iterable<string>>> = {
  *text(inputs, quiet) {
    const totals = { files: 0, unusable: 0, error: 0, warning: 0, information: 0, fixed: 0, fixable: 0 };
    for (const input of inputs) {
      if ('error' in input) {
        totals.unusable++;
      } else {
        totals.files++;
        noteErrors(input.checked);
        for (const { severity } of input.checked.diagnostics) {
          totals[severity]++;
        }
        totals.fixed += input.fixes?.length ?? 0;
        yield* fixTexts(input.file, input.fixes ?? []);
        yield* separately(input.file, () => {
          const fixes = soundFixes(input.checked);
          totals.fixable += [...fixes.values()].filter(([fix]) => fix?.applicability === 'safe').length;
          return diagnosticTexts(input.file, input.checked, fixes);
        });
      }
    }
    yield summaryText(totals, quiet);
  },
  *json(inputs) {
    yield* jsonArray(fileReports(inputs));
    yield '\n';
  },
  *jsonl(inputs) {
    for (const input of inputs) {
      yield `${jsonText(fileReport(input))}\n`;
    }
  },
  *sarif(inputs) {
    yield* sarifText(fileReports(inputs));
  },
  *github(inputs) {
    for (const input of inputs) {
      yield* githubLines(fileReport(input));
    }
  },
  *gitlab(inputs) {
    yield* jsonArray(issues(inputs));
    yield '\n';
  },
};

/** A generator, so that only one report is held at a time. */
function* fileReports(inputs: Iterable<InputFile>): Iterable<FileReport> {
  for (const input of inputs) {
    yield fileReport(input);
  }
}

function* issues(inputs: Iterable<InputFile>): Iterable<GitlabIssue> {
  for (const report of fileReports(inputs)) {
    yield* gitlabIssues(report);
  }
}

function fileReport(input: InputFile): FileReport {
  if ('error' in input) {
    return { file: input.file, ok: false, findings: [], error: input.error };
  }
  try {
    return checkedReport(input);
  } catch (error) {
    return { ok: false, findings: [], ...failedOn(input.file, error) };
  }
}

function checkedReport({ file, checked }: Extract<InputFile, { readonly checked: Checked }>): FileReport {
  noteErrors(checked);
  const fixes = soundFixes(checked);
  const findings = checked.diagnostics.map((diagnostic) =>
    diagnosticData({ ...diagnostic, fixes: fixes.get(diagnostic) ?? [] }, checked.lines),
  );
  return { file, ok: !hasErrors(checked), findings };
}

function* statistics(inputs: Iterable<InputFile>, format: Format): Iterable<string> {
  const found: Statistic[] = statisticsOf(inputs, noteErrors);
  yield format === 'json' ? `${jsonText(found, 2)}\n` : statisticsText(found);
}

function noteErrors(checked: Checked): void {
  if (hasErrors(checked)) {
    exitWith(EXIT.findings);
  }
}
