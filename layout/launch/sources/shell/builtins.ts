import type { Command } from 'unbash';
import { joinPath } from '../paths';
import { declare } from './assignments';
import { DONE, type Outcome, UNKNOWN } from './commandOutcome';
import { commandVerdict } from './conditions';
import { joined } from './expand';
import type { Shell } from './shell';
import { type Arg, bounded, literal, placeOf, type Text, textAt, textOf, unknownText } from './words';

/** What builtins need of the interpreter. */
export interface BuiltinShell extends Shell {
  /** What the command reads; null where it is given nothing. */
  readonly stdin: Text | null;
  /** Whether the commands run inside a substitution. */
  readonly isCaptured: boolean;
  print(text: Text): void;
  /** Follows a file as a part of the script. */
  sourced(args: readonly Arg[]): Outcome;
  /** Follows a text of commands. */
  evaluate(text: Text): Outcome;
}

type Builtin = (shell: BuiltinShell, args: readonly Arg[], node: Command) => Outcome;

/** The builtins whose effect on the script is followed. */
export const BUILTINS: Readonly<Record<string, Builtin>> = {
  __proto__: null as never,
  ':': () => DONE,
  true: () => DONE,
  false: () => ({ verdict: false, signal: null }),
  exit: (shell, [status]) => {
    const isFailure = /^[1-9]/.test(textOf(status) ?? '');
    return { verdict: null, signal: shell.isCaptured ? null : isFailure ? 'refuse' : 'exit' };
  },
  return: () => ({ verdict: null, signal: 'return' }),
  break: () => ({ verdict: true, signal: 'break' }),
  continue: () => ({ verdict: true, signal: 'continue' }),
  set: setPositional,
  shopt: () => DONE,
  trap: () => DONE,
  ulimit: () => DONE,
  wait: () => DONE,
  local: (shell, _, node) => declare(shell, 'local', node.args),
  unset: (shell, args) => {
    for (const arg of args) {
      const name = textOf(arg);
      if (name !== null && !name.startsWith('-')) {
        shell.assign(name, { kind: 'unset' });
      }
    }
    return DONE;
  },
  shift: (shell, args) => {
    const count = Number(textOf(args[0]) ?? 1);
    if (shell.state.positional) {
      shell.state.positional = shell.state.positional.slice(Number.isInteger(count) ? count : 1);
    }
    return DONE;
  },
  getopts: () => ({ verdict: false, signal: null }),
  cd: changeDirectory,
  pushd: changeDirectory,
  popd: (shell) => {
    shell.state.directory = null;
    return DONE;
  },
  pwd: (shell) => {
    shell.print(
      shell.state.directory === null
        ? unknownText('command', '`pwd`')
        : textAt(shell.state.directory, shell.source.place(0)),
    );
    return DONE;
  },
  echo: (shell, args) => {
    const options = args.findIndex((arg) => !/^-[neE]+$/.test(textOf(arg) ?? ''));
    shell.print(joined(options < 0 ? [] : args.slice(options)));
    return DONE;
  },
  printf,
  test: (shell, args) => ({ verdict: commandVerdict(shell, args), signal: null }),
  '[': (shell, args) => ({ verdict: commandVerdict(shell, args.slice(0, -1)), signal: null }),
  source: (shell, args) => shell.sourced(args),
  '.': (shell, args) => shell.sourced(args),
  eval: (shell, args) => shell.evaluate(joined(args)),
  read,
  mapfile: read,
  readarray: read,
  let: (shell, args) => {
    for (const arg of args) {
      shell.evaluate(
        arg.kind === 'word'
          ? [...textAt('((', shell.source.place(0)), ...arg.text, ...textAt('))', shell.source.place(0))]
          : [],
      );
    }
    return DONE;
  },
};

function setPositional(shell: BuiltinShell, args: readonly Arg[]): Outcome {
  const start = args.findIndex((arg) => textOf(arg) === '--');
  if (start >= 0) {
    shell.state.positional = args.slice(start + 1);
  }
  return DONE;
}

function changeDirectory(shell: BuiltinShell, args: readonly Arg[]): Outcome {
  const path = args.find((arg) => !/^(--|-[LPe])$/.test(textOf(arg) ?? ''));
  const known = textOf(path);
  const base = shell.state.directory ?? '';
  shell.state.directory = known === null ? null : joinPath(base, known);
  return DONE;
}

function printf(shell: BuiltinShell, args: readonly Arg[]): Outcome {
  const [format, ...rest] = args;
  const [known, target] = [format, rest[0]].map(textOf);
  if (known === '-v' && typeof target === 'string') {
    shell.assign(target, { kind: 'scalar', text: formatted(shell, rest.slice(1)) });
    return DONE;
  }
  shell.print(formatted(shell, args));
  return DONE;
}

/** What `printf FORMAT WORD...` prints, for formats of plain `%s` and `%d` with a word each. */
function formatted(shell: BuiltinShell, [format, ...words]: readonly Arg[]): Text {
  const known = textOf(format);
  const parts = known?.split(/%[sd]/) ?? [];
  if (format?.kind !== 'word' || parts.length !== words.length + 1 || parts.some((part) => /[%\\](?!n$)/.test(part))) {
    return unknownText('command', '`printf`');
  }
  const place = placeOf(format.text) ?? shell.source.place(0);
  return bounded(
    parts.flatMap((part, index) => {
      const next = words[index];
      const plain = part.replace(/\\n$/, '\n');
      return [
        ...(plain === '' ? [] : textAt(plain, place)),
        ...(next?.kind === 'word' ? next.text : next ? unknownText('command', '`printf`') : []),
      ];
    }),
  );
}

/** `read`: what it reads is known from a here-string alone. */
function read(shell: BuiltinShell, args: readonly Arg[]): Outcome {
  const names = args.flatMap((arg) => textOf(arg) ?? []);
  const known = shell.stdin === null ? null : literal(shell.stdin);
  const separator = shell.state.variables.get('IFS');
  const ifs = separator?.kind === 'scalar' ? (literal(separator.text) ?? ' ') : ' ';
  const targets = names.filter((one) => /^[A-Za-z_]\w*$/.test(one));
  // in front of the variable stands what ends the text: `-d EOF`
  const target = targets.at(-1);
  if (shell.stdin && target && names.includes('-d')) {
    shell.assign(target, { kind: 'scalar', text: shell.stdin });
    return DONE;
  }
  if (known !== null && targets.length > 0 && !names.some((name) => /^-\w*[adnNtu]/.test(name))) {
    assignFields(shell, known, targets, ifs);
    return DONE;
  }
  for (const name of targets) {
    shell.assign(name, { kind: 'scalar', text: unknownText('command', '`read`') });
  }
  return UNKNOWN;
}

/** What `read` makes of a line: one field a variable, the rest for the last. */
function assignFields(shell: BuiltinShell, known: string, targets: readonly string[], ifs: string): void {
  const place = (shell.stdin && placeOf(shell.stdin)) || shell.source.place(0);
  const line = known.split('\n')[0] ?? '';
  const fields = ifs.trim() === '' ? line.trim().split(/\s+/) : line.split(ifs.charAt(0));
  const separator = ifs.trim() === '' ? ' ' : ifs.charAt(0);
  targets.forEach((name, index) => {
    const field = index === targets.length - 1 ? fields.slice(index).join(separator) : (fields[index] ?? '');
    shell.assign(name, { kind: 'scalar', text: textAt(field, place) });
  });
}
