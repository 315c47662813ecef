import type { Node } from '../format/tree';
import type { FactValue } from './facts';
import type { LayoutValue } from './layout-values';

/**
 * The values that a layout file writes, as `layoutFileValues` gives them, from a tree that has been parsed already: for
 * callers that compare at every keystroke.
 * @param file the layout's path
 */
export function layoutNodeValues(file: string, root: Node | null): ReadonlyMap<string, LayoutValue> {
  const values = new Map<string, LayoutValue>();
  collect(file, root, '', values);
  return values;
}

function collect(file: string, node: Node | null, path: string, values: Map<string, LayoutValue>): void {
  for (const { key, value } of node?.kind === 'map' ? node.entries : []) {
    const whole = path === '' ? key : `${path}.${key}`;
    const plain = plainOf(value);
    if (value.kind === 'map') {
      collect(file, value, whole, values);
    } else if (plain !== null && !values.has(whole)) {
      values.set(whole, { value: plain, place: { file, offset: value.span.start } });
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
