import { readRegularFile, STANDARD_INPUT } from '../jobs/regularFile';
import { type Checked, check, hasErrors, type LayoutFacts, type ResolvedLayout } from '../layout';
import { levelsFor } from './config';
import { complain, EXIT, exitWith } from './output';

/** No layout is this large; reading further would only cost memory. Bytes. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A layout file as given on the command line, checked; or the reason why it cannot be used at all. */
export type InputFile =
  | { readonly file: string; readonly checked: Checked }
  | { readonly file: string; readonly error: string };

/**
 * Reads and checks files one after another, so that only one is held at a time. A file that cannot be read is said on
 * standard error, sets the exit status, and does not keep the others from being checked.
 * @param files paths; `-` is standard input
 * @param stdinName what standard input is called
 */
export function* inputFiles(files: readonly string[], stdinName = '-'): Iterable<InputFile> {
  for (const path of files) {
    const file = path === '-' ? stdinName : path;
    try {
      yield { file, checked: check(readText(path), levelsFor(file)) };
    } catch (error) {
      if (!(error instanceof Error)) {
        throw error;
      }
      const reason = unusable(file, error);
      complain(reason);
      exitWith(EXIT.unusable);
      yield { file, error: reason };
    }
  }
}

/** A layout without errors: every number is known. */
export interface SoundLayout extends Checked {
  readonly facts: LayoutFacts;
  readonly resolved: ResolvedLayout;
}

/**
 * The layout of a file that has no errors; null, with the reason on standard error and the exit status set, where it has some.
 * A file that cannot be read has been spoken of already.
 * @param status the exit status of a layout with errors
 */
export function soundLayout(input: InputFile, status: number = EXIT.findings): SoundLayout | null {
  if ('error' in input) {
    return null;
  }
  const { facts, resolved } = input.checked;
  if (hasErrors(input.checked) || !facts || !resolved) {
    complainOfErrors(input.file, status);
    return null;
  }
  return { ...input.checked, facts, resolved };
}

/** Says that the layout of a file has errors, and sets the exit status. */
export function complainOfErrors(file: string, status: number = EXIT.findings): void {
  complain(`${file}: the layout has errors; \`parallelism-layout check\` shows them`);
  exitWith(status);
}

/** What is wrong with a file that is no text. */
class NotTextError extends Error {}

function readText(file: string): string {
  const bytes = readRegularFile(file === '-' ? STANDARD_INPUT : file, MAX_FILE_BYTES);
  if (bytes.includes(0)) {
    throw new NotTextError('is not a text file');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotTextError('is not UTF-8 text');
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  ENOTDIR: 'no such file',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
};

function unusable(file: string, error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return `${file}: ${REASONS[code] ?? error.message}`;
}
