import type { Entry, Node, ScalarNode } from './node';

/** The entries of a map that stand in it: an alias shows the entries of another map, whose places are elsewhere. */
export function entriesIn(node: Node): readonly Entry[] {
  const { start, end } = node.span;
  return node.kind === 'map'
    ? node.entries.filter(({ keySpan, value }) => start <= keySpan.start && value.span.end <= end)
    : [];
}

/** The nodes that stand directly inside another: the values of a map, the items of a list. */
export function childrenOf(node: Node): readonly Node[] {
  const { start, end } = node.span;
  return node.kind === 'list'
    ? node.items.filter(({ span }) => start <= span.start && span.end <= end)
    : entriesIn(node).map(({ value }) => value);
}

/** The scalars of a tree in the order of the file. */
export function* scalarsOf(node: Node | null): Iterable<ScalarNode> {
  if (node?.kind === 'scalar') {
    yield node;
  } else if (node) {
    for (const child of childrenOf(node)) {
      yield* scalarsOf(child);
    }
  }
}
