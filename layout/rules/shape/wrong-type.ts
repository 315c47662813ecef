import type { Fix } from '../../diagnostic';
import { problemsOf } from '../../format/problems';
import type { KeySpec } from '../../format/spec';
import type { Node } from '../../format/tree';
import { safeFix } from '../fixes';
import type { Rule } from '../rule';
import { FORMAT_SOURCE } from '../source';
import { nodeName, typeName } from './words';

export const wrongType: Rule = {
  code: 'wrong-type',
  severity: 'error',
  title: 'A value of the wrong type',
  effect: 'the value cannot be used',
  what: 'A value is not the whole number, truth value, text, list or map that its key wants. A number in quotes is a text.',
  why: 'A value that cannot be read leaves everything open that follows from it.',
  failing: `layout: 1
world_size: 8
parallelism:
  tp: "2"
`,
  passing: `layout: 1
world_size: 8
parallelism:
  tp: 2
`,
  sources: [FORMAT_SOURCE],
  *checkShape({ problems }) {
    for (const { spec, node, path } of problemsOf(problems, 'wrong-type')) {
      yield {
        message: messageOf(spec, node, path),
        span: node.span,
        fixes: [castFix(spec, node)],
      };
    }
  },
};

function messageOf(spec: KeySpec, node: Node, path: string): string {
  if (path === '') {
    return `A layout is a map of keys such as \`layout: 1\`, not ${nodeName(node)}.`;
  }
  return node.kind === 'scalar' && node.value === null && !node.quoted
    ? `\`${path}\` has no value; it must be ${typeName(spec)}.`
    : `\`${path}\` must be ${typeName(spec)}, not ${nodeName(node)}.`;
}

/** The same value in the form that its key takes; null where there is none. */
function castFix(spec: KeySpec, node: Node): Fix | null {
  const newText = node.kind === 'scalar' && node.value !== null ? cast(spec, String(node.value), node.source) : null;
  return newText === null ? null : safeFix(`Change to ${newText}`, [{ span: node.span, newText }]);
}

function cast(spec: KeySpec, value: string, source: string): string | null {
  switch (spec.type) {
    case 'integer':
      return /^\s*[-+]?\d+(\.0*)?\s*$/.test(value) && Number(value) >= spec.min ? String(Number(value)) : null;
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
