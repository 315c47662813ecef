import type { Fix } from '../../diagnostic';
import { applyEdits, endOfLine, startOfLine } from '../../format/edit';
import { parseTree, type TreeProblem } from '../../format/tree';
import { safeFix } from '../fixes';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';
import { otherSource } from '../source';

export const yamlSyntax: Rule = {
  code: 'yaml-syntax',
  severity: 'error',
  title: 'The file is not valid YAML',
  effect: 'the file cannot be read',
  what: 'The YAML parser reports an error: wrong indentation, an unclosed bracket or quote, a tab used to indent, a character that no text file has.',
  why: 'Nothing in the file can be trusted until it parses, so nothing else is reported.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: 2
 pp: 2
`,
  sources: [otherSource('YAML 1.2')],
  *checkShape({ text, tree: { problem } }) {
    if (problem?.kind === 'syntax') {
      yield (text.length > MAX_TRIED ? null : (indentReport(text, problem) ?? colonReport(text))) ?? {
        message: sentence(problem.message),
        span: problem.span,
      };
    }
  },
};

const sentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** The longest text that is parsed again to see whether another indentation makes it valid, in UTF-16 units. */
const MAX_TRIED = 64 * 1024;

/** Says that a line is indented otherwise than its neighbour, where that alone is what is wrong; null elsewhere. */
function indentReport(text: string, { span }: TreeProblem): Report | null {
  const line = keyLineAt(text, startOfLine(text, span.start));
  const above = line && keyLineAbove(text, line.start);
  const tabs = line?.indent.includes('\t') ? tabsReport(text, line) : null;
  if (tabs) {
    return tabs;
  }
  // the parser may report the line in front of the one that is at fault
  return line && above ? (reindented(text, line, above) ?? nextReport(text, line)) : line && nextReport(text, line);
}

/** The report and the fix that put a colon behind each key without one, as in `tp=2`, if the text is valid then. */
function colonReport(text: string): Report | null {
  const lines = [...text.matchAll(/^([ \t]*)([\w-]+)([ \t]*=[ \t]*|[ \t]+)(\S+)[ \t]*\r?$/gm)].map(
    ({ index, 1: indent = '', 2: key = '', 3: between = '', 4: value = '' }) => {
      const start = index + indent.length;
      const end = start + key.length;
      return {
        span: { start: end, end: end + between.length },
        newText: ': ',
        start,
        written: `${key}: ${value}`,
        value,
      };
    },
  );
  const edits = lines.map(({ span, newText }) => ({ span, newText }));
  const [first] = lines;
  return !first || parseTree(applyEdits(text, edits)).problem
    ? null
    : {
        message: `A key needs a colon, a space and a value. Write '${first.written}'.`,
        span: { start: first.start, end: first.span.end + first.value.length },
        fixes: [safeFix('Write colons behind the keys', edits)],
      };
}

/** The report and the fix that write two spaces for every tab that indents, if the text is valid then. */
function tabsReport(text: string, { start, key, indent }: KeyLine): Report | null {
  const edits = [...text.matchAll(/^[ \t]*\t[ \t]*/gm)].map(({ index, 0: found }) => ({
    span: { start: index, end: index + found.length },
    newText: found.replaceAll('\t', '  '),
  }));
  const at = start + indent.length;
  return parseTree(applyEdits(text, edits)).problem
    ? null
    : {
        message: `A tab indents '${key}'. YAML is indented with spaces.`,
        span: { start: at, end: at + key.length },
        fixes: [safeFix('Indent with spaces', edits)],
      };
}

function nextReport(text: string, line: KeyLine): Report | null {
  const next = keyLineAt(text, endOfLine(text, line.start) + 1);
  return next && reindented(text, next, line);
}

/** A line that begins with a key. */
interface KeyLine {
  readonly start: number;
  readonly key: string;
  /** What stands in front of the key. */
  readonly indent: string;
  /** Whether no value stands behind the key: a map may follow. */
  readonly opens: boolean;
}

function keyLineAt(text: string, start: number): KeyLine | null {
  const [, indent, key, rest = ''] =
    /^([ \t]*)([\w-]+)[ \t]*:(?=[ \t\r\n]|$)(.*)/.exec(text.slice(start, endOfLine(text, start))) ?? [];
  return indent === undefined || key === undefined ? null : { start, key, indent, opens: /^\s*(?:#|$)/.test(rest) };
}

/** The nearest line above that begins with a key. */
function keyLineAbove(text: string, start: number): KeyLine | null {
  let at = start;
  while (at > 0) {
    at = startOfLine(text, at - 1);
    const line = keyLineAt(text, at);
    if (line) {
      return line;
    }
  }
  return null;
}

/** The report and the fix that give a line the indentation of its neighbour, if the text is valid then. */
function reindented(text: string, { start, key, indent }: KeyLine, neighbour: KeyLine): Report | null {
  // below a key without a value, more indentation is right
  const isInside = neighbour.opens && indent.length > neighbour.indent.length;
  if (indent === neighbour.indent || isInside || neighbour.indent.includes('\t')) {
    return null;
  }
  const span = { start, end: start + indent.length };
  const fixed = text.slice(0, start) + neighbour.indent + text.slice(span.end);
  if (parseTree(fixed).problem) {
    return null;
  }
  const wanted = neighbour.indent.length;
  const spaces = countOf(wanted, 'space');
  const there = `its neighbour '${neighbour.key}' is ${wanted === 0 ? 'not indented' : `indented ${indent.includes('\t') ? spaces : wanted}`}`;
  const found = indent.includes('\t')
    ? `A tab indents '${key}'; ${there}.`
    : `'${key}' is ${indent === '' ? 'not indented' : `indented ${countOf(indent.length, 'space')}`}; ${there}.`;
  const title = wanted === 0 ? `Do not indent '${key}'` : `Indent '${key}' by ${spaces}`;
  const fix: Fix = safeFix(title, [{ span, newText: neighbour.indent }]);
  return { message: found, span: { start: span.end, end: span.end + key.length }, fixes: [fix] };
}
