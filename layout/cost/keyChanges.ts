import type { Edit, Span } from '../diagnostic';
import { endOfLine, joinInsertions, lineBreak, removeField, removeFields, setKey, startOfLine } from '../format/edit';
import type { RootKeys } from '../format/keys';
import type { Field } from '../format/spec';
import type { LayoutFacts } from '../topology/facts';

/** The sections of the file that are maps. */
export const SECTIONS = ['parallelism', 'sequence', 'batch', 'optimizer', 'recompute', 'cluster', 'model'] as const;
export type SectionName = (typeof SECTIONS)[number];

/** A value for a key of a section; null removes the key. */
export interface KeyChange {
  readonly section: SectionName & keyof RootKeys;
  readonly key: string;
  readonly value: string | null;
}

/** New values for keys of one section, in their order. */
export const keyChanges = (
  section: KeyChange['section'],
  values: Readonly<Record<string, string | number | boolean | null>>,
): readonly KeyChange[] =>
  Object.entries(values).map(([key, value]) => ({ section, key, value: value === null ? null : String(value) }));

/** The keys of a way to recompute: where all is computed again, one layer at a time. */
export const recomputeChanges = (granularity: 'none' | 'selective' | 'full'): readonly KeyChange[] =>
  keyChanges('recompute', {
    granularity: granularity === 'none' ? null : granularity,
    method: granularity === 'full' ? 'uniform' : null,
    num_layers: granularity === 'full' ? 1 : null,
  });

/**
 * The edits that give keys new values, in the sections where they stand, in one line each where a section is not there. Null where
 * one cannot be made, as its section is an alias of another.
 */
export function keyEdits(facts: LayoutFacts, changes: readonly KeyChange[]): readonly Edit[] | null {
  const sections = [...new Set(changes.map(({ section }) => section))];
  const edits = sections.flatMap((section) =>
    sectionEdits(
      facts,
      section,
      changes.filter((change) => change.section === section),
    ),
  );
  return edits.every((edit) => edit !== null) ? joinInsertions(edits) : null;
}

function sectionEdits(
  { text, root }: LayoutFacts,
  section: SectionName,
  changes: readonly KeyChange[],
): (Edit | null)[] {
  const map: Field<{ readonly [key: string]: Field<unknown> }> = root[section];
  const set = changes.flatMap(({ key, value }) => (value === null ? [] : [{ key, value }]));
  const lines = set.map(({ key, value }) => `${key}: ${value}`);
  if (!map.written) {
    const end = text.trimEnd().length;
    const newText = `${lineBreak(text)}${section}: {${lines.join(', ')}}`;
    return set.length === 0 ? [] : [{ span: { start: end, end }, newText }];
  }
  const opening = text[map.span.start];
  const fields = Object.entries(map.value ?? {}).filter(([, field]) => field.written && !field.given);
  const removed = new Set(changes.filter(({ value }) => value === null).map(({ key }) => key));
  const gone = fields.filter(([key]) => removed.has(key)).map(([, field]) => field);
  if (gone.length === fields.length && opening !== '*') {
    const isBlock = gone.length > 0 && opening !== '{';
    return set.length > 0
      ? [otherLines(text, map.span, lines, isBlock)]
      : gone.length > 0
        ? [removeField(text, map)]
        : [];
  }
  // new keys stand behind the last that stays, where no removal takes them along
  const stays = Math.max(...fields.flatMap(([key, { span }]) => (removed.has(key) ? [] : [span.end])));
  const kept = { start: map.span.start, end: opening === '{' ? stays + 1 : stays };
  return [
    ...removeFields(text, gone),
    ...set.map(({ key, value }) => setKey(text, kept, key, map.value?.[key], value)),
  ];
}

/** Lines in place of all that a section has: in its own style. */
function otherLines(text: string, { start, end }: Span, lines: readonly string[], isBlock: boolean): Edit {
  const gap = text[start - 1] === ':' ? ' ' : '';
  const indent = ' '.repeat(start - startOfLine(text, start));
  return isBlock
    ? { span: { start, end: endOfLine(text, end) }, newText: lines.join(`${lineBreak(text)}${indent}`) }
    : { span: { start, end }, newText: `${gap}{${lines.join(', ')}}` };
}
