import type { Applicability, Edit, Fix, Span } from '../diagnostic';
import { appendKey, joinInsertions, removeField, removeFields, setKey } from '../format/edit';
import type { Field } from '../format/spec';
import type { LayoutFacts, ModuleFacts } from '../topology/facts';

/** A degree of generalized TP. */
export type Remat = 'gtp_remat' | 'expt_gtp_remat';

/** A fix that may be applied unasked; null where one of its edits cannot be made. */
export function safeFix(title: string, edits: readonly Edit[]): Fix;
export function safeFix(title: string, edits: readonly (Edit | null)[]): Fix | null;
export function safeFix(title: string, edits: readonly (Edit | null)[]): Fix | null {
  return fixOf(title, 'safe', edits);
}

/** A fix that the author decides on; null where one of its edits cannot be made. */
export function suggestion(title: string, edits: readonly Edit[]): Fix;
export function suggestion(title: string, edits: readonly (Edit | null)[]): Fix | null;
export function suggestion(title: string, edits: readonly (Edit | null)[]): Fix | null {
  return fixOf(title, 'suggestion', edits);
}

function fixOf(title: string, applicability: Applicability, all: readonly (Edit | null)[]): Fix | null {
  const edits = all.filter((edit) => edit !== null);
  const isWhole = edits.length === all.length && edits.length > 0;
  return isWhole ? { title, applicability, edits: joinInsertions(edits) } : null;
}

/** Suggests another value for a key; null where it is not written. */
export function changeFix(
  name: string,
  field: Pick<Field<unknown>, 'written' | 'given' | 'span'> | undefined,
  value: number | string,
): Fix | null {
  return field?.written && !field.given
    ? suggestion(`Change ${name} to ${value}`, [{ span: field.span, newText: String(value) }])
    : null;
}

/** The place of a value that others would put right, and a change to each of those, the likeliest first. */
export function changes(
  name: string,
  field: Field<unknown>,
  ...values: readonly (number | string)[]
): { readonly span: Span; readonly fixes: readonly (Fix | null)[] } {
  return { span: field.span, fixes: values.map((value) => changeFix(name, field, value)) };
}

/** Suggests another text for a value. */
export function replaceFix(span: Span, newText: string): Fix {
  return { title: `Change to ${newText}`, applicability: 'suggestion', edits: [{ span, newText }] };
}

/** Suggests a line such as `tp: 2` at the end of a map; null where the map is an alias of another. */
export function insertFix(text: string, map: Span, line: string): Fix | null {
  return suggestion(`Insert ${line}`, [appendKey(text, map, line)]);
}

/** Suggests a value for a key of a map: another one, or a line where the key is not written. */
export function setFix(
  text: string,
  map: Span,
  name: string,
  field: Field<unknown> | undefined,
  value: number | string,
): Fix | null {
  return changeFix(name, field, value) ?? insertFix(text, map, `${name}: ${value}`);
}

/** Suggests to take out a written key. */
export function removeFix(
  text: string,
  name: string,
  field: Pick<Field<unknown>, 'keySpan' | 'span' | 'given'> | undefined,
): Fix | null {
  return field && !field.given ? suggestion(`Remove ${name}`, [removeField(text, field)]) : null;
}

/** Suggests a grid without generalized TP: the keys that make it go, its degree and the number of weight shards. */
export function withoutRemat(text: string, { fields }: ModuleFacts, name: Remat): Fix | null {
  const causes = [fields[name], name === 'gtp_remat' ? fields.num_weight_shards : fields.expt_num_weight_shards];
  return suggestion(`Use ${name} 1`, removeFields(text, causes));
}

/**
 * The edits that make the world `ranks` large: `world_size`, and `cluster.nodes` where a cluster is written.
 * Null where whole nodes cannot make it.
 */
export function worldSizeEdits({ text, root }: LayoutFacts, ranks: number): Edit[] | null {
  const cluster = root.cluster.value;
  const perNode = cluster?.gpus_per_node.value;
  const nodes = perNode !== undefined && cluster?.nodes.written ? ranks / perNode : undefined;
  if (nodes !== undefined && !Number.isInteger(nodes)) {
    return null;
  }
  const world = root.world_size.written
    ? setKey(text, root.world_size.span, 'world_size', root.world_size, ranks)
    : null;
  return [
    ...(world ? [world] : []),
    ...(nodes !== undefined && cluster ? [{ span: cluster.nodes.span, newText: String(nodes) }] : []),
  ];
}
