import type { Command } from 'commander';
import type { Log, Result } from 'sarif';
import {
  groupsText,
  readEvidence,
  SourceError,
  VERDICT_TITLES,
  type Verification,
  verificationSections,
  verify,
} from '../jobs';
import { countOf, jsonText, terminalLine } from '../layout';
import { inputFiles, soundLayout } from './files';
import { formatOption } from './options';
import { EXIT, exitWith, fail, orFailure, print, styled } from './output';
import type { Output } from './outputSchemas';
import { sarifLog, uriOf } from './sarif';

type Format = 'text' | 'json' | 'sarif';

/** How many unusable files a message names. */
const MAX_REASONS = 3;

/** Adds `verify`: compares the process groups of a real job with its layout, and names the ranks that block it. */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('compare the process groups of a real job with its layout, and name the ranks that block it')
    .argument('<layout>', 'a layout file; - is standard input')
    .argument(
      '<path...>',
      'Flight Recorder dumps, NCCL RAS answers, recorder files and logs: files, folders, patterns; - is standard input',
    )
    .addOption(formatOption('text', 'json', 'sarif'))
    .addHelpText('after', HELP)
    .action((layout: string, paths: string[], { format }: { format: Format }) => {
      if (layout === '-' && paths.includes('-')) {
        fail('standard input can be read only once');
        return undefined;
      }
      const found = verified(layout, paths);
      return print(orFailure(format, found ? FORMATS[format](found) : []));
    });
}

const HELP = `
Exit status: 0 healthy, 1 a fault, or the layout has errors, 2 a file cannot be used.

Examples:
  parallelism-layout verify train.layout.yaml dumps/
  parallelism-layout verify train.layout.yaml 'dumps/rank_*' slurm-42.out
  kubectl logs job/train | parallelism-layout verify train.layout.yaml -`;

const FORMATS: Readonly<Record<Format, (found: Verification) => Iterable<string>>> = {
  text: verificationText,
  *json(found: Output<'verify'>) {
    yield `${jsonText(found, 2)}\n`;
  },
  *sarif(found) {
    yield `${jsonText(verificationSarif(found), 2)}\n`;
  },
};

/** The verification, with the exit status set; null, with the reason on standard error, where the input cannot be used. */
function verified(file: string, paths: readonly string[]): Verification | null {
  const [input] = inputFiles([file]);
  const sound = input ? soundLayout(input) : null;
  if (!sound) {
    return null;
  }
  try {
    const evidence = readEvidence(paths, sound.resolved);
    if (evidence.files.every(({ kind }) => kind === 'other')) {
      const reasons = evidence.files.slice(0, MAX_REASONS).map((one) => `${one.file}: ${one.note}`);
      const more = evidence.files.length - reasons.length;
      return fail(
        reasons.length === 0
          ? `${paths.join(', ')}: the folder is empty`
          : `${reasons.join('; ')}${more > 0 ? `; and ${countOf(more, 'more file')}` : ''}`,
      );
    }
    const found = verify(file, sound, evidence);
    exitWith(found.verdict === 'healthy' ? EXIT.clean : EXIT.findings);
    return found;
  } catch (error) {
    if (!(error instanceof SourceError)) {
      throw error;
    }
    return fail(error.message);
  }
}

/** The most items that a section of the text lists. */
const MAX_ITEMS = 12;

/** A verification as plain text. */
function* verificationText(found: Verification): Iterable<string> {
  const colour = found.verdict === 'healthy' ? 'green' : 'red';
  yield `${styled(['bold', colour], VERDICT_TITLES[found.verdict])}\n`;
  for (const sentence of found.why) {
    yield `  ${terminalLine(sentence)}\n`;
  }
  for (const { title, items } of verificationSections(found, (line) => `${found.layout}:${line}: `)) {
    yield `\n${styled('bold', terminalLine(title))}\n`;
    for (const { subject = '', label = '', text, details = [] } of items.slice(0, MAX_ITEMS)) {
      yield `  ${styled(['bold', 'red'], subject)}${terminalLine(label + text)}\n`;
      yield* details.map((detail) => `    ${terminalLine(detail)}\n`);
    }
    yield items.length > MAX_ITEMS ? `  and ${items.length - MAX_ITEMS} more\n` : '';
  }
}

/** A SARIF 2.1.0 log: differences on the layout's lines, ranks at fault on the layout. */
function verificationSarif(found: Verification): Log {
  const at = (line: number) => [
    { physicalLocation: { artifactLocation: { uri: uriOf(found.layout) }, region: { startLine: line } } },
  ];
  const results: Result[] = [
    ...found.groups.different.map(({ name, cause, line, actual }) => ({
      ruleId: 'run/groups',
      level: 'error' as const,
      message: {
        text: `The run's ${name} groups are ${groupsText(actual)}.${cause === null ? '' : ` These are the groups of ${cause}.`}`,
      },
      locations: at(line ?? 1),
    })),
    ...found.culprits.map(({ rank, because }) => ({
      ruleId: `run/${found.verdict}`,
      level: 'error' as const,
      message: { text: [`Rank ${rank}.`, ...because].join(' ') },
      locations: at(1),
    })),
    ...(found.verdict === 'unknown'
      ? [
          {
            ruleId: 'run/unknown',
            level: 'warning' as const,
            message: { text: ['The files do not show the state of the run.', ...found.why].join(' ') },
            locations: at(1),
          },
        ]
      : []),
  ];
  return sarifLog({ tool: { driver: { name: 'parallelism-layout' } }, columnKind: 'utf16CodeUnits', results });
}
