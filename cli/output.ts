import { once } from 'node:events';
import { grouped, terminalLine } from '../layout';

/** What a run of the command line found, as its exit status says it; the gravest file decides. */
export const EXIT = { clean: 0, findings: 1, unusable: 2, internal: 70 } as const;

/** Sets the exit status unless a graver one is set already. */
export function exitWith(status: number): void {
  process.exitCode = Math.max(Number(process.exitCode ?? EXIT.clean), status);
}

/** Writes chunks to standard output, waiting where the reader is slower, so that no output is ever held whole. */
export async function print(chunks: Iterable<string>): Promise<void> {
  let buffer = '';
  for (const chunk of chunks) {
    buffer += chunk;
    if (buffer.length > 64 * 1024) {
      await write(buffer);
      buffer = '';
    }
  }
  await write(buffer);
}

async function write(text: string): Promise<void> {
  if (text !== '' && !process.stdout.destroyed && !process.stdout.write(text)) {
    // a reader that is gone ends the wait too: `watchOutput` decides what that means
    await once(process.stdout, 'drain').catch(() => undefined);
  }
}

/**
 * One JSON record an item: as JSON lines, or as one array.
 * @param record the JSON of an item in chunks, so that none is held whole
 */
export function* records<T>(
  format: 'json' | 'jsonl',
  items: Iterable<T>,
  record: (item: T) => Iterable<string>,
): Iterable<string> {
  let before = format === 'json' ? '[' : '';
  for (const item of items) {
    yield before;
    yield* record(item);
    before = format === 'json' ? ',\n' : '';
    yield format === 'json' ? '' : '\n';
  }
  if (format === 'json') {
    yield before === '[' ? '[]\n' : ']\n';
  }
}

/** Exit statuses as a shell reports them for a program that a signal ended. */
export const SIGNAL_EXIT = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 } as const;

let endCommand: (() => void) | undefined;

/**
 * Lets a command end by itself when the reader of its output is gone: it has more to do than to print.
 * @returns undoes it
 */
export function onOutputClosed(end: () => void): () => void {
  endCommand = end;
  return () => {
    endCommand = undefined;
  };
}

/**
 * Ends the program when its output can no longer be written. A reader that stops reading (`| head`) must not turn errors into
 * success: the status is then that of SIGPIPE.
 */
export function watchOutput(): void {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code !== 'EPIPE') {
      process.exit(EXIT.unusable);
    }
    if (endCommand) {
      endCommand();
    } else {
      process.exit(SIGNAL_EXIT.SIGPIPE);
    }
  });
  // what people would have read of the progress is lost; the output still counts
  process.stderr.on('error', () => undefined);
}

/** Says on standard error what is not part of the output. */
export function complain(message: string): void {
  process.stderr.write(`parallelism-layout: ${terminalLine(message)}\n`);
}

/** The most ranks that are listed one by one: four million, far beyond any job. */
const MAX_LISTED_RANKS = 2 ** 22;

/** Whether ranks are too many to list; says so, and sets the exit status. */
export function refusesToList(file: string, ranks: number): boolean {
  if (ranks <= MAX_LISTED_RANKS) {
    return false;
  }
  const [count, most] = [ranks, MAX_LISTED_RANKS].map(grouped);
  complain(`${file}: ${count} ranks are more than can be listed; up to ${most} are`);
  exitWith(EXIT.unusable);
  return true;
}

/** Whether colours are wanted: as an option says, or where standard output is a terminal and NO_COLOR is not set. */
let colours = (): boolean => process.stdout.isTTY === true && !process.env.NO_COLOR;

/** Decides on colours for the rest of the run. */
export function colour(when: 'auto' | 'always' | 'never'): void {
  if (when !== 'auto') {
    colours = () => when === 'always';
  }
}

/** What a terminal is told to begin a style, and to end it. */
const STYLES = {
  bold: [1, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** Styles text where standard output is a terminal that shows colours. Node.js has a function for it from 20.15 on. */
export function styled(style: Style | readonly Style[], text: string): string {
  if (!colours()) {
    return text;
  }
  const styles = [style].flat().map((name) => STYLES[name]);
  const codes = (side: 0 | 1) => styles.map((pair) => `\u001b[${pair[side]}m`).join('');
  return codes(0) + text + codes(1);
}
