import { lstatSync, writeFileSync } from 'node:fs';
import { fileErrorText, readRegularFile, STANDARD_INPUT } from '../jobs';
import { type Checked, check, hasErrors, jsonText, type LayoutFacts, type ResolvedLayout } from '../layout';
import { SHELL_SCRIPT } from '../layout/launch';
import { levelsFor } from './config';
import type { Format } from './options';
import { complain, EXIT, exitWith, fail, jsonChunks, records, takeReason } from './output';
import { nearTo } from './repository';

/** The largest layout file that is read. Bytes. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A layout file as given on the command line, checked; or the reason why it cannot be used at all. */
export type InputFile =
  | { readonly file: string; readonly checked: Checked }
  | { readonly file: string; readonly error: string };

/**
 * Reads and checks files one at a time. A file that cannot be read is reported on standard error and sets the exit status; the
 * others are still checked.
 * @param files paths; `-` is standard input
 * @param stdinName the name of standard input in messages
 */
export function* inputFiles(files: readonly string[], stdinName = '-'): Iterable<InputFile> {
  for (const [i, path] of files.entries()) {
    const file = path === '-' ? stdinName : path;
    try {
      if (path === '-' && files.indexOf('-') < i) {
        throw new UnreadableError('standard input can be read only once');
      }
      const text = readText(path);
      const other = whyNoLayout(file, text);
      if (other !== null) {
        throw new UnreadableError(other);
      }
      yield { file, checked: check(text, levelsFor(file)) };
    } catch (error) {
      const reason = `${file}: ${fileErrorText(error)}`;
      fail(reason);
      yield { file, error: reason };
    }
  }
}

/** Says that this program failed on a file, which sets the exit status: the other files still get their turn. */
export function failedOn(file: string, error: unknown): { readonly file: string; readonly error: string } {
  const reason = `${file}: internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  fail(reason.slice(0, MAX_REASON), EXIT.internal);
  return { file, error: reason.split('\n', 1)[0]?.slice(0, MAX_REASON) ?? reason };
}

/** The longest report of an internal error, in UTF-16 units: a stack may quote what a file holds. */
const MAX_REASON = 2_000;

/**
 * The output about one file; it ends where this program fails on the file.
 * @param instead what is printed where it fails before anything was printed
 */
export function* separately(
  file: string,
  output: () => Iterable<string>,
  instead?: (failed: { readonly file: string; readonly error: string }) => string,
): Iterable<string> {
  let hasBegun = false;
  try {
    for (const chunk of output()) {
      yield chunk;
      hasBegun = true;
    }
  } catch (error) {
    const failed = failedOn(file, error);
    if (instead && !hasBegun) {
      yield instead(failed);
    }
  }
}

const failureJson = ({ file, error }: { readonly file: string; readonly error: string }): string =>
  jsonText({ file, ok: false, error });

/** What a command says of a file as JSON. */
interface FileRecord {
  readonly file: string;
  /** Whether the file is usable. */
  readonly ok: boolean;
}

/** A record about a file; where the file is not usable, with the reason. */
function withReason(input: InputFile, record: (input: InputFile) => FileRecord): object {
  takeReason();
  const made = record(input);
  const error = 'error' in input ? input.error : takeReason();
  return made.ok || error === null ? made : { ...made, error };
}

/** The output of a command, one layout file at a time; a blank line separates the texts of files. */
export function* outputOfFiles(
  files: readonly string[],
  format: Format,
  record: (input: InputFile) => FileRecord,
  text: (input: InputFile) => Iterable<string>,
): Iterable<string> {
  if (format !== 'text') {
    yield* records(format, inputFiles(files), (input) =>
      separately(input.file, () => jsonChunks(withReason(input, record)), failureJson),
    );
    return;
  }
  let separator = '';
  for (const input of inputFiles(files)) {
    for (const chunk of separately(input.file, () => text(input))) {
      yield separator + chunk;
      separator = '';
    }
    separator = '\n';
  }
}

/** A layout without errors: every number is known. */
export interface SoundLayout extends Checked {
  readonly facts: LayoutFacts;
  readonly resolved: ResolvedLayout;
}

/**
 * The layout of a file without errors. Otherwise null, with the first error on standard error and the exit status set;
 * `inputFiles` has already reported a file that cannot be read.
 * @param status the exit status of a layout with errors
 */
export function soundLayout(input: InputFile, status: number = EXIT.findings): SoundLayout | null {
  if ('error' in input) {
    return null;
  }
  const { facts, resolved } = input.checked;
  if (hasErrors(input.checked) || !facts || !resolved) {
    complainOfErrors(input.file, input.checked, status);
    return null;
  }
  return { ...input.checked, facts, resolved };
}

/** Reports the first error of a layout on standard error, and sets the exit status. */
export function complainOfErrors(file: string, { diagnostics, lines }: Checked, status: number = EXIT.findings): void {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  const place = first ? `${file}:${lines.positionAt(first.span.start).line + 1}` : file;
  const shown = errors.length > 1 ? `all ${errors.length} errors` : 'the fixes';
  complain(`${place}: ${first?.message ?? 'The layout is incomplete.'} 'parallelism-layout check' shows ${shown}.`);
  exitWith(status);
}

/** Writes fixes to a file, but not through a link that leads out of the repository; says why where it cannot. */
export function writesFixes(file: string, text: string): boolean {
  let reason = 'it is a link to a file outside its repository';
  try {
    if (!lstatSync(file).isSymbolicLink() || nearTo(file)(file)) {
      writeFileSync(file, text);
      return true;
    }
  } catch (error) {
    reason = fileErrorText(error);
  }
  fail(`${file}: the fixes were not written: ${reason}`);
  return false;
}

/** A file that is no layout, or not text, or standard input that was read already. */
class UnreadableError extends Error {}

function readText(file: string): string {
  const bytes = readRegularFile(file === '-' ? STANDARD_INPUT : file, MAX_FILE_BYTES);
  if (bytes.includes(0)) {
    throw new UnreadableError('is not a text file');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnreadableError('is not UTF-8 text');
  }
}

/** What a file is instead of a layout, with the commands that read it; null where it may be a layout. */
function whyNoLayout(file: string, text: string): string | null {
  const commands = `'parallelism-layout import ${file}' writes its layout, and 'parallelism-layout drift LAYOUT ${file}' compares it with one`;
  if (SHELL_SCRIPT.test(file) || file.endsWith('.py') || text.startsWith('#!')) {
    return `is a script, not a layout: ${commands}`;
  }
  if (file.endsWith('.toml')) {
    return `is TOML, not a layout: ${commands}`;
  }
  return file.endsWith('.json') && isOtherJson(text)
    ? `is JSON without the key layout, so not a layout. If it configures a job, ${commands}`
    : null;
}

/** Whether a text is JSON without the key that every layout begins with. */
function isOtherJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value !== 'object' || value === null || !Object.hasOwn(value, 'layout');
  } catch {
    return false;
  }
}
