import { type Place, type Reason, reasonText } from '../../value';

export type { Place } from '../../value';

/**
 * Why a text is not known: `unset` variables come from the environment, `positional` ones from the command line;
 * `branch`: a condition that is not known decides; `command`: the output of a command; `file`: a file that was not found.
 */
type UnknownKind = 'unset' | 'positional' | 'branch' | 'command' | 'file';

/** Text that is known, character by character. */
interface TextPiece {
  readonly kind: 'text';
  readonly text: string;
  readonly place: Place;
  /** Whether quotes keep the shell from splitting it into words. */
  readonly quoted: boolean;
}

/** Text that is not known. */
export interface UnknownPiece {
  readonly kind: 'unknown';
  readonly why: UnknownKind;
  /** What was looked for, such as `TP` or `nvidia-smi`. */
  readonly name: string;
  readonly quoted: boolean;
}

/** Something of which one of several alternatives holds; which one depends on a condition that is not known. */
interface Alternatives<T> {
  readonly kind: 'choice';
  readonly options: readonly T[];
  readonly reason: Reason;
  /** How many pieces there are in all alternatives together: choices of choices would grow without end. */
  readonly weight: number;
}

/** Text of which one of several alternatives holds. */
interface ChoicePiece extends Alternatives<Text> {
  readonly quoted: boolean;
}

export type Piece = TextPiece | UnknownPiece | ChoicePiece;

/** What a word or a variable holds. */
export type Text = readonly Piece[];

/** One argument of a command. */
export interface Word {
  readonly kind: 'word';
  readonly text: Text;
}

/** Arguments of which one of several lists holds. */
export type Choice = Alternatives<readonly Arg[]>;

export type Arg = Word | Choice;

/** What a shell variable holds. */
export type Variable =
  | { readonly kind: 'scalar'; readonly text: Text }
  | { readonly kind: 'array'; readonly items: readonly Arg[] }
  | { readonly kind: 'unset' };

/** More words than any script passes on. */
export const MAX_WORDS = 10_000;

/** More pieces than any script builds a text of: beyond it, a text counts as unknown. */
export const MAX_PIECES = 4_000;

/** More alternatives than a choice of words or texts keeps; beyond it, it is not known. */
const MAX_WEIGHT = 400;

/** More characters than any script builds a text of. */
const MAX_CHARACTERS = 1_000_000;

export function textAt(text: string, place: Place, quoted = false): Text {
  return text === '' && !quoted ? [] : [{ kind: 'text', text, place, quoted }];
}

export function unknownText(why: UnknownKind, name: string, quoted = false): Text {
  return [{ kind: 'unknown', why, name, quoted }];
}

export function word(text: Text): Word {
  return { kind: 'word', text };
}

/** The characters of a text, or null where some of it is not known. */
export function literal(text: Text): string | null {
  const [only] = text;
  if (text.length === 1 && only?.kind === 'text') {
    return only.text;
  }
  let all = '';
  for (const piece of text) {
    if (piece.kind === 'text') {
      all += piece.text;
    } else {
      const chosen = piece.kind === 'choice' ? agreed(piece) : null;
      if (chosen === null) {
        return null;
      }
      all += chosen;
    }
  }
  return all;
}

/** The characters of an argument, or null where it is not known. */
export function textOf(arg: Arg | undefined): string | null {
  return arg?.kind === 'word' ? literal(arg.text) : null;
}

/** The one text that all alternatives of a choice have, or null where they differ. */
function agreed({ options }: ChoicePiece): string | null {
  const texts = new Set(options.map(literal));
  const [only = null] = texts;
  return texts.size === 1 ? only : null;
}

/** Where the first characters of a text are written, or null for an empty text. */
export function placeOf(text: Text): Place | null {
  const first = text.find((piece) => piece.kind === 'text' && piece.text !== '');
  return first?.kind === 'text' ? first.place : null;
}

/** Whether nothing but a variable that nobody set stands in a text: it is empty unless the caller's environment has it. */
export function isUnset(text: Text): boolean {
  return (
    text.length > 0 &&
    text.every(
      (piece) =>
        (piece.kind === 'unknown' && (piece.why === 'unset' || piece.why === 'positional')) ||
        (piece.kind === 'text' && piece.text === ''),
    )
  );
}

/** What keeps a text from being known; null where it is known. */
export function whyUnknown(text: Text): Reason | null {
  for (const piece of text) {
    if (piece.kind === 'unknown') {
      return reasonOf(piece);
    }
    if (piece.kind === 'choice' && agreed(piece) === null) {
      return piece.reason;
    }
  }
  return null;
}

/** The first piece of a text that is not known, or what keeps it from being known as one. */
export function unknownIn(text: Text, otherwise: string): UnknownPiece {
  const why = whyUnknown(text);
  return (
    text.find((piece) => piece.kind === 'unknown') ?? {
      kind: 'unknown',
      why: 'branch',
      name: why === null ? otherwise : reasonText(why),
      quoted: false,
    }
  );
}

/** Why a piece is not known. */
function reasonOf({ why, name }: UnknownPiece): Reason {
  switch (why) {
    case 'unset':
      return { variable: name };
    case 'positional':
      return { argument: name };
    case 'command':
      return `output of ${name}`;
    case 'file':
      return { missing: `file ${name}` };
    case 'branch':
      return name;
  }
}

/** How many characters a text has; what is not known counts as one. */
export function sizeOf(text: Text): number {
  let characters = 0;
  for (const piece of text) {
    characters += piece.kind === 'text' ? piece.text.length : 1;
  }
  return characters;
}

/** A text of bounded size. */
export function bounded(text: Text): Text {
  return text.length > MAX_PIECES || sizeOf(text) > MAX_CHARACTERS ? unknownText('branch', 'a very long text') : text;
}

/** A list of bounded length; what is beyond it is not known. */
export function boundedList(args: readonly Arg[]): readonly Arg[] {
  return args.length > MAX_WORDS
    ? [...args.slice(0, MAX_WORDS), word(unknownText('branch', 'a very long list'))]
    : args;
}

/** The same text inside or outside quotes. */
export function quotedAs(text: Text, quoted: boolean): Text {
  return text.every((piece) => piece.quoted === quoted) ? text : text.map((piece) => ({ ...piece, quoted }));
}

/** Splits a text into words where unquoted blanks stand, as the shell does after expanding it. */
export function splitWords(text: Text): Arg[] {
  const [only] = text;
  if (text.length === 1 && only?.kind === 'text' && (only.quoted || /^\S+$/.test(only.text))) {
    return [word(text)];
  }
  const args: Arg[] = [];
  let open: Piece[] | null = null;
  const close = () => {
    if (open) {
      args.push(word(open));
      open = null;
    }
  };
  text.forEach((piece, index) => {
    if (piece.kind === 'text' && !piece.quoted) {
      for (const part of wordsOf(piece)) {
        if (part === null) {
          close();
        } else {
          open = [...(open ?? []), part];
        }
      }
      return;
    }
    if (piece.kind === 'choice' && !piece.quoted && open === null && startsWord(text[index + 1])) {
      args.push(choiceOfWords(piece));
      return;
    }
    open = [...(open ?? []), piece];
  });
  close();
  return args;
}

/** Whether a piece leaves the word before it alone: there is none, or it begins with a blank. */
function startsWord(piece: Piece | undefined): boolean {
  return piece === undefined || (piece.kind === 'text' && !piece.quoted && /^\s/.test(piece.text));
}

function choiceOfWords({ options, reason, weight }: ChoicePiece): Choice {
  return { kind: 'choice', reason, weight, options: options.map((option) => splitWords(quotedAs(option, false))) };
}

function weightOf(items: readonly (Piece | Arg)[]): number {
  const weights = items.map((item) =>
    item.kind === 'choice' ? item.weight : item.kind === 'word' ? weightOf(item.text) : 1,
  );
  return weights.reduce((total, weight) => total + weight, 0);
}

/** One of several texts; unknown where there are too many. */
export function choiceOfTexts(options: readonly Text[], reason: Reason): Piece {
  const weight = 1 + weightOf(options.flat());
  return weight > MAX_WEIGHT
    ? { kind: 'unknown', why: 'branch', name: reasonText(reason), quoted: false }
    : { kind: 'choice', options, reason, weight, quoted: false };
}

/** One of several lists of arguments; unknown where there are too many. */
function choiceOfArgs(options: readonly (readonly Arg[])[], reason: Reason): Arg {
  const weight = 1 + weightOf(options.flat());
  return weight > MAX_WEIGHT
    ? word(unknownText('branch', reasonText(reason)))
    : { kind: 'choice', options, reason, weight };
}

/** The words of unquoted text, each at its place; null stands for the blanks between them. */
function* wordsOf(piece: TextPiece): Iterable<TextPiece | null> {
  for (const match of piece.text.matchAll(/\s+|\S+/g)) {
    const [text] = match;
    if (/^\s/.test(text)) {
      yield null;
    } else {
      yield { ...piece, text, place: { ...piece.place, offset: piece.place.offset + match.index } };
    }
  }
}

/** Whether two lists hold the same. */
function sameItems<T>(a: readonly T[], b: readonly T[], same: (x: T, y: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((item, index) => same(item, b[index] as T)));
}

function sameArg(a: Arg, b: Arg): boolean {
  if (a.kind === 'word') {
    return b.kind === 'word' && sameText(a.text, b.text);
  }
  return b.kind === 'choice' && sameItems(a.options, b.options, (x, y) => sameItems(x, y, sameArg));
}

/** Whether two texts hold the same, written at the same places or not. */
export function sameText(a: Text, b: Text): boolean {
  return sameItems(a, b, samePiece);
}

function samePiece(a: Piece, b: Piece): boolean {
  if (a === b) {
    return true;
  }
  if (a.kind === 'text') {
    return b.kind === 'text' && a.text === b.text && a.quoted === b.quoted;
  }
  if (a.kind === 'unknown') {
    return b.kind === 'unknown' && a.why === b.why && a.name === b.name && a.quoted === b.quoted;
  }
  return b.kind === 'choice' && sameItems(a.options, b.options, sameText);
}

/** What a variable holds when either of two branches may have run. */
export function mergeVariables(
  a: Variable | undefined,
  b: Variable | undefined,
  name: string,
  reason: string,
): Variable {
  if (a && b && a.kind === 'array' && b.kind === 'array') {
    return a === b
      ? a
      : {
          kind: 'array',
          items: boundedList(mergeLists(a.items, b.items, sameArg, (x, y) => choiceOfArgs([x, y], reason))),
        };
  }
  if (a?.kind === 'array' || b?.kind === 'array') {
    return mergeVariables(asArray(a), asArray(b), name, reason);
  }
  const texts = [a, b].map((variable) => scalarOf(variable, name));
  const [x = [], y = []] = texts;
  if (sameText(x, y)) {
    return a ?? b ?? { kind: 'unset' };
  }
  return { kind: 'scalar', text: bounded(mergeLists(x, y, samePiece, (p, q) => choiceOfTexts([p, q], reason))) };
}

function asArray(variable: Variable | undefined): Variable {
  if (variable?.kind === 'array') {
    return variable;
  }
  return { kind: 'array', items: variable?.kind === 'scalar' ? [word(variable.text)] : [] };
}

/** The text of a variable that is no list; a variable that nobody set is the environment's. */
function scalarOf(variable: Variable | undefined, name: string): Text {
  if (variable === undefined) {
    return unknownText('unset', name);
  }
  return variable.kind === 'scalar' ? variable.text : [];
}

/** Two lists as one: what they begin and end with in common, and between it a choice. */
function mergeLists<T>(
  a: readonly T[],
  b: readonly T[],
  same: (x: T, y: T) => boolean,
  choice: (x: readonly T[], y: readonly T[]) => T,
): readonly T[] {
  let start = 0;
  while (start < a.length && start < b.length && same(a[start] as T, b[start] as T)) {
    start++;
  }
  if (start === a.length && start === b.length) {
    return a;
  }
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    same(a[a.length - 1 - end] as T, b[b.length - 1 - end] as T)
  ) {
    end++;
  }
  return [
    ...a.slice(0, start),
    choice(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end),
  ];
}
