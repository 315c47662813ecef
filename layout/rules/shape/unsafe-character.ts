import type { Span } from '../../diagnostic';
import { unsafeCharactersIn, visible, withoutJoiners } from '../../escape';
import type { Entry, Node } from '../../format/node';
import { childrenOf, entriesIn } from '../../format/walk';
import { replaceFix } from '../fixes';
import { job, type Report, type Rule } from '../rule';

export const unsafeCharacter: Rule = {
  code: 'unsafe-character',
  severity: 'error',
  title: 'A text with control or invisible characters',
  effect: 'what people read of it is not what programs get',
  what: 'A name or a text holds a control character, one that turns the direction of text, or one that is invisible.',
  why: 'Terminals and logs of CI obey control characters, and a reviewer does not see the others. Such a text reaches launch scripts, tables and diagrams.',
  failing: job(8, 'tp: 2', 'name: "gpt\\u202e7b"'),
  sources: ['Unicode Technical Report 36, Unicode Security Considerations'],
  *checkShape({ tree }) {
    for (const { text, source, span } of textsOf(tree.root)) {
      const found = unsafeCharactersIn(withoutJoiners(text)).filter((character) => !isWrittenBreak(character, source));
      if (found.length > 0) {
        yield report(text, source, span, found);
      }
    }
  },
};

interface WrittenText {
  readonly text: string;
  /** As the file has it. */
  readonly source: string;
  readonly span: Span;
}

/** The keys and texts of a tree, in the order of the file. */
function* textsOf(node: Node | null): Iterable<WrittenText> {
  if (node?.kind === 'scalar') {
    yield* typeof node.value === 'string' ? [{ text: node.value, source: node.source, span: node.span }] : [];
  } else if (node?.kind === 'map') {
    for (const { key, keySpan, value } of entriesIn(node) as readonly Entry[]) {
      yield { text: key, source: key, span: keySpan };
      yield* textsOf(value);
    }
  } else if (node) {
    for (const child of childrenOf(node)) {
      yield* textsOf(child);
    }
  }
}

/** Whether a character breaks a line, or is a tab, where the file shows it as one: in a text of several lines. */
function isWrittenBreak(character: string, source: string): boolean {
  return '\n\t\r'.includes(character) && source.includes('\n');
}

/** How many characters are named. */
const MAX_NAMED = 3;

function report(text: string, source: string, span: Span, found: readonly string[]): Report {
  const names = [...new Set(found)].map(
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  const more = names.length > MAX_NAMED ? ' and others' : '';
  const clean = found.reduce((rest, character) => rest.replaceAll(character, ''), text);
  return {
    message: `This text holds ${names.slice(0, MAX_NAMED).join(', ')}${more}: "${visible(text.slice(0, 60))}". Write it without characters that nobody sees.`,
    span,
    fixes: source === text || source.includes('\n') ? [] : [replaceFix(span, JSON.stringify(clean))],
  };
}
