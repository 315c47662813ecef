import type { Fix } from '../../diagnostic';
import { applyEdits, endOfLine, startOfLine } from '../../format/edit';
import { specAt } from '../../format/keyPath';
import { type Node, parseTree, type TreeProblem } from '../../format/tree';
import { safeFix } from '../fixes';
import { countOf } from '../numbers';
import type { Report, Rule } from '../rule';

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
  sources: ['YAML 1.2'],
  *checkShape({ text, tree: { problem } }) {
    if (problem?.kind === 'syntax') {
      yield (text.length > MAX_TRIED ? null : teaching(text, problem)) ?? {
        message: sentence(problem.message),
        span: problem.span,
      };
    }
  },
};

/** A report with a fix; null where no single change that is tried makes the text valid. */
function teaching(text: string, problem: TreeProblem): Report | null {
  const indented = indentedOtherwise(text, problem);
  return indented && unknownKeys(indented) === 0 ? indented.report : (colonReport(text) ?? indented?.report ?? null);
}

const sentence = (text: string): string => (/[.?!]$/.test(text) ? text : `${text}.`);

/** The longest text that is parsed again to see whether another indentation makes it valid, in UTF-16 units. */
const MAX_TRIED = 64 * 1024;

/** The longest text in which several lines and indentations are tried, in UTF-16 units: each costs a parse. */
const MAX_SEARCHED = 8 * 1024;

/** The line that is indented otherwise than its neighbour, where that alone is what is wrong; null elsewhere. */
function indentedOtherwise(text: string, { span }: TreeProblem): Reindented | null {
  const at = startOfLine(text, span.start);
  const line = keyLineAt(text, at) ?? keyLineBelow(text, at);
  if (!line) {
    return null;
  }
  // the parser may report the line in front of the one that is at fault, or the one behind it
  const [above, below] = [keyLineAbove(text, line.start), keyLineBelow(text, line.start)];
  const likely =
    (line.indent.includes('\t') ? untabbed(text, line) : null) ??
    (above && !isInside(line, above) ? reindented(text, line, above) : null) ??
    (below && !isInside(below, line) ? reindented(text, below, line) : null);
  if (text.length > MAX_SEARCHED || (likely && unknownKeys(likely) === 0)) {
    return likely;
  }
  const near = [line, ...(above ? [above] : []), ...(below ? [below] : [])];
  const others = near.flatMap((one) => neighboursOf(text, one).flatMap((other) => reindented(text, one, other) ?? []));
  return [...(likely ? [likely] : []), ...others].toSorted((a, b) => unknownKeys(a) - unknownKeys(b))[0] ?? null;
}

/** Whether a line is indented more than the key without a value above it, as is right. */
const isInside = (line: KeyLine, above: KeyLine): boolean => above.opens && line.indent.length > above.indent.length;

/** The nearest key line of each indentation around a line, those above first. */
function neighboursOf(text: string, line: KeyLine): KeyLine[] {
  const found = new Map<string, KeyLine>();
  for (const next of [keyLineAbove, keyLineBelow]) {
    for (let at = next(text, line.start); at && found.size < MAX_INDENTATIONS; at = next(text, at.start)) {
      if (!found.has(at.indent)) {
        found.set(at.indent, at);
      }
    }
  }
  return [...found.values()];
}

/** So many indentations are tried for a line. */
const MAX_INDENTATIONS = 6;

/** A line with the indentation of a neighbour, in a text that is valid then. */
interface Reindented {
  readonly report: Report;
  readonly root: Node | null;
}

/** How many keys of a text the format does not know, or hold no map where they should: a line in the wrong map brings some. */
function unknownKeys({ root }: Reindented): number {
  const count = (node: Node, path: readonly string[]): number => {
    const spec = specAt(path);
    if (node.kind === 'map') {
      // what stands below an unknown key is not counted
      return spec ? node.entries.reduce((sum, { key, value }) => sum + count(value, [...path, key]), 0) : 1;
    }
    return !spec || spec.type === 'map' || spec.type === 'record' ? 1 : 0;
  };
  return root ? count(root, []) : 0;
}

/** The report and the fix that put colon and space behind each key without them, as in `tp=2` and `tp:2`, if the text is valid then. */
function colonReport(text: string): Report | null {
  const lines = [
    ...text.matchAll(/^([ \t]*)([\w-]+)([ \t]*=[ \t]*|:|[ \t]+)([^\s#:]\S*)[ \t]*(?:[ \t]#.*)?\r?$/gm),
  ].map(({ index, 1: indent = '', 2: key = '', 3: between = '', 4: value = '' }) => {
    const start = index + indent.length;
    const end = start + key.length;
    return {
      span: { start: end, end: end + between.length },
      newText: ': ',
      start,
      written: `${key}: ${value}`,
      value,
    };
  });
  const edits = lines.map(({ span, newText }) => ({ span, newText }));
  const [first] = lines;
  return !first || parseTree(applyEdits(text, edits)).problem
    ? null
    : {
        message: `A key needs a colon, a space and a value. Write '${first.written}'.`,
        span: { start: first.start, end: first.span.end + first.value.length },
        fixes: [safeFix('Write a colon and a space behind each key', edits)],
      };
}

/** The report and the fix that write two spaces for every tab that indents, if the text is valid then. */
function untabbed(text: string, { start, key, indent }: KeyLine): Reindented | null {
  const edits = [...text.matchAll(/^[ \t]*\t[ \t]*/gm)].map(({ index, 0: found }) => ({
    span: { start: index, end: index + found.length },
    newText: found.replaceAll('\t', '  '),
  }));
  const at = start + indent.length;
  const fixed = parseTree(applyEdits(text, edits));
  return fixed.problem
    ? null
    : {
        report: {
          message: `A tab indents '${key}'. YAML is indented with spaces.`,
          span: { start: at, end: at + key.length },
          fixes: [safeFix('Indent with spaces', edits)],
        },
        root: fixed.root,
      };
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
const keyLineAbove = (text: string, start: number): KeyLine | null =>
  nearestKeyLine(text, start, (at) => (at > 0 ? startOfLine(text, at - 1) : text.length));

/** The nearest line below that begins with a key. */
const keyLineBelow = (text: string, start: number): KeyLine | null =>
  nearestKeyLine(text, start, (at) => endOfLine(text, at) + 1);

function nearestKeyLine(text: string, start: number, nextOf: (at: number) => number): KeyLine | null {
  let line: KeyLine | null = null;
  for (let at = nextOf(start); at < text.length && !line; at = nextOf(at)) {
    line = keyLineAt(text, at);
  }
  return line;
}

/** The report and the fix that give a line the indentation of its neighbour, if the text is valid then. */
function reindented(text: string, { start, key, indent }: KeyLine, neighbour: KeyLine): Reindented | null {
  if (indent === neighbour.indent || neighbour.indent.includes('\t')) {
    return null;
  }
  const span = { start, end: start + indent.length };
  const fixed = parseTree(text.slice(0, start) + neighbour.indent + text.slice(span.end));
  if (fixed.problem) {
    return null;
  }
  const wanted = neighbour.indent.length;
  const spaces = countOf(wanted, 'space');
  const there = `its neighbour '${neighbour.key}' is ${wanted === 0 ? 'not indented' : `indented ${indent.includes('\t') ? spaces : wanted}`}`;
  const message = indent.includes('\t')
    ? `A tab indents '${key}'; ${there}.`
    : `'${key}' is ${indent === '' ? 'not indented' : `indented ${countOf(indent.length, 'space')}`}; ${there}.`;
  const title = wanted === 0 ? `Do not indent '${key}'` : `Indent '${key}' by ${spaces}`;
  const fix: Fix = safeFix(title, [{ span, newText: neighbour.indent }]);
  return {
    report: { message, span: { start: span.end, end: span.end + key.length }, fixes: [fix] },
    root: fixed.root,
  };
}
