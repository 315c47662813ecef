import { shellNumber } from './arithmetic';
import { directoryOf, joinPath } from './sources';

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
  expr: ([a, operator, b, ...rest]) => (rest.length === 0 ? calculated([a, operator, b].join(' ')) : null),
  bc: (_, stdin) => (stdin === null ? null : calculated(stdin)),
  tr: (args, stdin) => translated(args, stdin),
  wc: (args, stdin) => counted(args, stdin),
  cut: (args, stdin) => fieldOf(args, stdin),
  sed: (args, stdin) => substituted(args, stdin),
  xargs: (args, stdin) => (args.length === 0 && stdin !== null ? stdin.trim().split(/\s+/).join(' ') : null),
  awk: (args, stdin) => numberOfFields(args, stdin),
};

/** The commands that change characters where they stand: what they read may be known in part. */
export const LOCAL_FILTERS: ReadonlySet<string> = new Set(['tr', 'sed']);

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

/** The result of one whole-number operation such as `8 * 4`. */
function calculated(text: string): string | null {
  const operation = /^\s*(-?\d+)\s*([-+*/%])\s*(-?\d+)\s*$/.exec(text);
  if (!operation) {
    return shellNumber(text) === null ? null : text.trim();
  }
  const [, a, operator, b] = operation;
  const [x, y] = [Number(a), Number(b)];
  const results: Readonly<Record<string, number>> = {
    '+': x + y,
    '-': x - y,
    '*': x * y,
    '/': Math.trunc(x / y),
    '%': x % y,
  };
  const result = results[operator ?? ''] ?? Number.NaN;
  return Number.isSafeInteger(result) ? String(result) : null;
}

function translated(args: readonly string[], stdin: string | null): string | null {
  const [from, to] = args.map((arg) => arg.replaceAll('\\n', '\n').replaceAll('\\t', '\t'));
  if (stdin === null || from === undefined) {
    return null;
  }
  if (from === '-d') {
    return to === undefined || to.length > 8
      ? null
      : [...stdin].filter((character) => !to.includes(character)).join('');
  }
  if (/^(A-Z|\[:upper:\])$/.test(from) && /^(a-z|\[:lower:\])$/.test(to ?? '')) {
    return stdin.toLowerCase();
  }
  if (/^(a-z|\[:lower:\])$/.test(from) && /^(A-Z|\[:upper:\])$/.test(to ?? '')) {
    return stdin.toUpperCase();
  }
  return from.length === 1 && to?.length === 1 ? stdin.replaceAll(from, () => to) : null;
}

function counted(args: readonly string[], stdin: string | null): string | null {
  if (stdin === null || args.length !== 1) {
    return null;
  }
  const words = stdin.split(/\s+/).filter((part) => part !== '').length;
  // the shell drops the line break that ends the output, the command itself prints one
  const lines = stdin === '' ? 0 : stdin.replace(/\n$/, '').split('\n').length;
  return args[0] === '-w' ? String(words) : args[0] === '-l' ? String(lines) : null;
}

function fieldOf(args: readonly string[], stdin: string | null): string | null {
  const options = args.join(' ');
  const match = /^-d\s*(\S)\s+-f\s*(\d+)$|^-f\s*(\d+)\s+-d\s*(\S)$/.exec(options);
  if (!match || stdin === null) {
    return null;
  }
  const [delimiter = '', field] = [match[1] ?? match[4], Number(match[2] ?? match[3])];
  return stdin
    .split('\n')
    .map((line) => line.split(delimiter)[field - 1] ?? '')
    .join('\n');
}

/** `awk -F, '{print NF}'`: how many fields a line has. */
function numberOfFields(args: readonly string[], stdin: string | null): string | null {
  const match = /^-F ?(\S) ?\{ ?print NF ?;? ?\}$/.exec(args.join(' ').replaceAll(/\s+/g, ' '));
  const delimiter = match?.[1];
  return delimiter === undefined || stdin === null || stdin.trim().includes('\n')
    ? null
    : String(stdin.trim().split(delimiter).length);
}

/**
 * `sed 's/-Instruct//g; s#a/b#c#; s/  \\+/ /g'`, with patterns of plain characters of which one may repeat; null for other
 * commands.
 */
function substituted(args: readonly string[], stdin: string | null): string | null {
  const [script = ''] = args.filter((arg) => arg !== '-e');
  if (stdin === null || args.length > 2 || script.length > MAX_SED) {
    return null;
  }
  let text: string | null = stdin;
  for (const command of script.split(';')) {
    text = text && substitutedOnce(text, command.trim());
  }
  return text;
}

/** The longest `sed` command that is followed, in UTF-16 units: each character of its pattern is tried at each of the text. */
const MAX_SED = 200;

function substitutedOnce(text: string, command: string): string | null {
  const delimiter = /^s[/#|]/.test(command) ? command.charAt(1) : null;
  const [, from = '', to = '', all = '', ...rest] = delimiter === null ? [] : command.split(delimiter);
  const isFollowed = /^[\w:@ /-]+(\\\+)?$/.test(from) && /^[\w:@. /-]*$/.test(to) && /^g?$/.test(all);
  return isFollowed && rest.length === 0 && delimiter !== null && command.split(delimiter).length === 4
    ? text.replace(new RegExp(from.replace('\\+', '+'), all), () => to)
    : null;
}
