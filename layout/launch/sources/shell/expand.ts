import type {
  ArithmeticExpression,
  ArithmeticWord,
  HereDocBody,
  ParameterExpansionPart,
  ParameterOperation,
  Word as SyntaxWord,
  WordPart,
} from 'unbash';
import { type ArithmeticScope, evaluateArithmetic, shellNumber } from './arithmetic';
import { matchingWork, removeMatch } from './patterns';
import type { Shell } from './shell';
import {
  type Arg,
  bounded,
  boundedList,
  choiceOfTexts,
  isUnset,
  literal,
  MAX_PIECES,
  MAX_WORDS,
  type Piece,
  placeOf,
  quotedAs,
  sizeOf,
  splitWords,
  type Text,
  textAt,
  type UnknownPiece,
  unknownIn,
  unknownText,
  type Variable,
  whyUnknown,
  word,
} from './words';

/** What an expansion yields: one text, or a list whose items stay apart. */
type Expanded = { readonly text: Text } | { readonly items: readonly Arg[] };

/** What a word is cut into while it is expanded: pieces, whole arguments, and `null` where one argument ends. */
type Token = Piece | Arg | null;

/** What an item of a list takes, in characters that are copied. */
const WORD_WORK = 10;

/** The arguments that a word becomes after expansion and splitting. */
export function expandArgs(shell: Shell, syntax: SyntaxWord): Arg[] {
  if (isPlain(syntax) || !syntax.parts) {
    return [word(textAt(syntax.value, shell.source.place(syntax.pos), true))];
  }
  const args: Arg[] = [];
  let text: Piece[] = [];
  const close = () => {
    shell.spend(sizeOf(text));
    for (const arg of splitWords(bounded(text))) {
      args.push(arg);
    }
    text = [];
  };
  const all = gathered(syntax.parts, MAX_WORDS, (part) => tokens(shell, part, false));
  shell.spend(WORD_WORK * all.length);
  if (all.length > MAX_WORDS) {
    return [word(unknownText('branch', 'a very long list'))];
  }
  for (const token of all) {
    if (token === null || token.kind === 'word' || isChoiceArg(token)) {
      close();
      if (token) {
        args.push(token);
      }
    } else {
      text.push(token);
    }
  }
  close();
  return args;
}

/** Whether a word holds nothing to expand: the parser is then spared to look for its parts, which most of a script's words lack. */
function isPlain({ text }: SyntaxWord): boolean {
  return /^[\w./:=,@%+-]+$|^[[\]]$/.test(text);
}

/** The arguments that words become, as many as any script passes on. */
export function expandList(shell: Shell, words: readonly SyntaxWord[]): readonly Arg[] {
  return boundedList(gathered(words, MAX_WORDS, (one) => expandArgs(shell, one)));
}

/** What parts become, in one list; it ends with the part that makes it longer than `most`. */
export function gathered<Part, Item>(
  parts: readonly Part[],
  most: number,
  make: (part: Part) => readonly Item[],
): readonly Item[] {
  const lists: (readonly Item[])[] = [];
  let length = 0;
  for (const part of parts) {
    const list = make(part);
    lists.push(list);
    length += list.length;
    if (length > most) {
      break;
    }
  }
  const [only] = lists;
  // `concat` copies thousands of items much faster than `flatMap`
  return lists.length === 1 && only ? only : ([] as readonly Item[]).concat(...lists);
}

function isChoiceArg(token: Piece | Arg): token is Extract<Arg, { kind: 'choice' }> {
  return token.kind === 'choice' && !('quoted' in token);
}

/** The text that a word becomes where it is not split: in assignments, tests and here-documents. */
export function expandText(shell: Shell, syntax: SyntaxWord | HereDocBody): Text {
  if (syntax.type === 'HereDocBody' && !syntax.parts) {
    return bounded(literalPieces(shell, syntax, false));
  }
  if (syntax.type === 'Word' && (isPlain(syntax) || !syntax.parts)) {
    return textAt(syntax.value, shell.source.place(syntax.pos));
  }
  const text = textOfParts(shell, syntax.parts ?? [], syntax.type === 'HereDocBody');
  shell.spend(sizeOf(text));
  return bounded(text);
}

/** The text of an array's items with a blank, or another character, between them. */
export function joined(items: readonly Arg[], quoted = false, separator = ' '): Text {
  const space: Piece = { kind: 'text', text: separator, place: { file: '', offset: 0 }, quoted };
  return bounded(
    items.flatMap((item, index): Piece[] => [
      ...(index > 0 ? [space] : []),
      ...(item.kind === 'word'
        ? quotedAs(item.text, quoted)
        : quotedAs(
            [
              choiceOfTexts(
                item.options.map((one) => joined(one)),
                item.reason,
              ),
            ],
            quoted,
          )),
    ]),
  );
}

/** What an expansion yields as one text. */
function textIn(expanded: Expanded): Text {
  return 'text' in expanded ? expanded.text : joined(expanded.items);
}

function textOfParts(shell: Shell, parts: readonly WordPart[], heredoc: boolean): Text {
  return gathered(parts, MAX_PIECES, (part) => partText(shell, part, heredoc));
}

function partText(shell: Shell, part: WordPart, heredoc: boolean): Text {
  if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') {
    return textOfParts(shell, part.parts, true);
  }
  if (part.type === 'Literal' && heredoc) {
    return literalPieces(shell, part, false);
  }
  const expanded = expandPart(shell, part);
  return 'text' in expanded
    ? quotedAs(expanded.text, false)
    : joined(expanded.items, false, starSeparator(shell, part) ?? ' ');
}

/** What stands between the items of `$*` and `${a[*]}` in double quotes, the first character of IFS; null for other parts. */
function starSeparator(shell: Shell, part: WordPart): string | null {
  const isStar =
    (part.type === 'SimpleExpansion' && part.text === '$*') ||
    (part.type === 'ParameterExpansion' && (part.parameter === '*' || part.index?.text === '*'));
  const ifs = shell.state.variables.get('IFS');
  const known = ifs?.kind === 'scalar' ? literal(ifs.text) : null;
  return isStar ? (known ?? ' ').charAt(0) : null;
}

function tokens(shell: Shell, part: WordPart, quoted: boolean): readonly Token[] {
  if (part.type === 'DoubleQuoted' || part.type === 'LocaleString') {
    const inner = gathered(part.parts, MAX_WORDS, (child) => tokens(shell, child, true));
    const keepsWord = part.parts.length === 0 || part.parts.some((child) => !isListExpansion(child));
    return inner.length === 0 && keepsWord ? [...textAt('', shell.source.place(part.pos), true)] : inner;
  }
  if (part.type === 'Literal' && quoted) {
    return literalPieces(shell, part, true);
  }
  const expanded = expandPart(shell, part);
  if ('text' in expanded) {
    const isOwnText = ['Literal', 'SingleQuoted', 'AnsiCQuoted'].includes(part.type);
    return [...quotedAs(expanded.text, quoted || isOwnText)];
  }
  const separator = quoted ? starSeparator(shell, part) : null;
  if (separator !== null) {
    return [...joined(expanded.items, true, separator)];
  }
  return expanded.items.flatMap((item, index): Token[] => [
    ...(index > 0 ? [null] : []),
    ...(item.kind === 'word' ? quotedAs(item.text, quoted) : [item]),
  ]);
}

function isListExpansion(part: WordPart): boolean {
  return (
    (part.type === 'SimpleExpansion' && part.text === '$@') ||
    (part.type === 'ParameterExpansion' && (part.parameter === '@' || part.index?.text === '@'))
  );
}

/**
 * Text in double quotes or a here-document, one piece from escape to escape, so that every character keeps its place: a backslash
 * at the end of a line joins it to the next, unless it is escaped itself.
 */
function literalPieces(shell: Shell, { text, pos }: { text: string; pos: number }, quoted: boolean): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  const end = (index: number) => {
    if (index > start) {
      pieces.push({ kind: 'text', text: text.slice(start, index), place: shell.source.place(pos + start), quoted });
    }
  };
  for (const { 1: escaped, index } of text.matchAll(/\\([$`"\\\n])/g)) {
    end(index);
    // the escaped character begins the next piece; a joined line leaves nothing
    start = index + (escaped === '\n' ? 2 : 1);
  }
  end(text.length);
  return pieces;
}

function expandPart(shell: Shell, part: WordPart): Expanded {
  switch (part.type) {
    case 'Literal':
    case 'Glob':
    case 'SingleQuoted':
    case 'AnsiCQuoted': {
      // the offset of quoted text is that of its first character
      const inside = part.type === 'SingleQuoted' ? 1 : part.type === 'AnsiCQuoted' ? 2 : 0;
      return { text: textAt(part.value, shell.source.place(part.pos + inside), part.type !== 'Literal') };
    }
    case 'SimpleExpansion':
      return parameter(shell, part.text.slice(1));
    case 'ParameterExpansion':
      return parameterExpansion(shell, part);
    case 'ArithmeticExpansion':
      return { text: arithmeticText(shell, part.expression, part.pos, part.text) };
    case 'CommandExpansion':
      return { text: part.script ? shell.capture(part.script) : unknownText('command', part.text) };
    case 'DoubleQuoted':
    case 'LocaleString':
      return { text: textOfParts(shell, part.parts, true) };
    case 'BraceExpansion':
      return { text: unknownText('branch', part.text) };
    default:
      return { text: textAt(part.text, shell.source.place(part.pos), true) };
  }
}

function arithmeticText(shell: Shell, expression: ArithmeticExpression | undefined, pos: number, text: string): Text {
  const scope = new Scope(shell);
  const value = expression ? evaluateArithmetic(expression, scope) : null;
  if (value !== null) {
    return textAt(String(value), shell.source.place(pos));
  }
  return [scope.unknown ?? { kind: 'unknown', why: 'branch', name: text, quoted: false }];
}

/** The number of an arithmetic command, or null where it is not known. */
export function arithmeticValue(shell: Shell, expression: ArithmeticExpression | undefined): number | null {
  return expression ? evaluateArithmetic(expression, new Scope(shell)) : null;
}

class Scope implements ArithmeticScope {
  /** The first operand that was not known. */
  unknown: UnknownPiece | null = null;

  constructor(readonly shell: Shell) {}

  number({ value, parts, pos }: ArithmeticWord): number | null {
    const name = parts ? null : (/^\$(\w+|[#?@*])$/.exec(value)?.[1] ?? null);
    const expanded = name === null ? null : parameter(this.shell, name);
    const text = expanded
      ? textIn(expanded)
      : parts
        ? bounded(textOfParts(this.shell, parts, false))
        : textAt(value, this.shell.source.place(pos));
    return this.#of(text, 0);
  }

  #of(text: Text, depth: number): number | null {
    const known = literal(text);
    if (known === null) {
      this.unknown ??= unknownIn(text, '');
      return null;
    }
    const name = known.trim();
    if (/^[A-Za-z_]\w*$/.test(name) && depth < 8) {
      return this.#of(textIn(parameter(this.shell, name)), depth + 1);
    }
    return shellNumber(name);
  }

  assign(name: string, value: number | null): void {
    const place = this.shell.source.place(0);
    const text = value === null ? unknownText('branch', name) : textAt(String(value), place);
    this.shell.assign(name, { kind: 'scalar', text });
  }
}

/** The value of `$name`, special parameters included. */
function parameter(shell: Shell, name: string): Expanded {
  const { positional, variables } = shell.state;
  const here = shell.source.place(0);
  if (name === '@' || name === '*') {
    shell.assumed ||= positional === null;
    return { items: positional ?? [] };
  }
  if (name === '#') {
    shell.assumed ||= positional === null;
    return { text: textAt(String(positional?.length ?? 0), here) };
  }
  if (name === '0' || name === 'BASH_SOURCE') {
    return { text: textAt(name === '0' ? shell.program : shell.source.file, here) };
  }
  if (/^\d+$/.test(name)) {
    const arg = positional?.[Number(name) - 1];
    if (positional) {
      return contents({ kind: 'array', items: arg ? [arg] : [] });
    }
    const chosen = shell.chosen.get(name);
    return { text: chosen === undefined ? unknownText('positional', name) : textAt(chosen, here) };
  }
  if (/^[?$!_-]$/.test(name) || name === 'RANDOM' || name === 'LINENO') {
    return { text: unknownText('command', `$${name}`) };
  }
  const variable = variables.get(name);
  return variable ? contents(variable) : { text: shell.scheduled(name) ?? absent(shell, name) };
}

/** The text of a variable that nothing sets: the environment's, or that of a file that was not found. */
function absent(shell: Shell, name: string): Text {
  if (name === 'PWD' && shell.state.directory !== null) {
    return textAt(shell.state.directory, shell.source.place(0));
  }
  const [file] = shell.missing;
  return file === undefined ? unknownText('unset', name) : unknownText('file', `${file} (for ${name})`);
}

/** What `$name` is: for an array, its first item. */
function contents(variable: Variable): Expanded {
  switch (variable.kind) {
    case 'scalar':
      return { text: variable.text };
    case 'array': {
      const [first] = variable.items;
      return first === undefined ? { text: [] } : first.kind === 'word' ? { text: first.text } : { items: [first] };
    }
    default:
      return { text: [] };
  }
}

function parameterExpansion(shell: Shell, part: ParameterExpansionPart): Expanded {
  const subject = subjectOf(shell, part);
  if (part.prefix === '#') {
    return { text: lengthOf(shell, subject, part) };
  }
  const { operation } = part;
  return operation ? operate(shell, subject, operation, part) : subject;
}

/** What an expansion works on: a variable, or one of its items. */
function subjectOf(shell: Shell, part: ParameterExpansionPart): Expanded {
  if (part.prefix === '!') {
    // under 1 % of the values of scripts stand in what a variable names
    return { text: unknownText('branch', part.text) };
  }
  if (!part.index || part.parameter === 'BASH_SOURCE') {
    return parameter(shell, part.parameter);
  }
  const variable = shell.state.variables.get(part.parameter);
  if (part.index.text === '@' || part.index.text === '*') {
    return variable?.kind === 'array' ? { items: variable.items } : parameter(shell, part.parameter);
  }
  return itemOf(shell, part, variable);
}

function itemOf(shell: Shell, part: ParameterExpansionPart, variable: Variable | undefined): Expanded {
  const key = part.index ? literal(expandText(shell, part.index)) : null;
  const unknown = { text: unknownText('branch', part.text) };
  if (!variable) {
    return { text: absent(shell, part.parameter) };
  }
  if (key === null) {
    return unknown;
  }
  const named = shellNumber(key) ?? indexNamed(shell, key);
  if (variable.kind !== 'array' || named === null || variable.items.some(({ kind }) => kind === 'choice')) {
    return variable.kind === 'scalar' && named === 0 ? { text: variable.text } : unknown;
  }
  const item = variable.items.at(named);
  return { text: item?.kind === 'word' ? item.text : [] };
}

function indexNamed(shell: Shell, name: string): number | null {
  const known = literal(textIn(parameter(shell, name)));
  return known === null ? null : shellNumber(known);
}

function lengthOf(shell: Shell, subject: Expanded, part: ParameterExpansionPart): Text {
  const place = shell.source.place(part.pos);
  if ('items' in subject) {
    return subject.items.every(({ kind }) => kind === 'word')
      ? textAt(String(subject.items.length), place)
      : unknownText('branch', part.text);
  }
  const known = literal(subject.text);
  const isList = part.index?.text === '@' || part.index?.text === '*';
  return known === null ? [unknownIn(subject.text, part.text)] : textAt(String(isList ? 1 : known.length), place);
}

function operate(
  shell: Shell,
  subject: Expanded,
  operation: ParameterOperation,
  part: ParameterExpansionPart,
): Expanded {
  if (operation.type === 'Default') {
    return defaulted(shell, subject, operation, part);
  }
  if ('items' in subject) {
    // under 1 % of the values of scripts are slices of lists, but of an empty one there are none
    return operation.type === 'Slice' && subject.items.length > 0
      ? { text: unknownText('branch', part.text) }
      : subject;
  }
  const known = literal(subject.text);
  if (known === null) {
    return { text: [unknownIn(subject.text, part.text)] };
  }
  // other operations than `${x#p}` and its kind yield under 1 % of the values of scripts
  const pattern = operation.type === 'Remove' ? literal(expandText(shell, operation.operand)) : null;
  const mayMatch = shell.spend(matchingWork(known, pattern ?? ''));
  const changed =
    operation.type === 'Remove' && pattern !== null && mayMatch
      ? removeMatch(known, pattern, operation.operator)
      : null;
  const place = placeOf(subject.text) ?? shell.source.place(part.pos);
  return { text: changed === null ? unknownText('branch', part.text) : textAt(changed, place) };
}

function defaulted(
  shell: Shell,
  subject: Expanded,
  { operator, operand }: Extract<ParameterOperation, { type: 'Default' }>,
  part: ParameterExpansionPart,
): Expanded {
  const text = textIn(subject);
  const nothing = isUnset(text) || literal(text) === '';
  if (operator === '+' || operator === ':+') {
    const value = nothing ? [] : expandText(shell, operand);
    const reason = literal(text) === null ? whyUnknown(text) : null;
    return {
      text: nothing || reason === null ? value : [choiceOfTexts([[], value], reason)],
    };
  }
  if (operator === '?' || operator === ':?') {
    return subject;
  }
  const explicitlyEmpty = !operator.startsWith(':') && shell.state.variables.has(part.parameter) && !isUnset(text);
  if (!nothing || explicitlyEmpty) {
    return subject;
  }
  const value = expandText(shell, operand);
  if (operator === '=' || operator === ':=') {
    shell.assign(part.parameter, { kind: 'scalar', text: value });
  }
  return { text: value };
}
