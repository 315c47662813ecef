import { readRegularFile, STANDARD_INPUT } from '../jobs/regularFile';
import { type Checked, check } from '../layout';
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
