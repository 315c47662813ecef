import { type Command, Option } from 'commander';
import { readRegularFile, STANDARD_INPUT } from '../jobs';
import {
  type AppliedFix,
  applyEdits,
  type Checked,
  check,
  countOf,
  type DiagnosticData,
  jsonText,
  LineIndex,
  launchDrift,
  namedLaunchFiles,
  type Severity,
  terminalLine,
  wordAt,
} from '../layout';
import { type Difference, type LaunchReading, layoutFix, readLaunchFile } from '../layout/launch';
import { levelsFor } from './config';
import { failedOn, inputFiles, writesFixes } from './files';
import { githubLines } from './github';
import { compareWith, type LaunchComparison, launchPathsOf } from './launchDrift';
import { launchInputs, shownPath, UNKNOWN_FAMILY } from './launchFiles';
import { isFolder, LAYOUT, layoutFiles } from './layoutFiles';
import { complain, EXIT, exitWith, fail, print, styled } from './output';
import type { FileReport, OutputItem } from './outputSchemas';
import { sarifText } from './sarif';
import { fixTexts } from './text';

type Format = 'text' | 'json' | 'sarif' | 'github';

/** The code of every difference. */
const CODE = launchDrift.code;

/** A layout held against one launch file. */
interface Comparison extends LaunchComparison {
  readonly layout: string;
  readonly checked: Checked;
  readonly launch: string;
  readonly reading: LaunchReading;
  readonly family: string;
}

/** Adds `drift`: whether a layout and the files that launch the job say the same. */
export function addDriftCommand(program: Command): void {
  program
    .command('drift')
    .description('compare layouts with launch files')
    .addHelpText('after', HELP)
    .argument(
      '<file...>',
      'layouts, folders to search for layouts that name launch files, and launch files; without launch files, those that each layout names under launch.files',
    )
    .option('--fix', 'write the values of the launch files to the layouts')
    .addOption(
      new Option('-f, --format <format>', 'form of the output')
        .choices(['text', 'json', 'sarif', 'github'])
        .default('text'),
    )
    .action((paths: string[], { format, fix }: { readonly format: Format; readonly fix?: true }) => {
      const { layouts, launch } = sorted(paths);
      if (fix && layouts.includes('-')) {
        fail('--fix takes files and folders, not standard input');
        return undefined;
      }
      return print(report(layouts, launch, format, fix === true));
    });
  program
    .command('drift-texts', { hidden: true })
    .description('drift of {"layout": TEXT, "launch": TEXT} on standard input, as JSON, for mcp')
    .action(() => {
      const comparison = comparedTexts();
      return comparison ? print(output([comparison], 'json')) : undefined;
    });
}

const HELP = `
Exit status: 0 they agree, 1 they differ, 2 a file cannot be used.

Examples:
  parallelism-layout drift train.layout.yaml               with the files under launch.files
  parallelism-layout drift train.layout.yaml train.sh      with this file
  parallelism-layout drift jobs/                           every layout below a folder that names launch files
  parallelism-layout drift --fix train.layout.yaml         write what train.sh says into the layout`;

/** The arguments by what they are: the first is a layout, and so is what has the name of one; folders hold layouts. */
function sorted(paths: readonly string[]): { readonly layouts: readonly string[]; readonly launch: readonly string[] } {
  const isLayout = (path: string, index: number) => index === 0 || isFolder(path) || LAYOUT.test(path);
  return { layouts: paths.filter(isLayout), launch: paths.filter((path, index) => !isLayout(path, index)) };
}

/** The comparisons of layouts with launch files, after what `--fix` writes to the layouts. */
function* report(paths: readonly string[], launch: readonly string[], format: Format, fix: boolean): Iterable<string> {
  const comparisons: Comparison[] = [];
  for (const layout of paths.flatMap((path) => (isFolder(path) ? searched(path, launch) : [path]))) {
    const found = [...compared(layout, launch)];
    const { after, fixes } = fix ? fixed(layout, found) : { after: found, fixes: [] };
    comparisons.push(...after);
    if (format === 'text') {
      yield* fixTexts(layout, fixes);
    }
  }
  yield* output(comparisons, format);
}

/** The layouts below a folder that can be compared: those that name launch files, unless some are given. */
function searched(folder: string, launch: readonly string[]): string[] {
  const found = [...layoutFiles([folder])];
  const named = launch.length > 0 ? found : found.filter(namesLaunchFiles);
  if (found.length === 0) {
    fail(`no layout file (*.layout.yaml) in ${folder}`);
  } else if (named.length === 0) {
    complain(`no layout in ${folder} names a launch file under launch.files`);
  }
  return named;
}

function namesLaunchFiles(layout: string): boolean {
  // a file that cannot be read is reported where it is compared
  const [input] = inputFiles([layout]);
  return input === undefined || !('checked' in input) || namedLaunchFiles(input.checked).length > 0;
}

/** Writes what the launch files say to a layout, key by key: what was written, and the comparisons after it. */
function fixed(
  layout: string,
  comparisons: readonly Comparison[],
): { readonly after: readonly Comparison[]; readonly fixes: readonly AppliedFix[] } {
  const [first] = comparisons;
  const fixes: AppliedFix[] = [];
  let checked = first?.checked;
  for (const { launch, reading } of checked ? comparisons : []) {
    const tried = new Set<string>();
    for (let next = true; next && checked; ) {
      const { text, lines }: Checked = checked;
      const { said } = compareWith(layout, checked, launch, reading);
      const difference = said.map((one) => one.difference).find(({ key }) => !tried.has(key));
      next = difference !== undefined;
      const fix = difference && layoutFix({ file: layout, text, reading, difference });
      if (difference) {
        tried.add(difference.key);
      }
      if (fix) {
        fixes.push({ code: CODE, title: fix.title, line: lines.positionAt(fix.edit.span.start).line + 1 });
        checked = check(applyEdits(text, [fix.edit]), levelsFor(layout));
      }
    }
  }
  if (!checked || fixes.length === 0 || !writesFixes(layout, checked.text)) {
    return { after: comparisons, fixes: [] };
  }
  const after = comparisons.map((comparison) => {
    const { launch, reading } = comparison;
    return { ...comparison, checked, ...compareWith(layout, checked, launch, reading) };
  });
  return { after, fixes };
}

function* output(comparisons: readonly Comparison[], format: Format): Iterable<string> {
  if (comparisons.some(({ said }) => said.length > 0)) {
    exitWith(EXIT.findings);
  }
  yield* FORMATS[format](comparisons);
}

function* compared(layout: string, files: readonly string[]): Iterable<Comparison> {
  for (const input of inputFiles([layout])) {
    if (!('checked' in input)) {
      continue;
    }
    const { checked } = input;
    const named = files.length > 0 ? files : namedBy(layout, checked);
    for (const launch of launchInputs(named)) {
      if (!('reading' in launch)) {
        continue;
      }
      try {
        const comparison = comparisonOf(layout, checked, launch.file, launch.reading);
        yield* comparison ? [comparison] : [];
      } catch (error) {
        failedOn(launch.file, error);
      }
    }
  }
}

/** Null, with the reason on standard error, for a launch file of no supported family. */
function comparisonOf(layout: string, checked: Checked, launch: string, reading: LaunchReading): Comparison | null {
  const { family, notes } = reading;
  return family === null
    ? fail(`${launch}: ${notes.at(-1) ?? UNKNOWN_FAMILY}`)
    : { layout, checked, launch, reading, family, ...compareWith(layout, checked, launch, reading) };
}

/** The largest pair of texts that is read, in bytes. */
const MAX_TEXTS_BYTES = 32 * 1024 * 1024;

/** A layout against a launch file, both from standard input, so that no file is opened; null, with the reason said, for another text. */
function comparedTexts(): Comparison | null {
  const texts: { readonly layout: string; readonly launch: string } = JSON.parse(
    readRegularFile(STANDARD_INPUT, MAX_TEXTS_BYTES).toString('utf8'),
  );
  return comparisonOf(
    'layout',
    check(texts.layout),
    'launch',
    readLaunchFile('launch', texts.launch, () => null),
  );
}

/** The files under `launch.files`, which are relative to the layout; those outside its repository are not read. */
function namedBy(layout: string, checked: Checked): string[] {
  const paths = launchPathsOf(layout, checked);
  if (paths.length === 0) {
    fail(`${layout}: names no launch file; give one, or write launch.files in the layout`);
  }
  return paths.flatMap(({ file, isNear }) => {
    if (!isNear) {
      fail(`${layout}: names ${file}, which is outside its repository; give the file as an argument to read it`);
    }
    return isNear ? [file] : [];
  });
}

const FORMATS: Readonly<Record<Format, (comparisons: readonly Comparison[]) => Iterable<string>>> = {
  *text(comparisons) {
    for (const comparison of comparisons) {
      yield* texts(comparison);
    }
  },
  *json(comparisons) {
    yield `${jsonText(comparisons.map(comparisonData), 2)}\n`;
  },
  *sarif(comparisons) {
    yield* sarifText(comparisons.flatMap(reports));
  },
  *github(comparisons) {
    for (const report of comparisons.flatMap(reports)) {
      yield* githubLines(report);
    }
  },
};

function* texts(comparison: Comparison): Iterable<string> {
  const { layout, checked, launch, drift, said } = comparison;
  for (const { difference, diagnostic } of said) {
    const { line } = checked.lines.positionAt(diagnostic.span.start);
    const severity = severityOf(checked);
    const head = styled(['bold', severity === 'error' ? 'red' : 'yellow'], `${severity}[${CODE}]`);
    yield `${terminalLine(layout)}:${line + 1}: ${head}: ${terminalLine(difference.message)}\n`;
    const { source } = difference.launch;
    if (typeof source !== 'string') {
      yield `  ${terminalLine(shownPath(source.file))}:${source.line}: ${terminalLine(difference.key)} is set here\n`;
    }
  }
  const { differences, unknown } = drift;
  const ignored = differences.length - said.length;
  const others = [
    ...(ignored > 0 ? [`${ignored} ignored`] : []),
    ...(unknown.length > 0 ? [`${unknown.length} not known (${unknown.map(({ key }) => key).join(', ')})`] : []),
  ].map((part) => `, ${part}`);
  const verdict = said.length === 0 ? 'no difference' : countOf(said.length, 'difference');
  yield `${terminalLine(layout)} and ${terminalLine(launch)} (${comparison.family}): ${verdict}${terminalLine(others.join(''))}\n`;
}

/** An error, as the command is asked for differences alone, unless a configuration weighs the rule otherwise. */
function severityOf({ levels }: Checked): Severity {
  const level = levels.get(CODE);
  return level === undefined || level === 'off' ? 'error' : level;
}

function comparisonData({ layout, checked, launch, family, drift, said }: Comparison): OutputItem<'drift'> {
  const lineAt = (offset: number) => checked.lines.positionAt(offset).line + 1;
  return {
    layout,
    launch,
    family,
    ok: said.length === 0,
    differences: said.map(({ difference }) => ({
      key: difference.key,
      layout: {
        value: difference.layout.value,
        line: difference.layout.offset === null ? null : lineAt(difference.layout.offset),
      },
      launch: {
        value: difference.launch.value,
        source:
          typeof difference.launch.source === 'string'
            ? difference.launch.source
            : { file: shownPath(difference.launch.source.file), line: difference.launch.source.line },
      },
      message: difference.message,
    })),
    unknown: drift.unknown.map(({ key, lookedFor }) => ({ key, looked_for: lookedFor })),
  };
}

/** The differences as diagnostics on both files: on the layout's line, and on the line of the launch file. */
function reports({ layout, checked, reading, said }: Comparison): FileReport[] {
  const severity = severityOf(checked);
  const onLayout = said.map(({ difference }) =>
    diagnostic(severity, difference.message, rangeAt(checked.lines, difference.layout.offset ?? 0)),
  );
  const byFile = new Map<string, DiagnosticData[]>();
  for (const { launch, mirrored } of said.map((one): Difference => one.difference)) {
    if (typeof launch.source !== 'string' && launch.offset !== null) {
      const lines = new LineIndex(reading.files.get(launch.source.file) ?? '');
      const others = byFile.get(launch.source.file) ?? [];
      byFile.set(launch.source.file, [...others, diagnostic(severity, mirrored, rangeAt(lines, launch.offset))]);
    }
  }
  return [
    { file: layout, ok: said.length === 0, findings: onLayout },
    ...[...byFile].map(([file, findings]) => ({ file: shownPath(file), ok: false, findings })),
  ];
}

function rangeAt(lines: LineIndex, offset: number): DiagnosticData['range'] {
  return lines.rangeOf(wordAt(lines.text, Math.min(offset, lines.text.length)));
}

function diagnostic(severity: Severity, message: string, range: DiagnosticData['range']): DiagnosticData {
  return { code: CODE, severity, message, range, related: [], predicts: null, speaker: 'Megatron-LM', fixes: [] };
}
