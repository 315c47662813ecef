import {
  type CompletionItem,
  CompletionItemKind,
  InsertTextFormat,
  InsertTextMode,
  MarkupKind,
  type Position,
  type TextEdit,
} from 'vscode-languageserver';
import {
  applyEdits,
  type Checked,
  check,
  type KeySpec,
  LANGUAGE_MODULE,
  type LayoutFacts,
  MAX_TEXT,
  Markdown,
  mapOf,
  type Span,
  specAt,
  synonymsFor,
} from '../../layout';
import { type Cursor, cursorAt } from '../cursor';
import { signature } from '../describe';
import { judgedChoices } from '../judgedChoices';
import { markup } from '../markup';
import { choicesFor } from '../valueChoices';
import { feature } from './feature';

export const completionFeature = feature(
  { completionProvider: { triggerCharacters: [' ', ':', '{', ',', '['] } },
  ({ connection, snippets, checked }) => {
    connection.onCompletion(({ textDocument, position }) => completion(checked(textDocument.uri), position, snippets));
  },
);

/**
 * What can be typed at a position: keys that are valid and not yet there, or values that would work, the best first.
 * @param snippets whether the editor takes tab stops
 */
export function completion(checked: Checked, position: Position, snippets = true): CompletionItem[] {
  const cursor = checked.text.length > MAX_TEXT ? null : cursorAt(checked.lines, position);
  if (!cursor) {
    return [];
  }
  const at = (character: number): Position => ({ line: position.line, character });
  const range = { start: at(cursor.wordStart), end: at(cursor.wordEnd) };
  const edit = (newText: string): TextEdit => ({ range, newText: cursor.glued ? ` ${newText}` : newText });
  const path = cursor.valueKey === null ? cursor.path : [...cursor.path, cursor.valueKey];
  const spec = specAt(path);
  if (!spec) {
    return [];
  }
  const isItem = spec.type === 'list' && !mapOf(spec);
  if (cursor.valueKey === null && !isItem) {
    return keyItems(checked, cursor, spec, { edit, snippets });
  }
  const { lines } = checked;
  const word = { start: lines.offsetAt(range.start), end: lines.offsetAt(range.end) };
  return valueItems(checked, cursor, { path, spec, word, edit });
}

interface Typing {
  readonly edit: (newText: string) => TextEdit;
  readonly snippets: boolean;
}

function keyItems(checked: Checked, cursor: Cursor, spec: KeySpec, typing: Typing): CompletionItem[] {
  if (spec.type === 'record') {
    return moduleItems(checked.facts, cursor, typing);
  }
  const keys = Object.entries<KeySpec>(mapOf(spec)?.keys ?? {})
    .filter(([name]) => !cursor.siblings.has(name))
    .filter(([name]) => !(cursor.path.length === 0 && EXCLUDES[name]?.some((other) => cursor.siblings.has(other))));
  const required = keys.filter(([, key]) => key.required);
  const others = keys.filter(([, key]) => !key.required);
  return [...required, ...others].map(([name, key], i) => keyItem(name, key, i, cursor, typing));
}

/** Top-level keys that exclude others. */
const EXCLUDES: Readonly<Record<string, readonly string[]>> = {
  parallelism: ['modules'],
  modules: ['parallelism'],
  model: ['modules'],
  sequence: ['modules'],
};

function keyItem(name: string, spec: KeySpec, place: number, cursor: Cursor, typing: Typing): CompletionItem {
  const opens = spec.type === 'map' || spec.type === 'record';
  return {
    label: name,
    kind: opens ? CompletionItemKind.Module : CompletionItemKind.Property,
    detail: spec.required ? 'required' : '',
    filterText: [name, ...flagWords(spec.flag), ...synonymsFor(name)].join(' '),
    documentation: markup(Markdown.join([signature(name, spec), Markdown.trusted(spec.doc)], '\n\n')),
    sortText: sortText(place),
    ...(cursor.hasColon ? { textEdit: typing.edit(name) } : insertion(name, spec, cursor, typing)),
  };
}

/** The flag of Megatron-LM that a key becomes, as people type it: as an attribute, and as the shell has it. */
function flagWords(flag = ''): string[] {
  const [whole, name = ''] = /^--([a-z0-9-]+)/.exec(flag) ?? [];
  return whole === undefined ? [] : [name.replaceAll('-', '_'), whole];
}

/** A key with what its value begins with, and the cursor there. */
function insertion(name: string, spec: KeySpec, { flow }: Cursor, { edit, snippets }: Typing): Partial<CompletionItem> {
  const isMap = spec.type === 'map' || spec.type === 'record';
  const stop = snippets ? '$0' : '';
  const body = isMap ? (flow ? `{${stop}}` : `\n  ${stop}`) : spec.type === 'list' ? listBody(spec, flow, stop) : stop;
  const text = `${name}:${body.startsWith('\n') ? '' : ' '}${body}`;
  return {
    insertTextFormat: snippets ? InsertTextFormat.Snippet : InsertTextFormat.PlainText,
    insertTextMode: InsertTextMode.adjustIndentation,
    // without tab stops the cursor would end up behind the brackets
    textEdit: edit(snippets ? text : `${name}:${isMap && !flow ? '' : ' '}`),
    command: { title: 'Suggest values', command: 'editor.action.triggerSuggest' },
  };
}

/** A list of maps is easier to read on lines of its own. */
function listBody(spec: KeySpec, flow: boolean, stop: string): string {
  return mapOf(spec) && !flow ? `\n  - ${stop}` : `[${stop}]`;
}

/** Names that modules often have, each with the ranks behind the modules that are there. */
function moduleItems(facts: LayoutFacts | null, cursor: Cursor, { edit, snippets }: Typing): CompletionItem[] {
  const modules = facts?.modules.filter(({ name }) => name !== null && cursor.siblings.has(name)) ?? [];
  const offset = modules.reduce((end, { rankOffset, ranks }) => Math.max(end, (rankOffset ?? 0) + (ranks ?? 0)), 0);
  const left = (facts?.world.size ?? 0) - offset;
  const numbers = { rank_offset: offset, num_ranks: left > 0 ? left : 8, tp: 1 };
  const lines = Object.entries(numbers).map(
    ([key, value], i) => `${key}: ${snippets ? `\${${i + 1}:${value}}` : value}`,
  );
  const body = cursor.flow ? ` {${lines.join(', ')}}` : `\n  ${lines.join('\n  ')}`;
  return [LANGUAGE_MODULE, 'images', 'vision', 'audio', 'video']
    .filter((name) => !cursor.siblings.has(name))
    .map((name, i) => ({
      label: name,
      kind: CompletionItemKind.Module,
      detail: name === LANGUAGE_MODULE ? 'the language model; exactly one module has this name' : 'a module',
      sortText: sortText(i),
      insertTextFormat: snippets ? InsertTextFormat.Snippet : InsertTextFormat.PlainText,
      insertTextMode: InsertTextMode.adjustIndentation,
      textEdit: edit(cursor.hasColon ? name : `${name}:${body}`),
    }));
}

interface ValuePlace {
  readonly path: readonly string[];
  readonly spec: KeySpec;
  /** The text that a value takes the place of. */
  readonly word: Span;
  readonly edit: (newText: string) => TextEdit;
}

function valueItems(checked: Checked, cursor: Cursor, { path, spec, word, edit }: ValuePlace): CompletionItem[] {
  const key = path.at(-1) ?? '';
  const space = cursor.glued ? ' ' : '';
  const withChoice = (value: string) => ({
    text: applyEdits(checked.text, [{ span: word, newText: space + value }]),
    start: word.start + space.length,
  });
  const present = checked.text.slice(word.start, word.end);
  // a missing value leaves derived numbers open, or the whole file unreadable
  const isOpen = !checked.facts || (present === '' && checked.text.length <= MAX_COMPLETED);
  const facts = (isOpen ? check(withChoice('1').text, checked.levels).facts : null) ?? checked.facts;
  const choices = choicesFor(facts, checked.resolved, path, spec).filter(({ value }) => !cursor.siblings.has(value));
  const items = judgedChoices(choices, { checked, path, present, withChoice });
  const chosen = items.findIndex(({ value }) => value === present);
  return items.map(({ value, leadsTo, explanation }, i) => ({
    label: value,
    kind: spec.type === 'boolean' || spec.type === 'enum' ? CompletionItemKind.EnumMember : CompletionItemKind.Value,
    ...(leadsTo && { detail: `${key}: ${value} → ${leadsTo}`, labelDetails: { description: leadsTo } }),
    ...(explanation !== null && { documentation: { kind: MarkupKind.PlainText, value: explanation } }),
    sortText: sortText(i),
    preselect: i === Math.max(0, chosen),
    filterText: value,
    textEdit: edit(value),
  }));
}

/** The longest file that is read again with a value in place of a missing one. */
const MAX_COMPLETED = 4096;

function sortText(place: number): string {
  return String(place).padStart(4, '0');
}
