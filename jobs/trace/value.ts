/** A value of a Flight Recorder dump, in pickle or JSON. Tuples are lists. */
export type Value = null | boolean | number | string | readonly Value[] | Dict;

/**
 * A dict as a list of keys and values: a dump has millions of small dicts, for which hash tables cost more than they save. A large
 * one gets an index when it is first asked, as one dict may be referred to a million times.
 */
export class Dict {
  #items: Value[];
  #index: Map<Value, number> | null = null;

  /** @param items keys and values, alternating; the dict owns them from here on */
  constructor(items: Value[]) {
    this.#items = items;
  }

  /** Keys and values, alternating. */
  get items(): readonly Value[] {
    return this.#items;
  }

  /** Appends keys and values, which the dict owns from here on. */
  add(items: Value[]): void {
    this.#index = null;
    if (this.#items.length === 0) {
      this.#items = items;
      return;
    }
    for (const item of items) {
      this.#items.push(item);
    }
  }

  /** The last value under a key, as in Python; undefined for none. */
  get(key: string): Value | undefined {
    const items = this.#items;
    if (items.length > MAX_SCANNED) {
      const at = this.#indexed().get(key);
      return at === undefined ? undefined : items[at + 1];
    }
    for (let i = items.length - 2; i >= 0; i -= 2) {
      if (items[i] === key) {
        return items[i + 1];
      }
    }
    return undefined;
  }

  /** The values with their keys as text; keys of dumps are strings and numbers. */
  *entries(): Iterable<[string, Value]> {
    for (let i = 0; i + 1 < this.items.length; i += 2) {
      const key = this.items[i];
      if (typeof key === 'string' || typeof key === 'number') {
        yield [String(key), this.items[i + 1] ?? null];
      }
    }
  }

  /** The place of the last value under each key. */
  #indexed(): Map<Value, number> {
    const index = this.#index ?? new Map<Value, number>();
    if (this.#index === null) {
      for (let i = 0; i + 1 < this.#items.length; i += 2) {
        index.set(this.#items[i] ?? null, i);
      }
      this.#index = index;
    }
    return index;
  }
}

/** The longest list of keys and values that is searched one by one. */
const MAX_SCANNED = 128;

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
