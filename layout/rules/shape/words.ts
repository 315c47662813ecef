import type { Node } from '../../format/tree';

/** The longest piece of a value that a message quotes, in characters. */
const MAX_QUOTED = 40;

/** What the file has in its place: `the text "8"`. */
export function nodeName(node: Node): string {
  if (node.kind !== 'scalar') {
    return node.kind === 'map' ? 'a map' : 'a list';
  }
  const shown = node.source.length > MAX_QUOTED ? `${node.source.slice(0, MAX_QUOTED)}…` : node.source;
  return node.quoted ? `the text ${shown}` : `\`${shown}\``;
}
