import { childrenOf, type Entry, type Node, type ScalarNode, type Span } from '../layout';

/** A place in the tree: the keys that lead to it, and the entry that the offset touches. */
export interface Located {
  /** Keys from the root, such as `['modules', 'language', 'tp']`. */
  readonly path: readonly string[];
  readonly entry: Entry;
  readonly onKey: boolean;
}

/** The innermost entry whose key or value holds an offset; null outside of all. */
export function locate(root: Node | null, offset: number, path: readonly string[] = []): Located | null {
  if (root?.kind === 'list') {
    const item = root.items.find(({ span }) => span.start <= offset && offset <= span.end);
    return item ? locate(item, offset, path) : null;
  }
  if (root?.kind !== 'map') {
    return null;
  }
  for (const entry of root.entries) {
    const here = [...path, entry.key];
    const onKey = entry.keySpan.start <= offset && offset <= entry.keySpan.end;
    const onValue = entry.value.span.start <= offset && offset <= entry.value.span.end;
    if (onKey || onValue) {
      return (onKey ? null : locate(entry.value, offset, here)) ?? { path: here, entry, onKey };
    }
  }
  return null;
}

/** The scalar that an offset touches, inside of a node. */
export function scalarAt(node: Node, offset: number): ScalarNode | null {
  if (node.kind === 'scalar') {
    return node;
  }
  const child = childrenOf(node).find(({ span }) => span.start <= offset && offset <= span.end);
  return child ? scalarAt(child, offset) : null;
}

/** From the start of an entry's key to the end of its value. */
export function entrySpan({ keySpan, value }: Entry): Span {
  return { start: keySpan.start, end: Math.max(keySpan.end, value.span.end) };
}
