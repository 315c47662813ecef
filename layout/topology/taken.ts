import { specAt } from '../format/keyPath';
import type { RootKeys } from '../format/keys';
import type { Field, MapSpec, Section } from '../format/spec';
import type { LayoutFacts } from './facts';

/** The sections of a layout that are maps of keys. */
type SectionName = { [S in keyof RootKeys]: RootKeys[S] extends MapSpec ? S : never }[keyof RootKeys] & string;
type Fields<S extends SectionName> = RootKeys[S] extends MapSpec<infer K> ? Section<K> : never;
type ValueIn<F> = F extends Field<infer T> ? T : never;

/** The value of a key that is in force, and whose it is. */
export interface Taken<T> {
  /** Undefined where it is not known. */
  readonly value: T | undefined;
  /** Whether the file is silent and the value is Megatron-LM's default. */
  readonly isDefault: boolean;
}

/**
 * Whether what the file leaves out may be what Megatron-LM takes: the file says all that its training script asks for, and no
 * other framework starts the job. An import writes the defaults that rules judge, so that what a file then leaves out was left
 * out by an author, who may well mean another value: rules speak of it as information.
 */
export function takesDefaults({ framework, trainingScript }: LayoutFacts): boolean {
  return trainingScript && framework === null;
}

/**
 * The value of a key as the job takes it: the written one, or Megatron-LM's default (`takesDefaults`), which the description of
 * the key says.
 */
export function takenOf<S extends SectionName, N extends keyof Fields<S> & string>(
  facts: LayoutFacts,
  section: S,
  name: N,
): Taken<ValueIn<Fields<S>[N]>> {
  type Value = ValueIn<Fields<S>[N]>;
  // the fields of a section have the types of its keys
  const fields = facts.root[section].value as Fields<S> | undefined;
  const field = fields?.[name] as Field<Value> | undefined;
  if (field?.written || !takesDefaults(facts)) {
    return { value: field?.value, isDefault: false };
  }
  const spec = specAt([section, name]);
  const byFormat = spec && 'default' in spec ? spec.default : undefined;
  // the default of a key has the type of the key
  return { value: (spec?.megatronTakes ?? byFormat) as Value | undefined, isDefault: true };
}

/** `alltoall`, or of a default `Megatron-LM's default allgather`. */
export function takenText({ value, isDefault }: Taken<unknown>): string {
  return isDefault ? `Megatron-LM's default ${value}` : String(value);
}
