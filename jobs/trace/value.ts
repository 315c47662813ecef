/** A value of a Flight Recorder dump, in pickle or JSON. Tuples are lists. */
export type Value = null | boolean | number | string | readonly Value[] | Dict;

/** A dict as a list of keys and values: a dump has millions of small dicts, for which hash tables cost more than they save. */
export class Dict {
  #items: readonly Value[];

  constructor(items: readonly Value[]) {
    this.#items = items;
  }

  /** Keys and values, alternating. */
  get items(): readonly Value[] {
    return this.#items;
  }

  /** Appends keys and values. */
  add(items: readonly Value[]): void {
    this.#items = this.#items.length === 0 ? items : this.#items.concat(items);
  }

  /** The last value under a key, as in Python; undefined for none. */
  get(key: string): Value | undefined {
    const items = this.#items;
    for (let i = items.length - 2; i >= 0; i -= 2) {
      if (items[i] === key) {
        return items[i + 1];
      }
    }
    return undefined;
  }

  /** The values with their keys as text. */
  *entries(): Iterable<[string, Value]> {
    for (let i = 0; i + 1 < this.items.length; i += 2) {
      yield [String(this.items[i]), this.items[i + 1] ?? null];
    }
  }
}

/** The readable part of a file. */
export interface Salvaged {
  /** Undefined where nothing could be read. */
  readonly value: Value | undefined;
  /** Why the rest is missing; null for a whole file. */
  readonly problem: string | null;
}

/** A string, or undefined for anything else. */
export function textOf(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A whole number, also written as text; undefined for anything else. */
export function intOf(value: Value | undefined): number | undefined {
  if (typeof value === 'number') {
    return Number.isInteger(value) ? value : undefined;
  }
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** A list, or an empty one for anything else. */
export function listOf(value: Value | undefined): readonly Value[] {
  return Array.isArray(value) ? (value as readonly Value[]) : [];
}

/** A dict, or undefined for anything else. */
export function dictOf(value: Value | undefined): Dict | undefined {
  return value instanceof Dict ? value : undefined;
}
