import { directoryOf, joinPath } from '../paths';
import { shellNumber } from './arithmetic';

/**
 * What small commands print, given their arguments and what they read; null where that is not known. They are those with
 * which scripts compute paths and counts.
 */
export const FILTERS: Readonly<Record<string, (args: readonly string[], stdin: string | null) => string | null>> = {
  dirname: (args) => (args.length === 1 && args[0] !== undefined ? directoryOf(args[0]) : null),
  basename: ([path = '', suffix = ''], _) => {
    const name = path.split('/').findLast((part) => part !== '') ?? '';
    return suffix !== '' && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  },
  realpath: lastPath,
  readlink: lastPath,
  seq: (args) => sequence(args.map(shellNumber)),
};

/**
 * Programs that print something of what they read. Scripts compute under 1 % of their values with them, so what they print is not
 * followed: an observed run knows it.
 */
export const READERS: ReadonlySet<string> = new Set([
  ...['awk', 'bc', 'cut', 'grep', 'head', 'sed', 'sort', 'tail', 'tr', 'wc', 'xargs'],
]);

function lastPath(args: readonly string[]): string | null {
  const path = args.findLast((arg) => !arg.startsWith('-'));
  return path === undefined ? null : joinPath('', path);
}

/** The longest sequence that is written out. */
const MAX_SEQUENCE = 1_024;

function sequence(numbers: readonly (number | null)[]): string | null {
  const known = numbers.filter((number) => number !== null);
  if (known.length !== numbers.length || known.length < 1 || known.length > 3) {
    return null;
  }
  const [first, step, last] =
    known.length === 1 ? [1, 1, known[0]] : known.length === 2 ? [known[0], 1, known[1]] : known;
  const count = Math.floor(((last ?? 0) - (first ?? 0)) / (step || 1)) + 1;
  return count > MAX_SEQUENCE || step === 0
    ? null
    : Array.from({ length: Math.max(0, count) }, (_, index) => (first ?? 0) + index * (step ?? 1)).join('\n');
}
