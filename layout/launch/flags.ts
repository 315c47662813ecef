import { type Option, Options } from './options';
import {
  type Arg,
  literal,
  type Place,
  placeOf,
  type Text,
  type UnknownPiece,
  whyUnknown,
} from './sources/shell/words';
import type { Reason } from './value';

/** How a program reads its command line. */
interface FlagStyle {
  /** Switches that take no value, by their names with underscores. */
  readonly switches?: ReadonlySet<string>;
  /** Whether `key=value` words set options, as Hydra reads them. */
  readonly overrides?: boolean;
}

interface Reading {
  /** What was read, or in a branch, what it changes of what was read before it. */
  readonly options: Map<string, Option>;
  readonly before: Reading | null;
  readonly positional: { readonly text: string | null; readonly place: Place }[];
  current: string | null;
  blocked: Reason | null;
}

/** The flags of a command line; the last of a name wins, as with argparse. */
interface FlagLine {
  readonly options: Options;
  /** Words that belong to no flag, in order; null where one is not known. */
  readonly positional: readonly { readonly text: string | null; readonly place: Place }[];
}

/**
 * Reads the flags of a command line. Flags that only one branch of an unknown condition gives are unknown; unknown words
 * where a flag could stand make absent flags unknown, unless only the caller's environment could fill them.
 */
export function readFlags(args: readonly Arg[], fallback: Place, style: FlagStyle = {}): FlagLine {
  const reading: Reading = { options: new Map(), before: null, positional: [], current: null, blocked: null };
  readArgs(args, reading, fallback, style);
  return { options: new Options(reading.options, reading.blocked), positional: reading.positional };
}

function readArgs(args: readonly Arg[], reading: Reading, fallback: Place, style: FlagStyle): void {
  for (const arg of args) {
    if (arg.kind === 'word') {
      readWord(arg.text, reading, fallback, style);
      continue;
    }
    const branches = arg.options.map((option): Reading => {
      const branch: Reading = { ...reading, options: new Map(), before: reading, positional: [] };
      readArgs(option, branch, fallback, style);
      return branch;
    });
    merge(reading, branches, arg.reason, fallback);
  }
}

/** Keeps what all branches agree on; what they differ in is unknown. */
function merge(reading: Reading, branches: readonly Reading[], reason: Reason, fallback: Place): void {
  const [first] = branches;
  if (!first) {
    return;
  }
  for (const name of new Set(branches.flatMap(({ options }) => [...options.keys()]))) {
    const given = branches.map((branch) => optionIn(branch, name));
    const [one] = given;
    const same = one !== undefined && given.every((other) => other !== undefined && sameOption(one, other));
    const place = given.find((option) => option !== undefined)?.place ?? fallback;
    reading.options.set(name, same ? one : { values: [], places: [], place, unknown: reason });
  }
  reading.current = branches.every(({ current }) => current === first.current) ? first.current : null;
  reading.blocked ??= branches.find(({ blocked }) => blocked !== null)?.blocked ?? null;
}

function sameOption(a: Option, b: Option): boolean {
  return (
    a === b ||
    (a.unknown === null &&
      b.unknown === null &&
      a.values.length === b.values.length &&
      a.values.every((value, index) => value === b.values[index]))
  );
}

function readWord(text: Text, reading: Reading, fallback: Place, style: FlagStyle): void {
  const place = placeOf(text) ?? fallback;
  const start = text[0]?.kind === 'text' ? text[0].text : '';
  const known = literal(text);
  const flag = /^--?([A-Za-z][\w.-]*)(=|$)/.exec(known ?? start);
  const override = style.overrides ? /^(?:\+\+?)?([A-Za-z_][\w.@/-]*)=/.exec(known ?? start) : null;
  if (flag?.[1] !== undefined && isFlagWord(known ?? start)) {
    const name = flag[1].replaceAll('-', '_');
    const hasValue = flag[2] === '=';
    reading.options.set(name, optionAt(place));
    reading.current = hasValue || style.switches?.has(name) ? null : name;
    if (hasValue) {
      addValue(reading, name, text, flag[0].length, place);
    }
  } else if (override?.[1] !== undefined) {
    reading.current = null;
    reading.options.set(override[1], optionAt(place));
    addValue(reading, override[1], text, override[0].length, place);
  } else if (style.overrides && /^~/.test(known ?? '')) {
    reading.options.delete((known ?? '').slice(1));
  } else if (reading.current !== null && !isOpaque(text, reading)) {
    addValue(reading, reading.current, text, 0, place);
  } else if (known === null) {
    block(reading, text);
    reading.positional.push({ text: null, place });
  } else {
    reading.positional.push({ text: known, place });
  }
}

/** Whether a word is a flag rather than a value such as `-1`. */
function isFlagWord(word: string): boolean {
  return word.startsWith('--') || /^-[A-Za-z]/.test(word);
}

/** Whether an unknown word can be something else than the value of the flag before it. */
function isOpaque(text: Text, reading: Reading): boolean {
  const alone = text.length === 1 && text[0]?.kind === 'unknown' && !text[0].quoted;
  return alone && reading.current !== null && (optionIn(reading, reading.current)?.values.length ?? 0) > 0;
}

/** An option as a reading has it, or one before its branch. */
function optionIn(reading: Reading, name: string): Option | undefined {
  for (let one: Reading | null = reading; one; one = one.before) {
    const option = one.options.get(name);
    if (option) {
      return option;
    }
  }
  return undefined;
}

/** Unknown words that only the caller's environment or arguments fill are empty where it does not; others may be any flag. */
function block(reading: Reading, text: Text): void {
  const piece = text.find((one): one is UnknownPiece => one.kind === 'unknown');
  if (piece?.why !== 'unset' && piece?.why !== 'positional') {
    reading.blocked ??= whyUnknown(text);
  }
}

function optionAt(place: Place): Option {
  return { values: [], places: [], place, unknown: null };
}

function addValue(reading: Reading, name: string, text: Text, skip: number, place: Place): void {
  const option = optionIn(reading, name) ?? optionAt(place);
  const rest = dropCharacters(text, skip);
  reading.options.set(name, {
    ...option,
    values: [...option.values, literal(rest)],
    places: [...option.places, placeOf(rest) ?? place],
    unknown: option.unknown ?? whyUnknown(rest),
  });
}

/** A text without its first known characters. */
function dropCharacters(text: Text, count: number): Text {
  let left = count;
  return text.flatMap((piece) => {
    if (left === 0 || piece.kind !== 'text') {
      return [piece];
    }
    const dropped = Math.min(left, piece.text.length);
    left -= dropped;
    const place = { ...piece.place, offset: piece.place.offset + dropped };
    return dropped === piece.text.length ? [] : [{ ...piece, text: piece.text.slice(dropped), place }];
  });
}
