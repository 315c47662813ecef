import type { KeyPath } from '../format/keys';
import type { Engine } from '../frameworks/framework';

/** Where a value is written: a file and a UTF-16 offset into its text. */
export interface Place {
  readonly file: string;
  readonly offset: number;
}

/** What is known of a job by: the path of a key. */
export type FactPath = KeyPath;

/** The entries of an object with known names. */
export function entriesOf<K extends string, V>(values: { readonly [P in K]?: V }): (readonly [K, V])[] {
  // Object.entries knows the names of no object
  return Object.entries(values) as [K, V][];
}

/** A value that a layout can hold. */
export type FactValue = number | string | boolean | readonly FactValue[] | FactMap;

/** An item of a list such as `ntp.non_active_ranks_per_dp`. */
export interface FactMap {
  readonly [key: string]: FactValue;
}

/** Where a value comes from: a place in a file, or the framework's own default. */
export type FactSource = Place | 'default';

/**
 * Why a value is not known: in words what was looked for, or what more is said of, an argument of the script by its number, a
 * variable of its environment, and a file that was not found.
 */
export type Reason =
  | string
  | { readonly argument: string }
  | { readonly variable: string }
  | { readonly missing: string };

/** A reason in words. */
export function reasonText(reason: Reason): string {
  if (typeof reason === 'string') {
    return reason;
  }
  if ('argument' in reason) {
    return `argument ${reason.argument} of the script`;
  }
  return 'variable' in reason ? `environment variable ${reason.variable}` : `${reason.missing}, which was not found`;
}

/** A value with its source, or why it is not known. */
export type Found<T = FactValue> = Known<T> | NotKnown;

export interface Known<T> {
  readonly value: T;
  readonly source: FactSource;
}

interface NotKnown {
  readonly unknown: Reason;
}

export function isKnown<T>(found: Found<T> | undefined): found is Known<T> {
  return found !== undefined && 'value' in found;
}

/** What follows from a value alone, from the same source; what is absent or not known stays so. */
export function mapFound<T, U>(found: Found<T> | undefined, map: (value: T) => U): Found<U> | undefined {
  return isKnown(found) ? { value: map(found.value), source: found.source } : found;
}

/** What a framework takes where a launch file is silent, by the key of the layout. */
export interface Defaults {
  readonly framework: string;
  /** The version or revision that was read. */
  readonly version: string;
  /** Where the framework says so. */
  readonly source: string;
  readonly values: { readonly [P in FactPath]?: FactValue };
  /** Values that hold only where the model has experts. */
  readonly withExperts?: { readonly [P in FactPath]?: FactValue };
  /** How many nodes and processes a node the framework's launcher starts; null where it has no count of its own. */
  readonly world?: { readonly nodes: number; readonly perNode: number | null };
}

/** An option of the launch file for which a layout has no key. */
export interface Unmapped {
  readonly name: string;
  readonly value: string | null;
  readonly place: Place | null;
}

/** What was read of one job: facts by the path of their key, such as `parallelism.tp`. */
export class Facts {
  readonly #found = new Map<FactPath, Found>();
  readonly notes: string[] = [];
  /** The framework whose defaults were taken; null where none were. */
  defaults: Defaults | null = null;
  readonly unmapped: Unmapped[] = [];
  /** What trains, where the family has several engines and this is not its usual one. */
  engine: Engine | null = null;
  /** The names of all jobs of the file, where it has several. */
  readonly jobs: string[] = [];
  /** Why what was asked for cannot be given; null where it can. */
  problem: string | null = null;
  /** Where the command stands that starts the job; null where no command does. */
  command: Place | null = null;
  /** Whether the job trains; a job that infers, evaluates or converts is not one that the rules for layouts judge. */
  trains = true;

  get all(): ReadonlyMap<FactPath, Found> {
    return this.#found;
  }

  get(key: FactPath): Found | undefined {
    return this.#found.get(key);
  }

  /** Sets a fact; `undefined` is left out. */
  set(key: FactPath, found: Found | undefined): void {
    if (found) {
      this.#found.set(key, found);
    }
  }

  delete(key: FactPath): void {
    this.#found.delete(key);
  }

  /** The number of a key; null where it is not known. */
  number(key: FactPath): number | null {
    const found = this.#found.get(key);
    return isKnown(found) && typeof found.value === 'number' ? found.value : null;
  }

  /** Sets a fact from the framework's default unless it has been found. */
  setDefault(key: FactPath, value: FactValue): void {
    if (!this.#found.has(key)) {
      this.#found.set(key, { value, source: 'default' });
    }
  }

  /** Sets what follows from other facts, where it is known and nothing has been found. */
  derive(key: FactPath, found: Found | undefined): void {
    if (isKnown(found)) {
      this.setDefault(key, found.value);
    }
  }

  /** Takes a framework's defaults for the keys that have not been found, or for those that do not describe the model. */
  takeDefaults(table: Defaults, ofModel = true): void {
    this.defaults = table;
    const withExperts = ofModel && this.get('model.num_experts') ? table.withExperts : {};
    for (const [key, value] of entriesOf<FactPath, FactValue>({ ...table.values, ...withExperts })) {
      if (ofModel || !key.startsWith('model.')) {
        this.setDefault(key, value);
      }
    }
  }

  /** Lists an option for which a layout has no key. */
  leave(name: string, { values, place }: { readonly values: readonly (string | null)[]; readonly place: Place }): void {
    this.unmapped.push({ name, value: values.includes(null) ? null : values.join(' '), place });
  }

  /** Notes what may set values and could not be read. */
  noteMissing(reason: Reason): void {
    const what = typeof reason === 'object' && 'missing' in reason ? reason.missing : reasonText(reason);
    this.note(`What ${what} sets is unknown: it was not found.`);
  }

  note(text: string): void {
    if (!this.notes.includes(text)) {
      this.notes.push(text);
    }
  }
}

/** A size that is 1 where nothing gives it. */
export const ONE = { value: 1, source: 'default' } as const;

/** A value computed from others: known where all of them are, and a default where all of them are. */
export function derived<T extends FactValue>(
  inputs: readonly (Found | undefined)[],
  compute: (...numbers: number[]) => T | null,
  what: string,
): Found<T> | undefined {
  const numbers: number[] = [];
  let source: FactSource = 'default';
  for (const input of inputs) {
    if (input === undefined) {
      return undefined;
    }
    if (!('value' in input)) {
      return input;
    }
    if (typeof input.value !== 'number') {
      return { unknown: what };
    }
    source = source === 'default' ? input.source : source;
    numbers.push(input.value);
  }
  const value = compute(...numbers);
  return value === null ? { unknown: what } : { value, source };
}

/** How often some sizes fit into a world; null where they do not divide it. */
export function quotient(world: number, ...sizes: readonly number[]): number | null {
  const rest = world / product(sizes);
  return Number.isInteger(rest) && rest >= 1 ? rest : null;
}

/** The product of some sizes. */
export function product(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all * size, 1);
}
