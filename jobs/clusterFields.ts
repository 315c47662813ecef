import type { CommBackend } from './plan';

/** One text. `pattern` is a regular expression of JSON Schema, which finds anywhere: anchor it. */
export interface TextField {
  readonly type: 'string';
  readonly description: string;
  readonly pattern?: string;
  /** What the text must be, where it must fit a pattern: `must be ...`. */
  readonly patternErrorMessage?: string;
  readonly enum?: readonly string[];
  readonly default?: string;
  readonly examples?: readonly string[];
}

/** A whole number. */
export interface NumberField {
  readonly type: 'integer';
  readonly description: string;
  readonly minimum: number;
  readonly maximum: number;
}

/** A list of texts. */
export interface ListField {
  readonly type: 'array';
  readonly description: string;
  readonly items: Omit<TextField, 'description'>;
  readonly maxItems: number;
  readonly examples?: readonly (readonly string[])[];
}

/**
 * The description of one setting of a cluster. It is a JSON schema as it stands: what a reader of settings refuses, and
 * what an editor completes and marks, come from the same words.
 */
type Field = TextField | NumberField | ListField;

/** The settings of a kind of cluster, by name. */
export type Fields = Readonly<Record<string, Field>>;

type ValueOf<F extends { readonly type: string }> = F extends { readonly enum: readonly (infer Word)[] }
  ? Word
  : F extends { readonly type: 'string' }
    ? string
    : F extends { readonly type: 'integer' }
      ? number
      : readonly string[];

/** The values that fit a description of settings. All may be left out but the `Required` ones. */
export type SettingsOf<F extends Fields, Required extends keyof F = never> = {
  readonly [Key in Exclude<keyof F, Required>]?: ValueOf<F[Key]>;
} & { readonly [Key in Required]: ValueOf<F[Key]> };

/** What a cluster of any kind has. */
export interface ClusterBase {
  readonly name: string;
  readonly kind: string;
  readonly backend?: CommBackend;
}

/** A kind of cluster as its user writes it down. */
export interface KindDescription<F extends Fields = Fields> {
  readonly kind: string;
  /** One sentence: where the ranks run, and what starts them. */
  readonly description: string;
  readonly fields: F;
  /** The fields that cannot be left out. */
  readonly required: readonly (keyof F & string)[];
  /** The fields to begin with, with values to overwrite: what completion inserts. */
  readonly snippet: Readonly<Record<string, string | number>>;
}

/**
 * The character class of what no setting may hold: control characters, line ends, and halves of characters, which would
 * not arrive as written. For use inside `[^...]`.
 */
export const UNPRINTABLE = String.raw`\p{Cc}\p{Cs}\p{Zl}\p{Zp}`;

/** The setting `backend`, which every kind has. */
export const BACKEND_FIELD = {
  type: 'string',
  enum: ['auto', 'nccl', 'gloo'],
  default: 'auto',
  description: 'The communication backend. `auto` is NCCL where there are GPUs, gloo otherwise.',
} as const satisfies TextField;

/** The setting `python`: a program's name on PATH, or a path. */
export const PYTHON_FIELD = {
  type: 'string',
  pattern: String.raw`^[^${UNPRINTABLE}\-\s][^${UNPRINTABLE}]*$`,
  patternErrorMessage: 'must be the path of an interpreter',
  description: 'The Python interpreter (3.9 or newer) with torch.',
  examples: ['python3', '/opt/venv/bin/python'],
} as const satisfies TextField;

/** The setting `name`. */
export const NAME_FIELD = {
  type: 'string',
  pattern: String.raw`^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$`,
  patternErrorMessage: 'must be of letters, digits, dots and dashes',
  description: 'How the cluster is called.',
} as const satisfies TextField;

/** What a field has against a value, as a phrase that follows the field's name; null where nothing. */
export function flawOf(field: Omit<TextField, 'description'> | NumberField | ListField, value: unknown): string | null {
  switch (field.type) {
    case 'string':
      return flawOfText(field, value);
    case 'integer':
      return Number.isInteger(value) && Number(value) >= field.minimum && Number(value) <= field.maximum
        ? null
        : `must be a whole number from ${field.minimum} to ${field.maximum}`;
    case 'array':
      return flawOfList(field, value);
  }
}

function flawOfText(
  { pattern, patternErrorMessage, enum: words }: Omit<TextField, 'description'>,
  value: unknown,
): string | null {
  if (words) {
    return typeof value === 'string' && words.includes(value) ? null : `must be one of ${words.join(', ')}`;
  }
  const fits = typeof value === 'string' && (pattern === undefined || new RegExp(pattern, 'u').test(value));
  return fits ? null : (patternErrorMessage ?? 'must be a text');
}

function flawOfList({ items, maxItems }: ListField, value: unknown): string | null {
  if (!Array.isArray(value)) {
    return 'must be a list';
  }
  if (value.length > maxItems) {
    return `must have at most ${maxItems} entries`;
  }
  const flaw = value.map((item) => flawOf(items, item)).find((one) => one !== null);
  return flaw === undefined ? null : `has an entry that ${flaw}`;
}

/** The JSON schema of one kind's entry in a list of clusters. */
export function entrySchema({ kind, description, fields, required, snippet }: KindDescription): object {
  return {
    type: 'object',
    description,
    required: ['name', 'kind', ...required],
    properties: { name: NAME_FIELD, kind: { const: kind, description }, ...fields },
    additionalProperties: false,
    defaultSnippets: [{ label: kind, description, body: { name: placeholder(1, kind), kind, ...body(snippet) } }],
  };
}

function body(snippet: KindDescription['snippet']): object {
  return Object.fromEntries(
    Object.entries(snippet).map(([key, value], i) => [
      key,
      // a value that begins with ^ is inserted without quotes
      typeof value === 'number' ? `^${placeholder(i + 2, value)}` : placeholder(i + 2, value),
    ]),
  );
}

/** A place of a snippet that the user goes through with the tab key. */
function placeholder(place: number, value: string | number): string {
  return `\${${place}:${value}}`;
}
