import type { KeySpec } from './spec';

/** The types of keys in words: as a message says what a key must be, and as the reference and hover name the type. */
const WORDS = {
  integer: ['a whole number', 'whole number'],
  share: ['a number from 0 to 1', 'number from 0 to 1'],
  boolean: ['true or false', 'true or false'],
  string: ['a text', 'text'],
  size: ['a size with a unit, such as 64MiB', 'bytes with a unit (`64MiB`)'],
  duration: ['a duration with a unit, such as 60s', 'seconds with a unit (`60s`)'],
  any: ['a value', 'any value'],
  list: ['a list', 'list'],
  map: ['a map of keys', 'map'],
  record: ['a map of keys', 'map'],
} as const;

/** What a key must be: `a whole number`. */
export function wantedText(spec: KeySpec): string {
  switch (spec.type) {
    case 'enum':
      return `one of ${spec.options.join(', ')}`;
    case 'either':
      return spec.forms.map(wantedText).join(', or ');
    default:
      return WORDS[spec.type][0];
  }
}

/** The type of a key as Markdown, with its bounds: `whole number from 1`. */
export function typeText(spec: KeySpec): string {
  switch (spec.type) {
    case 'enum':
      return spec.options.map((option: string) => `\`${option}\``).join(', ');
    case 'either':
      return spec.forms.map(typeText).join(', or ');
    case 'integer':
      return spec.min < 0 ? WORDS.integer[1] : `${WORDS.integer[1]} from ${spec.min}`;
    case 'list':
      return `list of: ${typeText(spec.items)}`;
    default:
      return WORDS[spec.type][1];
  }
}
