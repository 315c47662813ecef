import { runScript, type ScriptRun } from './shell/interpreter';
import type { Invocation } from './shell/shell';
import { type Arg, type Place, type Variable, word } from './shell/words';

/** A program that a script started when it was run with recording stand-ins. */
export interface ObservedCommand {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** The longest record, and the longest list of commands, that is read of a run. */
const MAX_RECORD = 1024 * 1024;

/**
 * Reads one record of a stand-in: the number of words, the words, the environment as `NAME=value`, and an empty entry, each
 * ended by NUL. Null where the record is not whole.
 */
export function parseObserved(text: string): ObservedCommand | null {
  const parts = text.slice(0, MAX_RECORD).split('\0');
  const count = /^\d{1,6}$/.test(parts[0] ?? '') ? Number(parts[0]) : 0;
  const end = parts.indexOf('', 1 + count);
  if (count === 0 || end < 0) {
    return null;
  }
  const environment = parts.slice(1 + count, end).flatMap((entry): [string, string][] => {
    const at = entry.indexOf('=');
    return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
  });
  return { args: parts.slice(1, 1 + count), environment: Object.fromEntries(environment) };
}

/** An observed run in the form of one that was read statically; each word is placed at the flag before it. */
export function observedRun(file: string, text: string, commands: readonly ObservedCommand[]): ScriptRun {
  const invocations = commands.map(({ args, environment }): Invocation => {
    let place: Place = { file, offset: Math.max(0, text.indexOf(args[0] ?? '')) };
    const start = place;
    const words = args.map((arg): Arg => {
      const offset = arg.startsWith('-') ? text.indexOf(arg.split('=')[0] ?? arg) : -1;
      place = offset < 0 ? place : { file, offset };
      return word([{ kind: 'text', text: arg, place, quoted: true }]);
    });
    const variables = Object.entries(environment).map(([name, value]): [string, Variable] => [
      name,
      { kind: 'scalar', text: [{ kind: 'text', text: value, place: start, quoted: true }] },
    ]);
    return { args: words, variables: new Map(variables), place: start, stdin: null, outer: [] };
  });
  return { ...runScript(file, '', () => null), invocations };
}
