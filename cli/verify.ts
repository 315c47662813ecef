import type { Command } from 'commander';
import { readEvidence, SourceError, type Verification, verify } from '../jobs';
import { countOf, jsonText } from '../layout';
import { inputFiles, soundLayout } from './files';
import { formatOption } from './options';
import { complain, EXIT, exitWith, print } from './output';
import { verificationSarif, verificationText } from './verifyReport';

type Format = 'text' | 'json' | 'sarif';

/** How many unusable files a message names. */
const MAX_REASONS = 3;

/** Adds `verify`: compares the process groups of a real job with its layout, and names the ranks that block it. */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('compare the process groups of a real job with its layout, and name the ranks that block it')
    .argument('<layout>', 'a layout file; - is standard input')
    .argument('<path...>', 'Flight Recorder dumps, NCCL RAS answers, recorder files and logs: files, folders, patterns')
    .addOption(formatOption('text', 'json', 'sarif'))
    .addHelpText('after', '\nExit status: 0 healthy, 1 a fault, 2 a file cannot be used.')
    .action((layout: string, paths: string[], { format }: { format: Format }) => {
      const found = verified(layout, paths);
      return found ? print(FORMATS[format](found)) : undefined;
    });
}

const FORMATS: Readonly<Record<Format, (found: Verification) => Iterable<string>>> = {
  text: verificationText,
  *json(found) {
    yield `${jsonText(found, 2)}\n`;
  },
  *sarif(found) {
    yield `${jsonText(verificationSarif(found), 2)}\n`;
  },
};

/** The verification, with the exit status set; null, with the reason on standard error, where the input cannot be used. */
function verified(file: string, paths: readonly string[]): Verification | null {
  for (const input of inputFiles([file])) {
    const sound = soundLayout(input, EXIT.unusable);
    if (!sound) {
      return null;
    }
    try {
      const evidence = readEvidence(paths);
      if (evidence.files.every(({ kind }) => kind === 'other')) {
        const reasons = evidence.files.slice(0, MAX_REASONS).map(({ file, note }) => `${file}: ${note}`);
        const more = evidence.files.length - reasons.length;
        return unusable(
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
      return unusable(error.message);
    }
  }
  return null;
}

function unusable(reason: string): null {
  complain(reason);
  exitWith(EXIT.unusable);
  return null;
}
