import { FORMAT } from './keys';
import { defaultText, flagText, keyFacts } from './keyText';
import type { KeySpec, Keys } from './spec';
import { plainWord, synonymOf } from './synonyms';
import { typeText } from './typeText';

/** The reference of all keys as Markdown, made of their description: `docs/format.md`. */
export function formatMarkdown(): string {
  const { keys } = FORMAT;
  const sections = Object.entries(keys).flatMap(([name, spec]) => sectionOf(name, spec));
  return `# Keys of a layout file

Made of the description of the keys in \`layout/format/keys.ts\`. A key that is left out has its default; a derived value may be
written and is then checked. Where the default is *open*, the rules assume nothing for a key that is left out, as the job may set
it elsewhere; the value shown is Megatron-LM's default. Flags are Megatron-LM's own options.

## Top level

${table(keys)}
${sections.join('\n')}`;
}

/** The section of a key that holds a map, and those of the maps in it. */
function sectionOf(path: string, spec: KeySpec): string[] {
  const inner = spec.type === 'list' ? spec.items : spec.type === 'record' ? spec.values : spec;
  if (inner.type !== 'map') {
    return [];
  }
  const name = spec.type === 'record' ? `${path}.<name>` : path;
  const keys = inner.keys as Keys;
  // model and sequence stand on their own, and inside a module alike
  const own = Object.entries(keys).filter(([key]) => !(path === 'modules' && ['model', 'sequence'].includes(key)));
  return [
    `## \`${name}\`\n\n${spec.doc}\n\n${table(keys)}`,
    ...own.flatMap(([key, child]) => sectionOf(`${name}.${key}`, child)),
  ];
}

function table(keys: Keys): string {
  const rows = Object.entries(keys).map(([name, spec]) => {
    const cells = [`\`${name}\``, typeText(spec), defaultText(spec), spec.doc, flagText(spec), spec.since ?? ''];
    return `| ${cells.map(cell).join(' | ')} |`;
  });
  return `| key | type | default | meaning | flag | known to |\n| --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A key of the format with its place, such as `modules.<name>.tp`. */
interface PlacedKey {
  readonly path: string;
  readonly name: string;
  readonly spec: KeySpec;
}

/** All keys, each as often as a map has it, in the order of the format. */
export function placedKeys(keys: Keys = FORMAT.keys, parent = ''): PlacedKey[] {
  return Object.entries(keys).flatMap(([name, spec]) => {
    const path = parent === '' ? name : `${parent}.${name}`;
    const value = spec.type === 'list' ? spec.items : spec;
    const inner = value.type === 'record' ? value.values : value;
    const below = inner.type === 'map' ? placedKeys(inner.keys, value.type === 'record' ? `${path}.<name>` : path) : [];
    return [{ path, name, spec }, ...below];
  });
}

/** The names of all keys, each once. */
export function keyNames(): string[] {
  return [...new Set(placedKeys().map(({ name }) => name))];
}

/** The flags of Megatron-LM that are keys, such as `--tensor-model-parallel-size`, each once. */
export function flagNames(): string[] {
  return [...new Set(placedKeys().flatMap(({ spec }) => spec.flag?.split('=', 1) ?? []))];
}

/**
 * What the format says of a key, as Markdown: a section for each meaning, with the maps that have the key in it.
 * @param word its name, its path (`parallelism.tp`, `modules.vision.tp`), its flag of Megatron-LM, or another word that people write for it
 * @returns null where no key is known by the word
 */
export function keyMarkdown(word: string): string | null {
  const keys = placedKeys();
  const found = keysBy(keys, word);
  const meant = found.length > 0 ? found : keysBy(keys, synonymOf(word) ?? word);
  const placesOf = new Map<string, string[]>();
  for (const key of meant) {
    const text = keyText(key);
    placesOf.set(text, [...(placesOf.get(text) ?? []), `\`${key.path}\``]);
  }
  const sections = [...placesOf].map(([text, places]) => `${text}- written as: ${places.join(', ')}\n`);
  return sections.length === 0 ? null : sections.join('\n');
}

/** The keys of a name or a path; where there are none, those of a flag. */
function keysBy(keys: readonly PlacedKey[], word: string): readonly PlacedKey[] {
  const parts = word.split('.');
  const isAt = (path: string) => {
    const own = path.split('.');
    return own.length === parts.length && own.every((part, i) => part === '<name>' || part === parts[i]);
  };
  const named = keys.filter(({ path, name }) => name === word || isAt(path));
  const plain = (one: string) => plainWord(one.split('=', 1)[0] ?? '');
  return named.length > 0 ? named : keys.filter(({ name, spec }) => plain(spec.flag ?? name) === plain(word));
}

function keyText({ name, spec }: PlacedKey): string {
  const facts = keyFacts(spec).map(([word, text]) => (text === 'required' ? text : `${word}: ${text}`));
  return `# Key ${name}\n\n${spec.doc}\n\n${facts.map((fact) => `- ${fact}\n`).join('')}`;
}
