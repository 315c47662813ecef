import type { Fix } from '../../diagnostic';
import { startOfLine } from '../../format/edit';
import { FORMAT } from '../../format/keys';
import { problemsOf } from '../../format/problems';
import type { KeySpec } from '../../format/spec';
import type { Node } from '../../format/tree';
import { wantedText } from '../../format/typeText';
import { removeFix, safeFix, suggestion } from '../fixes';
import { both } from '../numbers';
import { job, type Rule } from '../rule';
import { entriesAt } from './meaning';

/** The longest piece of a value that a message quotes, in characters. */
const MAX_QUOTED = 40;

export const wrongType: Rule = {
  code: 'wrong-type',
  severity: 'error',
  title: 'A value of the wrong type',
  effect: 'the value cannot be used',
  what: 'A value is not the whole number, truth value, text, list or map that its key wants. A number in quotes is a text.',
  why: 'A value that cannot be read leaves everything open that follows from it.',
  failing: job(8, 'tp: "2"'),
  *checkShape({ text, tree, problems }) {
    for (const { spec, node, path } of problemsOf(problems, 'wrong-type')) {
      yield {
        message: messageOf(spec, node, path),
        span: node.span,
        fixes: [
          castFix(spec, node),
          colonFix(text, spec, node),
          indentFix(text, tree.root, spec, path),
          itemsFix(text, spec, node),
          absentFix(text, tree.root, spec, node, path),
        ],
      };
    }
  },
};

function messageOf(spec: KeySpec, node: Node, path: string): string {
  if (path === '' && node.kind === 'scalar' && /^--\w/.test(node.source)) {
    return "These are flags; a layout is a map of keys such as 'layout: 1'. Save them as a script: 'parallelism-layout import' makes a layout of it.";
  }
  if (path === '') {
    return `A layout is a map of keys such as 'layout: 1', not ${nodeName(node)}.`;
  }
  return node.kind === 'scalar' && node.value === null && !node.quoted
    ? `${path} has no value; it must be ${wantedText(spec)}.`
    : `${path} must be ${wantedText(spec)}, not ${nodeName(node)}.`;
}

/** Puts the colon behind a key that has a value without one, such as `tp 2` or `tp=2`; null where that is not what is wrong. */
function colonFix(text: string, spec: KeySpec, node: Node): Fix | null {
  const [, key = '', value] =
    (node.kind === 'scalar' && /^(\w+)(?:[ \t]*=[ \t]*|[ \t]+)(\S+)$/.exec(node.source)) || [];
  const line = `${key}: ${value}`;
  // a map stands on lines of its own, or in braces
  const isOnOwnLine = text.slice(startOfLine(text, node.span.start), node.span.start).trim() === '';
  const newText = isOnOwnLine ? line : `{${line}}`;
  return spec.type === 'map' && Object.hasOwn(spec.keys, key)
    ? safeFix(`Write ${line}`, [{ span: node.span, newText }])
    : null;
}

/** Indents the keys that follow a map without a value and belong into it; null where there are none. */
function indentFix(text: string, root: Node | null, spec: KeySpec, path: string): Fix | null {
  const entries = root?.kind === 'map' && spec.type === 'map' ? root.entries : [];
  const at = entries.findIndex(({ key, value }) => key === path && value.kind === 'scalar' && value.value === null);
  if (at < 0 || spec.type !== 'map') {
    return null;
  }
  const behind = entries.slice(at + 1);
  const end = behind.findIndex(({ key }) => !Object.hasOwn(spec.keys, key) || Object.hasOwn(FORMAT.keys, key));
  const children = end < 0 ? behind : behind.slice(0, end);
  if (
    children.length === 0 ||
    children.some(({ keySpan, value }) => /[\r\n]/.test(text.slice(keySpan.start, value.span.end)))
  ) {
    return null;
  }
  const names = children.map(({ key }) => `'${key}'`);
  return safeFix(
    `Indent ${both(names)} under ${path}`,
    children.map(({ keySpan }) => ({ span: { start: keySpan.start, end: keySpan.start }, newText: '  ' })),
  );
}

/** Makes keys of the items of a list that stands in place of a map: `- tp: 8`; null where they are none. */
function itemsFix(text: string, spec: KeySpec, node: Node): Fix | null {
  const items = spec.type === 'map' && node.kind === 'list' && !node.flow ? node.items : [];
  const dashes = items.map(({ kind, span }) => {
    const start = startOfLine(text, span.start);
    const before = text.slice(start, span.start);
    return kind === 'map' && /^ *- +$/.test(before)
      ? { span: { start, end: span.start }, newText: before.replace('-', ' ') }
      : null;
  });
  return safeFix('Write the items as keys', dashes);
}

/** Removes a key that other languages would give no value: `pp: null`. */
function absentFix(text: string, root: Node | null, spec: KeySpec, node: Node, path: string): Fix | null {
  const entry = entriesAt(root, path).at(-1);
  const isNothing = node.kind === 'scalar' && /^(none|null|~)$/i.test(node.source);
  return isNothing && !spec.required && entry?.value === node
    ? removeFix(text, entry.key, { keySpan: entry.keySpan, span: node.span })
    : null;
}

/** The same value in the form that its key takes; null where there is none. */
function castFix(spec: KeySpec, node: Node): Fix | null {
  const newText = node.kind === 'scalar' && node.value !== null ? cast(spec, String(node.value), node.source) : null;
  const fix = spec.type === 'duration' ? suggestion : safeFix;
  return newText === null ? null : fix(`Change to ${newText}`, [{ span: node.span, newText }]);
}

function cast(spec: KeySpec, value: string, source: string): string | null {
  switch (spec.type) {
    case 'integer':
      // a comma behind it is a habit from other formats
      return /^\s*[-+]?\d+(\.0*)?,?\s*$/.test(value) && Number.parseFloat(value) >= spec.min
        ? String(Number.parseFloat(value))
        : null;
    case 'duration':
      return /^\d+$/.test(value) ? `${value}s` : null;
    case 'boolean':
      return TRUTHS.get(value.toLowerCase()) ?? null;
    case 'string':
      return JSON.stringify(source);
    default:
      return null;
  }
}

/** The words that other languages, and older YAML, have for truth values. */
const TRUTHS: ReadonlyMap<string, string> = new Map([
  ...['yes', 'on', 'true', '1'].map((word) => [word, 'true'] as const),
  ...['no', 'off', 'false', '0'].map((word) => [word, 'false'] as const),
]);

/** What the file has in its place: `the text "8"`. */
function nodeName(node: Node): string {
  if (node.kind !== 'scalar') {
    return node.kind === 'map' ? 'a map' : 'a list';
  }
  const shown = node.source.length > MAX_QUOTED ? `${node.source.slice(0, MAX_QUOTED)}…` : node.source;
  const isWord = typeof node.value === 'string';
  return node.quoted ? `the text ${shown}` : isWord ? `'${shown}'` : shown;
}
