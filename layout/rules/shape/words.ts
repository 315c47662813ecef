import type { KeySpec } from '../../format/spec';
import type { Node } from '../../format/tree';

/** The longest piece of a value that a message quotes, in characters. */
const MAX_QUOTED = 40;

/** What a key wants, in words: `a whole number`. */
export function typeName(spec: KeySpec): string {
  switch (spec.type) {
    case 'integer':
      return 'a whole number';
    case 'share':
      return 'a number from 0 to 1';
    case 'boolean':
      return 'true or false';
    case 'string':
      return 'a text';
    case 'enum':
      return `one of ${spec.options.join(', ')}`;
    case 'size':
      return 'a size with a unit, such as 64MiB';
    case 'duration':
      return 'a duration with a unit, such as 60s';
    case 'any':
      return 'a value';
    case 'either':
      return spec.forms.map(typeName).join(', or ');
    case 'list':
      return 'a list';
    case 'map':
    case 'record':
      return 'a map of keys';
  }
}

/** What the file has in its place: `the text "8"`. */
export function nodeName(node: Node): string {
  if (node.kind !== 'scalar') {
    return node.kind === 'map' ? 'a map' : 'a list';
  }
  const shown = node.source.length > MAX_QUOTED ? `${node.source.slice(0, MAX_QUOTED)}…` : node.source;
  return node.quoted ? `the text ${shown}` : `\`${shown}\``;
}
