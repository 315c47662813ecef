import type { Edit } from '../diagnostic';
import { appendKey, lineBreak, removeField, setKey } from '../format/edit';
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
  return edits.every((edit) => edit !== null) ? edits : null;
}

function sectionEdits(
  { text, root }: LayoutFacts,
  section: SectionName,
  changes: readonly KeyChange[],
): (Edit | null)[] {
  const map: Field<{ readonly [key: string]: Field<unknown> }> = root[section];
  const set = changes.filter(({ value }) => value !== null);
  if (!map.written) {
    return set.length === 0 ? [] : [newSection(text, section, set)];
  }
  const written = Object.entries(map.value ?? {}).filter(([, field]) => field.written);
  const removed = new Set(changes.filter(({ value }) => value === null).map(({ key }) => key));
  const stays = written.filter(([key]) => !removed.has(key));
  if (stays.length === 0 && set.length === 0) {
    return written.length === 0 ? [] : [removeField(text, map)];
  }
  const added = set.filter(({ key }) => !map.value?.[key]?.written);
  if (text[map.span.start] === '{' && stays.length < written.length) {
    // one edit: those that remove neighbours would overlap at their commas
    const kept = stays.map(([key, { keySpan, span }]) => {
      const change = set.find((one) => one.key === key);
      return change ? line(change) : text.slice(keySpan.start, span.end);
    });
    return [{ span: map.span, newText: `{${[...kept, ...added.map(line)].join(', ')}}` }];
  }
  return [
    ...changes.flatMap(({ key, value }) => {
      const field = map.value?.[key];
      if (!field?.written) {
        return [];
      }
      return [value === null ? removeField(text, field) : setKey(text, map.span, key, field, value)];
    }),
    ...(added.length > 0 ? [appendAll(text, map, added)] : []),
  ];
}

const line = ({ key, value }: KeyChange) => `${key}: ${value}`;

/** All new keys of one section in one edit: several at one place would overlap. */
function appendAll(text: string, map: Field<unknown>, added: readonly KeyChange[]): Edit | null {
  const edits = added.map((change) => appendKey(text, map.span, line(change)));
  const [first] = edits;
  return first ? { span: first.span, newText: edits.map((edit) => edit?.newText ?? '').join('') } : null;
}

function newSection(text: string, section: string, set: readonly KeyChange[]): Edit {
  const end = text.trimEnd().length;
  return { span: { start: end, end }, newText: `${lineBreak(text)}${section}: {${set.map(line).join(', ')}}` };
}
