import { FORMAT } from './keys';
import type { KeySpec, Keys } from './spec';

/** The reference of all keys as Markdown, made of their description: `docs/format.md`. */
export function formatMarkdown(): string {
  const { keys } = FORMAT;
  const sections = Object.entries(keys).flatMap(([name, spec]) => sectionOf(name, spec));
  return `# Keys of a layout file

Made of the description of the keys in \`layout/format/keys.ts\`. A key that is left out has its default; a derived value may be
written and is then checked. Flags are Megatron-LM's own options.

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
    const cells = [
      `\`${name}\``,
      typeOf(spec),
      defaultOf(spec),
      spec.doc,
      spec.flag ? `\`${spec.flag}\`` : '',
      spec.since ?? '',
    ];
    return `| ${cells.map(cell).join(' | ')} |`;
  });
  return `| key | type | default | meaning | flag | known to |\n| --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function typeOf(spec: KeySpec): string {
  switch (spec.type) {
    case 'integer':
      return `whole number from ${spec.min}`;
    case 'boolean':
      return 'true or false';
    case 'string':
      return 'text';
    case 'enum':
      return spec.options.map((option: string) => `\`${option}\``).join(', ');
    case 'size':
      return 'bytes with a unit (`64MiB`)';
    case 'duration':
      return 'seconds with a unit (`60s`)';
    case 'list':
      return `list of: ${typeOf(spec.items)}`;
    case 'either':
      return spec.forms.map(typeOf).join(', or ');
    case 'any':
      return 'any value';
    case 'map':
    case 'record':
      return 'map';
  }
}

function defaultOf(spec: KeySpec): string {
  if (spec.required) {
    return 'required';
  }
  if ('default' in spec && spec.default !== undefined) {
    return `\`${spec.default}\``;
  }
  return spec.derived ? `\`${spec.derived}\`` : '';
}
