import { type Command, Option } from 'commander';
import { type Checked, diagnosticData, hasErrors, jsonText, soundFixes } from '../layout';
import type { FileReport } from './fileReport';
import { type InputFile, inputFiles } from './files';
import { githubLines } from './github';
import { EXIT, exitWith, print } from './output';
import { sarifLog } from './sarif';
import { diagnosticTexts, summaryText } from './text';

/** Adds `check`: every rule over every file. */
export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('check layout files; exit status 0: clean, 1: errors found, 2: a file cannot be used')
    .argument('<file...>', 'layout files; - is standard input')
    .addOption(
      new Option('--format <format>', 'form of the output')
        .choices(['text', 'json', 'jsonl', 'sarif', 'github'])
        .default('text'),
    )
    .action((files: string[], { format }: { format: Format }) => print(FORMATS[format](inputFiles(files))));
}

type Format = 'text' | 'json' | 'jsonl' | 'sarif' | 'github';

const FORMATS: Readonly<Record<Format, (inputs: Iterable<InputFile>) => Iterable<string>>> = {
  *text(inputs) {
    const totals = { files: 0, unusable: 0, error: 0, warning: 0, information: 0 };
    for (const input of inputs) {
      if ('error' in input) {
        totals.unusable++;
      } else {
        totals.files++;
        noteErrors(input.checked);
        for (const { severity } of input.checked.diagnostics) {
          totals[severity]++;
        }
        yield* diagnosticTexts(input.file, input.checked);
      }
    }
    yield summaryText(totals);
  },
  *json(inputs) {
    // one file after another, so that no more than one is held
    let open = '[';
    for (const input of inputs) {
      yield `${open}\n  ${jsonText(fileReport(input), 2).replaceAll('\n', '\n  ')}`;
      open = ',';
    }
    yield '\n]\n';
  },
  *jsonl(inputs) {
    for (const input of inputs) {
      yield `${jsonText(fileReport(input))}\n`;
    }
  },
  *sarif(inputs) {
    yield `${jsonText(sarifLog([...inputs].map(fileReport)), 2)}\n`;
  },
  *github(inputs) {
    for (const input of inputs) {
      yield* githubLines(fileReport(input));
    }
  },
};

function fileReport(input: InputFile): FileReport {
  if ('error' in input) {
    return { file: input.file, ok: false, findings: [], error: input.error };
  }
  const { file, checked } = input;
  noteErrors(checked);
  const fixes = soundFixes(checked);
  const findings = checked.diagnostics.map((diagnostic) =>
    diagnosticData({ ...diagnostic, fixes: fixes.get(diagnostic) ?? [] }, checked.lines),
  );
  return { file, ok: !hasErrors(checked), findings };
}

function noteErrors(checked: Checked): void {
  if (hasErrors(checked)) {
    exitWith(EXIT.findings);
  }
}
