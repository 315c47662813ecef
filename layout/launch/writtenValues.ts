import { derivedFrom, shardFactors, specBelow, specOf } from '../format/keyPath';
import { FORMAT, type KeyPath } from '../format/keys';
import type { KeySpec } from '../format/spec';
import { type Node, parseTree } from '../format/tree';
import { modelNamed } from '../models';
import type { Place } from './sources/shell/words';
import type { FactValue } from './value';

/** One value of a layout file with its place. */
export interface LayoutValue {
  readonly value: FactValue;
  readonly place: Place;
}

/** The values that a layout file writes for the keys of the format, by their paths. */
export type LayoutValues = ReadonlyMap<KeyPath, LayoutValue>;

/** The values that a layout file writes, by the path of their key; null where it is no map. */
export function layoutFileValues(file: string, text: string): LayoutValues | null {
  const { root } = parseTree(text);
  return root?.kind === 'map' ? layoutNodeValues(file, root) : null;
}

/**
 * As `layoutFileValues`, from a tree that has been parsed already: for callers that compare at every keystroke.
 * @param file the layout's path
 */
export function layoutNodeValues(file: string, root: Node | null): LayoutValues {
  const values = new Map<KeyPath, LayoutValue>();
  collect(file, root, '', FORMAT, values);
  return values;
}

function collect(
  file: string,
  node: Node | null,
  path: string,
  spec: KeySpec | undefined,
  values: Map<KeyPath, LayoutValue>,
): void {
  for (const { key, value } of node?.kind === 'map' ? node.entries : []) {
    const whole = path === '' ? key : `${path}.${key}`;
    const own = specBelow(spec, key);
    // a module may have a name with dots: the format decides, not the parts of the path
    const known = own && (whole as KeyPath);
    const plain = plainOf(value);
    if (value.kind === 'map') {
      collect(file, value, whole, own, values);
    } else if (plain !== null && known && !values.has(known)) {
      values.set(known, { value: plain, place: { file, offset: value.span.start } });
    }
  }
}

function plainOf(node: Node): FactValue | null {
  if (node.kind === 'scalar') {
    return typeof node.value === 'bigint' ? Number(node.value) : node.value;
  }
  if (node.kind === 'map') {
    const entries = node.entries.map(({ key, value }) => [key, value ? plainOf(value) : null] as const);
    return Object.fromEntries(entries.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  }
  const items = node.items.map(plainOf);
  return items.some((item) => item === null) ? null : items.filter((item) => item !== null);
}

/** The world size of a layout: written, or its cluster's. */
export function worldOf(values: LayoutValues): LayoutValue | undefined {
  const written = values.get('world_size');
  const [nodes, each] = [values.get('cluster.nodes'), values.get('cluster.gpus_per_node')];
  if (written || typeof nodes?.value !== 'number' || typeof each?.value !== 'number') {
    return written;
  }
  return { value: nodes.value * each.value, place: nodes.place };
}

/**
 * The public model that a layout names, with its sizes but for prediction depths, which are a choice of the job; null where it names
 * none.
 */
export function namedModel(values: LayoutValues): { readonly name: string; readonly sizes: LayoutValues } | null {
  const from = values.get('model.from');
  const model = typeof from?.value === 'string' ? modelNamed(from.value) : undefined;
  if (!from || !model) {
    return null;
  }
  const { mtp_num_layers: _, ...facts } = model.facts;
  const sizes = Object.entries(facts).map(
    ([name, value]) => [`model.${name as keyof typeof facts}`, { value, place: from.place }] as const,
  );
  return { name: model.name, sizes: new Map(sizes) };
}

/** What a layout means for a key: what it writes, or the format's default; undefined where it leaves the value open. */
export function effectiveValue(values: LayoutValues, key: KeyPath): FactValue | undefined {
  const written = values.get(key)?.value;
  if (written !== undefined) {
    return written;
  }
  if (key === 'world_size') {
    return worldOf(values)?.value;
  }
  if (!hasSection(values, key)) {
    return undefined;
  }
  const other = derivedFrom(key);
  if (other !== undefined) {
    return effectiveValue(values, other);
  }
  const factors = shardFactors(key);
  if (factors) {
    const [tp, remat] = [factors.tp, factors.remat].map((factor) => effectiveValue(values, factor));
    return typeof tp === 'number' && typeof remat === 'number' ? tp * remat : undefined;
  }
  if (key === 'parallelism.vpp') {
    return NAMES_CHUNKS.some((one) => values.has(one)) ? undefined : 1;
  }
  const spec = specOf(key);
  return spec && 'default' in spec ? spec.default : undefined;
}

/** Keys from which the chunks of a stage follow; a layout with none of them, and without `vpp`, does not interleave. */
const NAMES_CHUNKS: readonly KeyPath[] = [
  'parallelism.num_layers_per_virtual_pipeline_stage',
  'parallelism.pipeline_model_parallel_layout',
];

/** Whether a layout has the section that a key belongs to; degrees have defaults in a layout that has any. */
function hasSection(values: LayoutValues, key: KeyPath): boolean {
  const section = key.slice(0, key.lastIndexOf('.') + 1);
  return section !== '' && [...values.keys()].some((one) => one.startsWith(section));
}
