import type { Span } from '../diagnostic';
import { endOfLine, startOfLine } from './edit';
import { MAX_FULL_YAML, MAX_TEXT } from './limits';
import type { Parsed, TreeProblem } from './node';
import { parsePlain, plainLength } from './plain';
import { grouped } from './quantities';
import { parseYaml } from './yaml';

export type { Entry, ListNode, MapNode, Node, Parsed, ScalarNode, TreeProblem } from './node';

/** A parsed file. */
export interface Tree extends Parsed {
  /** Whether it is plain block YAML throughout: every line then says by its indentation alone where it belongs. */
  readonly plain: boolean;
}

/**
 * Parses YAML 1.2 into a tree with spans. Never throws: what is wrong is in `problem`. Its cost is bounded: files beyond
 * the limits of `limits.ts` are refused.
 */
export function parseTree(text: string): Tree {
  const problem = text.length > MAX_TEXT ? tooLong(text) : findControlCharacter(text);
  if (problem) {
    return { root: null, problem, plain: false };
  }
  const parsed = parsePlain(text);
  if (parsed) {
    return { ...parsed, plain: true };
  }
  return {
    ...(text.length > MAX_FULL_YAML ? { root: null, problem: notPlain(text) } : parseYaml(text)),
    plain: false,
  };
}

/** The span of the first line, for what concerns the file as a whole. */
export function firstLine(text: string): Span {
  return lineAt(text, 0);
}

/** The span of the line that holds an offset, without its line break. */
function lineAt(text: string, offset: number): Span {
  return { start: startOfLine(text, offset), end: endOfLine(text, offset) };
}

function tooLong(text: string): TreeProblem {
  const message = `The file has ${characters(text.length)}; up to ${characters(MAX_TEXT)} are read, more than twice a layout of ten thousand lines. Remove what is not part of the layout.`;
  return { kind: 'too-large', message, span: firstLine(text) };
}

/** Beyond the reach of the full parser only plain YAML is read: the place where it ends is what there is to fix. */
function notPlain(text: string): TreeProblem {
  const message = `From this line on the file is not plain block YAML: an anchor, a tag, a tab, a text or brackets over several lines, or a mistake. In a file of ${characters(text.length)} only plain YAML is read, other YAML up to ${characters(MAX_FULL_YAML)}. Write this line plainly.`;
  return { kind: 'too-large', message, span: lineAt(text, plainLength(text)) };
}

function characters(count: number): string {
  return `${grouped(count)} characters`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffd]/;

/** NUL and other control characters mean that this is no text: YAML allows only tab, line feed and carriage return. */
function findControlCharacter(text: string): TreeProblem | null {
  const at = text.search(CONTROL_CHARACTER);
  if (at < 0) {
    return null;
  }
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0');
  return {
    kind: 'syntax',
    message: `The character U+${code} has no place in a text file. Is this a binary file, or not UTF-8?`,
    span: { start: at, end: at + 1 },
  };
}
