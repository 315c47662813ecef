import type { Span } from '../diagnostic';

/** What every key has, whatever its type: the source of hover, completion, the JSON schema and the key reference. */
interface Described {
  /** One or two sentences of Markdown. */
  readonly doc: string;
  /** The Megatron-LM argument that the key becomes, such as `--tensor-model-parallel-size`. */
  readonly flag?: string;
  /** The default in words, where it is not a constant: `world_size / (tp * cp * pp)`. */
  readonly derived?: string;
  /** The default of Megatron-LM's flag, where the rules assume none. */
  readonly megatronTakes?: string | number | boolean;
  /** Whether a map without this key is incomplete. */
  readonly required?: boolean;
  /** The Megatron-LM versions that know the option, where not all do: `main`, `dev`, `core_r0.19 and later`. */
  readonly since?: string;
}

/** A scalar of one type, with its default as a file writes it. */
interface ScalarSpec<T extends string, V> extends Described {
  readonly type: T;
  readonly default?: V;
}

export interface IntegerSpec extends ScalarSpec<'integer', number> {
  readonly min: number;
}

/** A number from 0 to 1, such as a probability. */
export type ShareSpec = ScalarSpec<'share', number>;
export type BooleanSpec = ScalarSpec<'boolean', boolean>;
export type StringSpec = ScalarSpec<'string', string>;
/** A number of bytes written with a unit, such as `64MiB`. */
export type SizeSpec = ScalarSpec<'size', string>;
/** A number of seconds written with a unit, such as `60s` or `2m`. */
export type DurationSpec = ScalarSpec<'duration', string>;

export interface EnumSpec<T extends string = string> extends ScalarSpec<'enum', T> {
  readonly options: readonly T[];
  /** The value that the flag stands for, where that is a bare switch; without it the default holds. */
  readonly whenOn?: T;
}

export interface ListSpec<I extends KeySpec = KeySpec> extends Described {
  readonly type: 'list';
  readonly items: I;
}

/** Anything that YAML can hold, as plain data (numbers, texts, lists, objects); a rule checks it. */
export interface AnySpec extends Described {
  readonly type: 'any';
}

/** A value of one of several forms: a whole number, a text or a list. */
export interface EitherSpec<F extends readonly KeySpec[] = readonly KeySpec[]> extends Described {
  readonly type: 'either';
  readonly forms: F;
}

/** A map with known keys. */
export interface MapSpec<K extends Keys = Keys> extends Described {
  readonly type: 'map';
  readonly keys: K;
}

/** A map whose keys are names that the author chooses, all values having one form. */
export interface RecordSpec<M extends MapSpec = MapSpec> extends Described {
  readonly type: 'record';
  readonly values: M;
}

/** One key of the format: its type and its description. */
export type KeySpec =
  | IntegerSpec
  | ShareSpec
  | BooleanSpec
  | StringSpec
  | EnumSpec
  | SizeSpec
  | DurationSpec
  | AnySpec
  | ListSpec
  // biome-ignore lint/suspicious/noExplicitAny: as below
  | EitherSpec<any>
  // biome-ignore lint/suspicious/noExplicitAny: the recursion needs an open bound; every use is inferred
  | MapSpec<any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  | RecordSpec<any>;

/** The keys of a map, by name, in the order in which a formatter and completion show them. */
export type Keys = { readonly [name: string]: KeySpec };

/** The value that a key of the given type holds once it is read. */
export type ValueOf<S> =
  IsAny<S> extends true
    ? unknown
    : S extends AnySpec
      ? unknown
      : S extends EitherSpec<infer F extends readonly KeySpec[]>
        ? ValueOf<F[number]>
        : PlainValueOf<S>;

/** Whether a type is `any`, of which the values of a key would be derived without end. */
type IsAny<T> = 0 extends 1 & T ? true : false;

type PlainValueOf<S> = S extends IntegerSpec | ShareSpec | SizeSpec | DurationSpec
  ? number
  : S extends BooleanSpec
    ? boolean
    : S extends EnumSpec<infer T>
      ? T
      : S extends StringSpec
        ? string
        : S extends ListSpec<infer I>
          ? readonly Field<ValueOf<I>>[]
          : S extends MapSpec<infer K>
            ? Section<K>
            : S extends RecordSpec<infer M>
              ? readonly NamedField<ValueOf<M>>[]
              : never;

/** One key of a map as the file has it. */
export interface Field<T> {
  /** Whether the file has the key at all, or names a public model that has the value (`given`). */
  readonly written: boolean;
  /** Whether the value is that of the public model whose name stands at the place: there is no key to edit. */
  readonly given?: true;
  /** The value, or undefined where the key is not written or its value is unusable (a diagnostic then says so). */
  readonly value: T | undefined;
  /** The value's place; for a key that is not written, the place of the key that holds the map. */
  readonly span: Span;
  /** The key's place; for a key that is not written, the place of the key that holds the map. */
  readonly keySpan: Span;
}

/** The values of a list of fields, without those that are unusable. */
export function valuesOf<T>(fields: readonly Field<T>[] | undefined): T[] {
  // a list may be as long as a file allows: no array an item
  const values: T[] = [];
  for (const { value } of fields ?? []) {
    if (value !== undefined) {
      values.push(value);
    }
  }
  return values;
}

/** An entry of a map whose keys are names. */
export interface NamedField<T> extends Field<T> {
  readonly name: string;
}

/** A map as the file has it: every key of the format, written or not. */
export type Section<K> = { readonly [P in keyof K]: Field<ValueOf<K[P]>> };
