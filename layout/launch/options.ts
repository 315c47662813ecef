import type { Place } from './sources/shell/words';
import { type FactValue, type Found, isKnown, type Reason } from './value';

/** One option of a framework as a launch file gives it. */
export interface Option {
  /** The values given, in order; null for one that is not known. */
  readonly values: readonly (string | null)[];
  readonly place: Place;
  /** Where each value is written. */
  readonly places: readonly Place[];
  /** Why the option itself or a value is not known; null where all is known. */
  readonly unknown: Reason | null;
}

/** The options of one job by their names with underscores, such as `tensor_model_parallel_size`. */
export class Options {
  constructor(
    readonly entries: ReadonlyMap<string, Option>,
    /** What may set further options; null where those that are absent have their default. */
    readonly blocked: Reason | null,
  ) {}

  /** The same options, of which one that is absent is not there, whatever may set it. */
  get given(): Options {
    return this.blocked === null ? this : new Options(this.entries, null);
  }

  /** The first of several names that is given. */
  get(...names: readonly string[]): Option | undefined {
    for (const name of names) {
      const option = this.entries.get(name);
      if (option) {
        return option;
      }
    }
    return undefined;
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  /** What `read` makes of an option: unknown where it is, undefined where it is absent. */
  #found<T>(names: readonly string[], read: (option: Option) => T | null): Found<T> | undefined {
    const name = names.find((one) => this.entries.has(one));
    const option = name === undefined ? undefined : this.entries.get(name);
    if (!option) {
      return this.blocked === null ? undefined : { unknown: this.blocked };
    }
    if (option.unknown !== null && (option.values.length === 0 || option.values[0] === null)) {
      return { unknown: option.unknown };
    }
    const value = read(option);
    return value === null ? { unknown: `the value of ${name}` } : { value, source: option.places[0] ?? option.place };
  }

  integer(...names: readonly string[]): Found<number> | undefined {
    return this.#found(names, ({ values }) => integerOf(values[0] ?? null));
  }

  number(...names: readonly string[]): Found<number> | undefined {
    return this.#found(names, ({ values }) => numberOf(values[0] ?? null));
  }

  string(...names: readonly string[]): Found<string> | undefined {
    return this.#found(names, ({ values }) => values[0] ?? null);
  }

  /** The values of an option that takes several, as numbers where `numeric`. */
  list(numeric: boolean, ...names: readonly string[]): Found<readonly FactValue[]> | undefined {
    return this.#found(names, ({ values }) => {
      const parts = values.map((one) => (one === null ? null : numeric ? integerOf(one) : one));
      return parts.includes(null) ? null : parts.flatMap((part) => part ?? []);
    });
  }

  /** A switch that is on where it is given, whatever follows it. */
  flag(...names: readonly string[]): Found<boolean> | undefined {
    const option = this.get(...names);
    if (!option) {
      return this.blocked === null ? undefined : { unknown: this.blocked };
    }
    return option.unknown !== null && option.values.length === 0
      ? { unknown: option.unknown }
      : { value: true, source: option.place };
  }

  /** An option that takes `true` or `false`; given without a value it is on. */
  boolean(...names: readonly string[]): Found<boolean> | undefined {
    return this.#found(names, ({ values }) => (values.length === 0 ? true : booleanOf(values[0] ?? null)));
  }
}

/** A whole number as Python's `int` reads it, or null. */
export function integerOf(text: string | null): number | null {
  if (text === null || !/^\s*[-+]?\d+(_\d+)*\s*$/.test(text)) {
    return null;
  }
  const value = Number(text.replaceAll('_', ''));
  return Number.isSafeInteger(value) ? value : null;
}

/** The number of a text such as `0.1` or `1e-2`; null where it is none. */
function numberOf(text: string | null): number | null {
  return text !== null && /^\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,3})?\s*$/i.test(text) ? Number(text) : null;
}

function booleanOf(text: string | null): boolean | null {
  const lower = text?.trim().toLowerCase();
  if (lower === undefined) {
    return null;
  }
  return ['true', 'yes', 'on', '1', 'y', 't'].includes(lower)
    ? true
    : ['false', 'no', 'off', '0', 'n', 'f'].includes(lower)
      ? false
      : null;
}

/** The first that is known or unknown, not absent. */
export function firstOf<T>(...found: readonly (Found<T> | undefined)[]): Found<T> | undefined {
  return found.find((one) => one !== undefined);
}

/** Whether a switch is on for certain. */
export function isOn(found: Found | undefined): boolean {
  return isKnown(found) && found.value === true;
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ bf16: 'bf16', bfloat16: 'bf16', fp16: 'fp16', float16: 'fp16', half: 'fp16' },
  ...{ fp32: 'fp32', float32: 'fp32', float: 'fp32' },
};

/**
 * A type of weights such as `torch.bfloat16` as layouts spell it; unknown where it is another.
 * @param others types beside those of weights
 */
export function typeOf(found: Found<string> | undefined, others: readonly string[] = []): Found<string> | undefined {
  if (!isKnown(found) || others.includes(found.value)) {
    return found;
  }
  const type = TYPES[found.value.replace(/^torch\./, '')];
  return type === undefined ? { unknown: `the type ${found.value}` } : { value: type, source: found.source };
}
