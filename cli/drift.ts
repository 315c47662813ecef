import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { readRegularFile, STANDARD_INPUT } from '../jobs/regularFile';
import { type Checked, check, type DiagnosticData, jsonText, LineIndex, terminalLine } from '../layout';
import { type Difference, driftBetween, type LaunchReading, layoutFileValues, readLaunchFile } from '../layout/launch';
import type { FileReport } from './fileReport';
import { inputFiles } from './files';
import { githubLines } from './github';
import { launchInputs, shownPath, UNKNOWN_FAMILY } from './launchFiles';
import { complain, EXIT, exitWith, print, styled } from './output';
import { nearTo } from './repository';
import { sarifText } from './sarif';

type Format = 'text' | 'json' | 'sarif' | 'github';

/** The code of every difference. */
const CODE = 'launch-drift';

/** A layout held against one launch file. */
interface Comparison {
  readonly layout: string;
  readonly checked: Checked;
  readonly launch: string;
  readonly reading: LaunchReading;
  readonly differences: readonly Difference[];
  readonly unknown: readonly { readonly key: string; readonly lookedFor: string }[];
}

/** Adds `drift`: whether a layout and the files that launch the job say the same. */
export function addDriftCommand(program: Command): void {
  program
    .command('drift')
    .description(
      'hold a layout against launch files; exit status 0: they agree, 1: they differ, 2: a file cannot be used',
    )
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
    .description('drift of {"layout": TEXT, "launch": TEXT} on standard input, as JSON, for `mcp`')
    .action(() => {
      const comparison = comparedTexts();
      return comparison ? print(output([comparison], 'json')) : undefined;
    });
}

function* output(all: Iterable<Comparison>, format: Format): Iterable<string> {
  const comparisons = [...all];
  if (comparisons.some(({ differences }) => differences.length > 0)) {
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
    const named = files.length > 0 ? files : namedBy(layout, checked.text);
    for (const launch of launchInputs(named)) {
      if (!('reading' in launch)) {
        continue;
      }
      if (launch.reading.family === null) {
        complain(`${launch.file}: ${launch.reading.notes.at(-1) ?? UNKNOWN_FAMILY}`);
        exitWith(EXIT.unusable);
        continue;
      }
      const drift = driftBetween(layout, checked.text, launch.reading);
      yield { layout, checked, launch: launch.file, reading: launch.reading, ...drift };
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
    complain(`launch: ${reading.notes.at(-1) ?? UNKNOWN_FAMILY}`);
    exitWith(EXIT.unusable);
    return null;
  }
  const drift = driftBetween('layout', texts.layout, reading);
  return { layout: 'layout', checked: check(texts.layout), launch: 'launch', reading, ...drift };
}

/** The files under `launch.files`, which are relative to the layout; those outside its repository are not read. */
function namedBy(layout: string, text: string): string[] {
  const files = layoutFileValues(layout, text)?.get('launch.files')?.value;
  const folder = dirname(resolve(layout));
  const paths = Array.isArray(files) ? files.map((file) => resolve(folder, String(file))) : [];
  if (paths.length === 0) {
    refuse(layout, 'names no launch file; give one, or write launch.files in the layout');
  }
  const isNear = nearTo(layout);
  return paths.flatMap((path) => {
    if (existsSync(path) && !isNear(path)) {
      refuse(layout, `names ${path}, which is outside its repository; give the file as an argument to read it`);
      return [];
    }
    const short = relative(process.cwd(), path);
    // a file of this name is not standard input
    return short === '-' ? path : short;
  });
}

function refuse(layout: string, reason: string): void {
  complain(`${layout}: ${reason}`);
  exitWith(EXIT.unusable);
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
  const { layout, launch, differences, unknown } = comparison;
  for (const difference of differences) {
    const line = layoutLine(comparison, difference);
    const head = styled(['bold', 'red'], `error[${CODE}]`);
    yield `${terminalLine(layout)}:${line}: ${head}: ${terminalLine(difference.message)}\n`;
    const { source } = difference.launch;
    if (typeof source !== 'string') {
      yield `  ${terminalLine(shownPath(source.file))}:${source.line}: ${terminalLine(difference.key)} is set here\n`;
    }
  }
  const open = unknown.length > 0 ? `, ${unknown.length} not known (${unknown.map(({ key }) => key).join(', ')})` : '';
  const count = differences.length;
  const verdict = count === 0 ? 'no difference' : `${count} difference${count === 1 ? '' : 's'}`;
  yield `${terminalLine(layout)} and ${terminalLine(launch)} (${comparison.reading.family}): ${verdict}${terminalLine(open)}\n`;
}

/** The line of the layout that a difference is shown at, from 1; the first where the layout does not write the key. */
function layoutLine({ checked }: Comparison, { layout }: Difference): number {
  return checked.lines.positionAt(layout.offset ?? 0).line + 1;
}

function comparisonData(comparison: Comparison): object {
  const { layout, launch, reading, differences, unknown } = comparison;
  return {
    layout,
    launch,
    family: reading.family,
    ok: differences.length === 0,
    differences: differences.map((difference) => ({
      key: difference.key,
      layout: {
        value: difference.layout.value,
        line: difference.layout.offset === null ? null : layoutLine(comparison, difference),
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
    unknown: unknown.map(({ key, lookedFor }) => ({ key, looked_for: lookedFor })),
  };
}

/** The differences as diagnostics on both files: on the layout's line, and on the line of the launch file. */
function reports(comparison: Comparison): FileReport[] {
  const { layout, checked, reading, differences } = comparison;
  const onLayout = differences.map((difference) =>
    diagnostic(difference.message, rangeAt(checked.lines, difference.layout.offset ?? 0)),
  );
  const byFile = new Map<string, DiagnosticData[]>();
  for (const { launch, mirrored } of differences) {
    if (typeof launch.source !== 'string' && launch.offset !== null) {
      const lines = new LineIndex(reading.files.get(launch.source.file) ?? '');
      const others = byFile.get(launch.source.file) ?? [];
      byFile.set(launch.source.file, [...others, diagnostic(mirrored, rangeAt(lines, launch.offset))]);
    }
  }
  return [
    { file: layout, ok: differences.length === 0, findings: onLayout },
    ...[...byFile].map(([file, findings]) => ({ file: shownPath(file), ok: false, findings })),
  ];
}

function rangeAt(lines: LineIndex, offset: number): DiagnosticData['range'] {
  const start = lines.positionAt(Math.min(offset, lines.text.length));
  const end = /^[\w.+-]*/.exec(lines.text.slice(offset, offset + 200))?.[0].length ?? 0;
  return { start, end: { line: start.line, character: start.character + Math.max(1, end) } };
}

function diagnostic(message: string, range: DiagnosticData['range']): DiagnosticData {
  return { code: CODE, severity: 'error', message, range, related: [], predicts: null, fixes: [] };
}
