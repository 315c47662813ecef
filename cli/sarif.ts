import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Log, PhysicalLocation, Region, ReportingDescriptor, Result, Run } from 'sarif';
import { type DiagnosticData, jsonText, type Range, RULES, rulePageUrl } from '../layout';
import { homepage, version } from '../package.json';
import { jsonArray } from './output';
import type { FileReport } from './outputSchemas';

const LEVELS = { error: 'error', warning: 'warning', information: 'note' } as const;

/** A SARIF 2.1.0 log of all files, with the pages of the rules and the fixes, result by result. */
export function* sarifText(reports: Iterable<FileReport>): Iterable<string> {
  const failed: FileReport[] = [];
  yield emptyLog(failed)[0];
  yield* jsonArray(results(reports, failed), ' '.repeat(6));
  yield `${emptyLog(failed)[1]}\n`;
}

function* results(reports: Iterable<FileReport>, failed: FileReport[]): Iterable<Result> {
  for (const report of reports) {
    if (report.error !== undefined) {
      failed.push(report);
    }
    yield* report.findings.map((finding) => result(report.file, finding));
  }
}

/** What stands before and behind the list of results. */
function emptyLog(failed: readonly FileReport[]): readonly [string, string] {
  const [before = '', after = ''] = jsonText(logOf(failed), 2).split(/(?<="results": )\[\]/, 2);
  return [before, after];
}

/** A SARIF 2.1.0 log of one run. */
export const sarifLog = (run: Run): Log => ({
  version: '2.1.0',
  $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
  runs: [run],
});

function logOf(failed: readonly FileReport[]): Log {
  return sarifLog({
    tool: { driver: { name: 'parallelism-layout', version, informationUri: homepage, rules: RULES.map(descriptor) } },
    columnKind: 'utf16CodeUnits',
    results: [],
    invocations: [
      {
        executionSuccessful: failed.length === 0,
        toolExecutionNotifications: failed.map(({ file, error }) => ({
          level: 'error',
          message: { text: error ?? '' },
          locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) } } }],
        })),
      },
    ],
  });
}

function descriptor({ code, title, what, why, severity }: (typeof RULES)[number]): ReportingDescriptor {
  return {
    id: code,
    shortDescription: { text: title },
    fullDescription: { text: `${what} ${why}` },
    helpUri: rulePageUrl(code),
    defaultConfiguration: { level: LEVELS[severity] },
  };
}

function result(file: string, finding: DiagnosticData): Result {
  const place = (range: Range): PhysicalLocation => ({ artifactLocation: { uri: uriOf(file) }, region: region(range) });
  return {
    ruleId: finding.code,
    ruleIndex: RULES.findIndex(({ code }) => code === finding.code),
    level: LEVELS[finding.severity],
    message: {
      text: finding.predicts ? `${finding.message} ${finding.speaker}: ${finding.predicts}` : finding.message,
    },
    locations: [{ physicalLocation: place(finding.range) }],
    relatedLocations: finding.related.map(({ message, range }, id) => ({
      id,
      message: { text: message },
      physicalLocation: place(range),
    })),
    fixes: finding.fixes.map(({ title, edits }) => ({
      description: { text: title },
      artifactChanges: [
        {
          artifactLocation: { uri: uriOf(file) },
          replacements: edits.map(({ range, newText }) => ({
            deletedRegion: region(range),
            insertedContent: { text: newText },
          })),
        },
      ],
    })),
  };
}

/** SARIF counts lines and columns from 1. */
function region({ start, end }: Range): Region {
  return {
    startLine: start.line + 1,
    startColumn: start.character + 1,
    endLine: end.line + 1,
    endColumn: end.character + 1,
  };
}

/** A relative path stays relative, so that a report is the same wherever the project lies. */
export function uriOf(file: string): string {
  return isAbsolute(file) ? pathToFileURL(file).href : file.split(/[\\/]/).map(encodeURIComponent).join('/');
}
