import { ANY_INTEGER, FORMAT, FORMAT_VERSION } from './keys';
import { keyFacts } from './keyText';
import type { KeySpec, MapSpec } from './spec';

/** A JSON schema (draft 7), with the additions that VS Code and the YAML extension read. */
export type JsonSchema = { readonly [name: string]: unknown };

/** Where the schema is to be found. */
const ID = 'https://raw.githubusercontent.com/parallelism-layout/parallelism-layout/main/schemas/layout.schema.json';

/** The texts that `parseSize` and `parseDuration` take, but for those of no size. */
const SIZE = String.raw`^\s*\d+(\.\d+)?\s*([kKmMgG][iI]?)?[bB]\s*$`;
const DURATION = String.raw`^\s*\d+(\.\d+)?\s*([uUmM][sS]|[sS]|[mM]([iI][nN])?|[hH])\s*$`;

/**
 * The layout file as a JSON schema, made of the one description of its keys: for editors without this product's server,
 * and for files that it does not take for layouts. It knows the file's shape; what the numbers must be to one another only
 * the rules know.
 */
export function layoutSchema(): JsonSchema {
  const { properties, ...root } = schemaOf(FORMAT);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: ID,
    title: 'Parallelism layout',
    ...root,
    properties: { ...(properties as JsonSchema), layout: { ...schemaOf(FORMAT.keys.layout), const: FORMAT_VERSION } },
    allOf: [
      { anyOf: [{ required: ['world_size'] }, { required: ['cluster'] }] },
      { oneOf: [{ required: ['parallelism'] }, { required: ['modules'] }] },
    ],
  };
}

function schemaOf(spec: KeySpec): JsonSchema {
  return { description: spec.doc.replaceAll('`', ''), markdownDescription: markdown(spec), ...typeOf(spec) };
}

function typeOf(spec: KeySpec): JsonSchema {
  const constant = 'default' in spec && spec.default !== undefined ? { default: spec.default } : {};
  switch (spec.type) {
    case 'integer':
      return { type: 'integer', ...(spec.min > ANY_INTEGER && { minimum: spec.min }), ...constant };
    case 'share':
      return { type: 'number', minimum: 0, maximum: 1, ...constant };
    case 'boolean':
    case 'string':
      return { type: spec.type, ...constant };
    case 'enum':
      return { type: 'string', enum: spec.options, ...constant };
    case 'size':
      return { type: 'string', pattern: SIZE, ...constant };
    case 'duration':
      return { type: 'string', pattern: DURATION, ...constant };
    case 'any':
      return {};
    case 'either':
      return { anyOf: spec.forms.map(typeOf) };
    case 'list':
      return { type: 'array', items: schemaOf(spec.items) };
    case 'map':
      return mapSchema(spec);
    case 'record':
      return { type: 'object', additionalProperties: schemaOf(spec.values) };
  }
}

function mapSchema({ keys }: MapSpec): JsonSchema {
  const entries = Object.entries(keys);
  const required = entries.filter(([, spec]) => spec.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, spec]) => [name, schemaOf(spec)])),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

function markdown(spec: KeySpec): string {
  // the schema itself says the type, and which keys are required
  const notes = keyFacts(spec).filter(([word, text]) => word !== 'type' && text !== 'required');
  return [spec.doc, ...notes.map(([word, text]) => `${capitalized(word)}: ${text}.`)].join('\n\n');
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
