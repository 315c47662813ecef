import type { Edit, Fix } from '../../diagnostic';
import { appendKey, lineBreak, removeField, startOfLine } from '../../format/edit';
import type { ReadLayout } from '../../format/read';
import { synonymOf } from '../../format/synonyms';
import type { Entry, MapNode } from '../../format/tree';
import { removeFix, safeFix } from '../fixes';
import { job, type Report, type Rule } from '../rule';
import { type Elsewhere, entriesAt, type Meaning, meaningsOf, type UnknownKey } from './meaning';

export const unknownKey: Rule = {
  code: 'unknown-key',
  severity: 'error',
  title: 'Unknown key',
  effect: 'the key is ignored',
  what: 'A key is misspelt, is the name of a Megatron-LM flag, or is written in the wrong map.',
  why: 'The degree that its author meant keeps its default.',
  failing: job(8, 'tpp: 2'),
  *checkShape(read) {
    for (const [problem, meaning] of meaningsOf(read)) {
      yield unknownReport(read, problem, meaning);
    }
  },
};

function unknownReport(read: ReadLayout, problem: UnknownKey, meaning: Meaning | null): Report {
  const { entry, spec, path } = problem;
  const { key, keySpan, value } = entry;
  const { text } = read;
  const remove = removeFix(text, key, { keySpan, span: value.span });
  switch (meaning?.kind) {
    case 'flag':
      return {
        message: `Write ${meaning.name}: ${key} is its Megatron-LM flag.`,
        span: keySpan,
        fixes: [renameFix(entry, meaning.name), remove],
      };
    case 'twice':
      return {
        message: `${key} is the Megatron-LM flag of ${meaning.name}, which is written too. Remove one.`,
        span: keySpan,
        fixes: [remove],
      };
    case 'elsewhere': {
      const place = meaning.path === '' ? 'the top level' : meaning.path;
      const home = `${meaning.path === '' ? 'at' : 'under'} ${place}${meaning.isThere ? ', which has it already' : ''}`;
      const move = meaning.isThere ? null : moveFix(read, problem, meaning, `Move to ${place}`);
      // a word that may mean something else, too, is moved by its author only
      const isGuess = synonymOf(key) === meaning.name;
      const flag = meaning.name === key ? '' : `: ${key} is its Megatron-LM flag`;
      return {
        message: isGuess
          ? `Did you mean ${meaning.name}? It belongs ${home}.`
          : `${meaning.name} belongs ${home}${flag}.`,
        span: keySpan,
        fixes: [move && isGuess ? { ...move, applicability: 'suggestion' } : move, remove],
      };
    }
    default: {
      const advice = meaning ? `Did you mean ${meaning.name}?` : `Its keys are ${listOf(Object.keys(spec.keys))}.`;
      return {
        message: `${path === '' ? 'A layout' : path} has no key '${key}'. ${advice}`,
        span: keySpan,
        predicts: Object.hasOwn(WITHDRAWN, key) ? (WITHDRAWN[key] ?? null) : null,
        fixes: [meaning && renameFix(entry, meaning.name), remove],
      };
    }
  }
}

/** Arguments that Megatron-LM has withdrawn, and what it says of them (`validate_args` in megatron/training/arguments.py). */
const WITHDRAWN: Readonly<Record<string, string>> = {
  batch_size: '--batch-size argument is no longer valid, use --micro-batch-size instead',
  warmup: '--warmup argument is no longer valid, use --lr-warmup-fraction instead',
  model_parallel_size: '--model-parallel-size is no longer valid, use --tensor-model-parallel-size instead',
};

/** How many keys a message names. */
const MAX_NAMED = 12;

function listOf(names: readonly string[]): string {
  const named = names.slice(0, MAX_NAMED);
  const more = names.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more, which completion lists` : named.join(', ');
}

function renameFix({ keySpan }: Entry, name: string): Fix {
  return safeFix(`Rename to ${name}`, [{ span: keySpan, newText: name }]);
}

/** Moves an entry to the map that it belongs into; null where that takes more than a line. */
function moveFix(
  { text, tree }: ReadLayout,
  unknown: UnknownKey,
  { path, name, node, isAround }: Elsewhere,
  title: string,
) {
  const { keySpan, value } = unknown.entry;
  const written = text.slice(value.span.start, value.span.end);
  if (/[\r\n]/.test(text.slice(keySpan.end, value.span.end))) {
    return null;
  }
  const line = `${name}: ${written}`;
  const field = { keySpan, span: value.span };
  const homes = entriesAt(tree.root, unknown.path);
  // a map that is left without keys goes, too
  const emptied = !isAround && unknown.siblings.size === 1 ? homes.at(-1) : undefined;
  const removal = removeField(text, emptied ? { keySpan: emptied.keySpan, span: emptied.value.span } : field);
  if (node) {
    return safeFix(title, [removal, isAround ? insertBehindFirst(text, node, line) : appendKey(text, node.span, line)]);
  }
  const [section = '', ...outside] = path.split('.').reverse();
  const newText = `${section}: {${line}}`;
  if (unknown.path === outside.reverse().join('.')) {
    return safeFix(title, [{ span: { start: keySpan.start, end: Math.max(keySpan.end, value.span.end) }, newText }]);
  }
  // a line of its own in front of the section of the file that the entry stands in
  const before = outside.length === 0 ? homes[0] : undefined;
  if (!before || startOfLine(text, before.keySpan.start) !== before.keySpan.start) {
    return null;
  }
  const start = before.keySpan.start;
  return safeFix(title, [{ span: { start, end: start }, newText: `${newText}${lineBreak(text)}` }, removal]);
}

/** A line behind the first entry of a map: its end may be what moves away. */
function insertBehindFirst(text: string, { span, entries, flow }: MapNode, line: string): Edit | null {
  const first = entries[0];
  return !first || flow ? null : appendKey(text, { start: span.start, end: first.value.span.end }, line);
}
