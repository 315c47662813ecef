import type { CommBackend } from './plan';

/** A text. `pattern` is a regular expression of JSON Schema, which matches anywhere unless it is anchored. */
export interface TextField {
  readonly type: 'string';
  readonly description: string;
  readonly pattern?: string;
  /** What the pattern requires: `must be ...`. */
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
 * The description of one setting of a cluster. It is also its JSON schema, so that the validation of settings and the completion
 * of editors come from one source.
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

/** The values of settings. All are optional but the `Required` ones. */
export type SettingsOf<F extends Fields, Required extends keyof F = never> = {
  readonly [Key in Exclude<keyof F, Required>]?: ValueOf<F[Key]>;
} & { readonly [Key in Required]: ValueOf<F[Key]> };

/** The settings of all kinds of clusters. */
export interface ClusterBase {
  readonly name: string;
  readonly kind: string;
  readonly backend?: CommBackend;
}

/** The description of a kind of cluster. */
export interface KindDescription<F extends Fields = Fields> {
  readonly kind: string;
  /** One sentence: where the ranks run, and what starts them. */
  readonly description: string;
  readonly fields: F;
  /** The required fields. */
  readonly required: readonly (keyof F & string)[];
  /** The fields and example values that completion inserts. */
  readonly snippet: Readonly<Record<string, string | number>>;
}

/**
 * The characters that no setting may contain, for use inside `[^...]`: control characters, line ends and lone surrogates. They
 * are listed, as validators in Python know no classes such as `\p{Cc}`.
 */
export const UNPRINTABLE = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff`;

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
  description: 'The name of the cluster.',
} as const satisfies TextField;

/** The problem of a value, as a phrase after the field's name; null for a valid value. */
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
  const flaws = value.map((item) => flawOf(items, item));
  const first = flaws.findIndex((flaw) => flaw !== null);
  return first === -1 ? null : `entry ${first + 1} ${flaws[first]}`;
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

/** A tab stop of a snippet. */
function placeholder(place: number, value: string | number): string {
  return `\${${place}:${value}}`;
}
