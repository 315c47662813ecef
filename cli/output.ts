import { once } from 'node:events';
import { fileErrorText } from '../jobs';
import { grouped, jsonText, terminalLine } from '../layout';

/** Exit statuses; with several files, the most severe one counts. */
export const EXIT = { clean: 0, findings: 1, unusable: 2, internal: 70 } as const;

/** Sets the exit status unless a more severe one is set already. */
export function exitWith(status: number): void {
  process.exitCode = Math.max(Number(process.exitCode ?? EXIT.clean), status);
}

/** Writes chunks to standard output and waits for a slow reader, so that the output is never held whole in memory. */
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
    // a closed reader ends the wait, too: `watchOutput` handles it
    await once(process.stdout, 'drain').catch(() => undefined);
  }
}

/**
 * One JSON record an item, as JSON lines or as one array.
 * @param record gives the JSON of an item in chunks
 */
export function* records<T>(
  format: 'json' | 'jsonl',
  items: Iterable<T>,
  record: (item: T) => Iterable<string>,
): Iterable<string> {
  if (format === 'json') {
    yield '[';
    yield* joined(items, ',\n', record);
    yield ']\n';
    return;
  }
  for (const item of items) {
    yield* record(item);
    yield '\n';
  }
}

/** A value of JSON whose lists may be made item by item. */
export type Streamed<T> = T extends readonly (infer Item)[]
  ? Iterable<Streamed<Item>>
  : T extends object
    ? { readonly [K in keyof T]: Streamed<T[K]> }
    : T;

/** JSON in chunks. An iterable becomes a list; only one of its items is in memory at a time. */
export function* jsonChunks(value: unknown): Iterable<string> {
  if (typeof value !== 'object' || value === null || (Array.isArray(value) && typeof value[0] !== 'object')) {
    yield jsonText(value);
  } else if (value instanceof Int32Array) {
    yield `[${value.join(',')}]`;
  } else if (Symbol.iterator in value) {
    yield '[';
    yield* joined(value as Iterable<unknown>, ',', jsonChunks);
    yield ']';
  } else {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    yield '{';
    yield* joined(fields, ',', function* ([key, field]) {
      yield `${jsonText(key)}:`;
      yield* jsonChunks(field);
    });
    yield '}';
  }
}

/** The chunks of items with a separator between them. */
export function* joined<T>(
  items: Iterable<T>,
  separator: string,
  chunks: (item: T) => Iterable<string>,
): Iterable<string> {
  let before = '';
  for (const item of items) {
    yield before;
    yield* chunks(item);
    before = separator;
  }
}

/** A JSON array as `JSON.stringify` indents it, item by item, so that no more than one is held. */
export function* jsonArray(items: Iterable<unknown>, margin = ''): Iterable<string> {
  let before = '[';
  for (const item of items) {
    yield `${before}\n${margin}  ${jsonText(item, 2).replaceAll('\n', `\n${margin}  `)}`;
    before = ',';
  }
  yield before === '[' ? '[]' : `\n${margin}]`;
}

/** Exit statuses as a shell reports them for a program that a signal ended. */
export const SIGNAL_EXIT = { SIGHUP: 129, SIGINT: 130, SIGPIPE: 141, SIGTERM: 143 } as const;

let endCommand: (() => void) | undefined;

/**
 * Calls `end` instead of exiting when the reader of the output is gone: for commands that have to clean up.
 * @returns removes the handler
 */
export function onOutputClosed(end: () => void): () => void {
  endCommand = end;
  return () => {
    endCommand = undefined;
  };
}

/** Exits with the status of SIGPIPE when the reader of the output is gone (`| head`), so that errors do not turn into success. */
export function watchOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') {
      complain(`standard output: ${fileErrorText(error)}`);
      process.exit(EXIT.unusable);
    }
    if (endCommand) {
      endCommand();
    } else {
      process.exit(SIGNAL_EXIT.SIGPIPE);
    }
  });
  // only progress and messages are lost
  process.stderr.on('error', () => undefined);
}

/** Both ends of an interval in whole numbers. */
export const rounded = ([low, high]: readonly [number, number]) => [Math.round(low), Math.round(high)] as const;

/** The first message since the last call of `takeReason`. */
let reason: string | null = null;

/** The first message that was printed on standard error since the last call; null where there was none. */
export function takeReason(): string | null {
  const said = reason;
  reason = null;
  return said;
}

/** The output of a command; where there is none of JSON, an object with the reason that standard error says. */
export function* orFailure(format: string, chunks: Iterable<string>): Iterable<string> {
  let isEmpty = true;
  for (const chunk of chunks) {
    isEmpty = false;
    yield chunk;
  }
  const error = takeReason();
  if (isEmpty && format === 'json' && error !== null) {
    yield `${jsonText({ ok: false, error }, 2)}\n`;
  }
}

/** Prints a message on standard error. */
export function complain(message: string): void {
  reason ??= message;
  process.stderr.write(`parallelism-layout: ${terminalLine(message)}\n`);
}

/** Prints why a command fails, and sets the exit status. */
export function fail(reason: string, status: number = EXIT.unusable): null {
  complain(reason);
  exitWith(status);
  return null;
}

/** The largest world whose ranks are listed one by one. */
const MAX_LISTED_RANKS = 2 ** 22;

/** Whether ranks are too many to list; if so, reports it and sets the exit status. */
export function refusesToList(file: string, ranks: number): boolean {
  if (ranks <= MAX_LISTED_RANKS) {
    return false;
  }
  const [count, most] = [ranks, MAX_LISTED_RANKS].map(grouped);
  fail(`${file}: ${count} ranks are too many to list; the limit is ${most}`);
  return true;
}

/** Whether output has colours without `--color`: NO_COLOR before FORCE_COLOR, else on terminals other than `dumb`. */
let colours = (): boolean => {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  return !NO_COLOR && (FORCE_COLOR ? FORCE_COLOR !== '0' : process.stdout.isTTY === true && TERM !== 'dumb');
};

/** Sets `--color`. */
export function colour(when: 'auto' | 'always' | 'never'): void {
  if (when !== 'auto') {
    colours = () => when === 'always';
  }
}

/** SGR codes that begin and end a style. */
const STYLES = {
  bold: [1, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** Styles text where the output has colours. (Node.js has `util.styleText` only from 20.12 on.) */
export function styled(style: Style | readonly Style[], text: string): string {
  if (!colours()) {
    return text;
  }
  const styles = [style].flat().map((name) => STYLES[name]);
  const codes = (side: 0 | 1) => styles.map((pair) => `\u001b[${pair[side]}m`).join('');
  return codes(0) + text + codes(1);
}
