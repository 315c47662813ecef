import { type Command, Option } from 'commander';
import { readEvidence, SourceError, type Verification, verify } from '../jobs';
import { jsonText } from '../layout';
import { inputFiles, soundLayout } from './files';
import { complain, EXIT, exitWith, print } from './output';
import { verificationSarif, verificationText } from './verifyReport';

type Format = 'text' | 'json' | 'sarif';

/** Adds `verify`: the process groups of a real job against its layout, and who keeps it from going on. */
export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      "verify a job's process groups from its dumps and logs; exit status 0: healthy, 1: a fault, 2: unusable input",
    )
    .argument('<layout>', 'layout file; - is standard input')
    .argument('<path...>', 'Flight Recorder dumps, NCCL RAS answers, recorder files and logs: files, folders, patterns')
    .addOption(new Option('--format <format>', 'form of the output').choices(['text', 'json', 'sarif']).default('text'))
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

/** What is found, with the exit status set; null, with the reason on standard error, where the input cannot be used. */
function verified(file: string, paths: readonly string[]): Verification | null {
  for (const input of inputFiles([file])) {
    const sound = soundLayout(input, EXIT.unusable);
    if (!sound) {
      return null;
    }
    try {
      const evidence = readEvidence(paths);
      if (evidence.files.every(({ kind }) => kind === 'other')) {
        return unusable(`${paths.join(', ')}: no Flight Recorder dump, NCCL RAS answer, recorder file or log of torch`);
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
