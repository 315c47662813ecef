import { type Command, Option } from 'commander';
import { readRegularFile, STANDARD_INPUT } from '../jobs/regularFile';
import {
  type Checked,
  check,
  countOf,
  type DiagnosticData,
  jsonText,
  LineIndex,
  launchDrift,
  type Severity,
  terminalLine,
  wordAt,
} from '../layout';
import { type Difference, type LaunchReading, readLaunchFile } from '../layout/launch';
import type { FileReport } from './fileReport';
import { failedOn, inputFiles } from './files';
import { githubLines } from './github';
import { compareWith, type LaunchComparison, launchPathsOf } from './launchDrift';
import { launchInputs, shownPath, UNKNOWN_FAMILY } from './launchFiles';
import { EXIT, exitWith, fail, print, styled } from './output';
import type { OutputItem } from './outputSchemas';
import { sarifText } from './sarif';

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
    .description('compare a layout with launch files')
    .addHelpText('after', '\nExit status: 0 they agree, 1 they differ, 2 a file cannot be used.')
    .argument('<layout>', 'a layout file')
    .argument('[launch-file...]', 'launch files; without them, those that the layout names under launch.files')
    .addOption(
      new Option('--format <format>', 'form of the output')
        .choices(['text', 'json', 'sarif', 'github'])
        .default('text'),
    )
    .action((layout: string, files: string[], { format }: { format: Format }) =>
      print(output(compared(layout, files), format)),
    );
  program
    .command('drift-texts', { hidden: true })
    .description('drift of {"layout": TEXT, "launch": TEXT} on standard input, as JSON, for mcp')
    .action(() => {
      const comparison = comparedTexts();
      return comparison ? print(output([comparison], 'json')) : undefined;
    });
}

function* output(all: Iterable<Comparison>, format: Format): Iterable<string> {
  const comparisons = [...all];
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
      const { file, reading } = launch;
      const { family } = reading;
      if (family === null) {
        fail(`${file}: ${reading.notes.at(-1) ?? UNKNOWN_FAMILY}`);
        continue;
      }
      try {
        yield { layout, checked, launch: file, reading, family, ...compareWith(layout, checked, file, reading) };
      } catch (error) {
        failedOn(file, error);
      }
    }
  }
}

/** The largest pair of texts that is read, in bytes. */
const MAX_TEXTS_BYTES = 32 * 1024 * 1024;

/** A layout against a launch file, both from standard input, so that no file is opened; null, with the reason said, for another text. */
function comparedTexts(): Comparison | null {
  const texts: { readonly layout: string; readonly launch: string } = JSON.parse(
    readRegularFile(STANDARD_INPUT, MAX_TEXTS_BYTES).toString('utf8'),
  );
  const reading = readLaunchFile('launch', texts.launch, () => null);
  if (reading.family === null) {
    return fail(`launch: ${reading.notes.at(-1) ?? UNKNOWN_FAMILY}`);
  }
  const checked = check(texts.layout);
  const comparison = compareWith('layout', checked, 'launch', reading);
  return { layout: 'layout', checked, launch: 'launch', reading, family: reading.family, ...comparison };
}

/** The files under `launch.files`, which are relative to the layout; those outside its repository are not read. */
function namedBy(layout: string, checked: Checked): string[] {
  const paths = launchPathsOf(layout, checked);
  if (paths.length === 0) {
    refuse(layout, 'names no launch file; give one, or write launch.files in the layout');
  }
  return paths.flatMap(({ file, isNear }) => {
    if (!isNear) {
      refuse(layout, `names ${file}, which is outside its repository; give the file as an argument to read it`);
    }
    return isNear ? [file] : [];
  });
}

function refuse(layout: string, reason: string): void {
  fail(`${layout}: ${reason}`);
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
  yield `${terminalLine(layout)} and ${terminalLine(launch)} (${comparison.reading.family}): ${verdict}${terminalLine(others.join(''))}\n`;
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
