import { Dict, type Salvaged, type Value } from './value';

/** As deep as a dump, a RAS answer or a line of the recorder nests, with room. */
const MAX_DEPTH = 32;

/**
 * Reads JSON as `JSON.parse` does, and of a text that breaks off what stands before the break. Never throws; time and memory
 * grow with the text alone.
 */
export function readJson(text: string): Salvaged {
  return new JsonReader(text).read();
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\r\n]*/y;

class JsonReader {
  #at = 0;
  #problem: string | null = null;

  constructor(readonly text: string) {}

  read(): Salvaged {
    const value = this.#value(0);
    this.#skip();
    if (this.#problem === null && this.#at < this.text.length) {
      this.#problem = `goes on behind its end at character ${this.#at}`;
    }
    return { value, problem: this.#problem };
  }

  /** A value, or undefined (with the problem noted) where there is none; containers hold what was read of them. */
  #value(depth: number): Value | undefined {
    this.#skip();
    const first = this.text[this.#at];
    if (first === '{' || first === '[') {
      return depth < MAX_DEPTH ? this.#container(first === '{', depth + 1) : this.#fail('nests too deep');
    }
    if (first === '"') {
      return this.#string();
    }
    for (const [word, value] of [
      ['true', true],
      ['false', false],
      ['null', null],
    ] as const) {
      if (this.text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    const number = this.#match(NUMBER);
    return number === undefined ? this.#fail('holds no value') : Number(number[0]);
  }

  #container(isDict: boolean, depth: number): Value {
    const items: Value[] = [];
    const value = isDict ? new Dict(items) : items;
    const close = isDict ? '}' : ']';
    this.#at++;
    this.#skip();
    if (this.#taken(close)) {
      return value;
    }
    while (this.#problem === null && this.#member(items, isDict, depth)) {
      if (this.#taken(close)) {
        return value;
      }
      if (!this.#taken(',')) {
        this.#fail('breaks off');
      }
    }
    return value;
  }

  /** Reads one member into `items`; of a member that breaks off the part that was read, false then. */
  #member(items: Value[], isDict: boolean, depth: number): boolean {
    let key: string | undefined;
    if (isDict) {
      this.#skip();
      key = this.#string();
      if (key === undefined || !this.#taken(':')) {
        this.#fail('has a key without a value');
        return false;
      }
    }
    const item = this.#value(depth);
    if (item !== undefined) {
      items.push(...(key === undefined ? [item] : [key, item]));
    }
    return this.#problem === null;
  }

  #string(): string | undefined {
    const start = this.#at;
    const end = this.text[start] === '"' ? closingQuote(this.text, start + 1) : -1;
    if (end < 0) {
      return this.#fail('has a text without an end');
    }
    this.#at = end + 1;
    const raw = this.text.slice(start + 1, end);
    if (!raw.includes('\\')) {
      return raw;
    }
    try {
      return JSON.parse(`"${raw}"`) as string;
    } catch (error) {
      if (!(error instanceof SyntaxError)) {
        throw error;
      }
      return this.#fail('has a text with a wrong escape');
    }
  }

  #taken(character: string): boolean {
    this.#skip();
    if (this.text[this.#at] !== character) {
      return false;
    }
    this.#at++;
    return true;
  }

  #skip(): void {
    this.#match(SPACE);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.text);
    if (!match) {
      return undefined;
    }
    this.#at = pattern.lastIndex;
    return match;
  }

  /** Notes the first problem. */
  #fail(what: string): undefined {
    this.#problem ??= `${what} at character ${this.#at}`;
    return undefined;
  }
}

/** Where the text that began before `from` ends; -1 where it does not. */
function closingQuote(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (end - backslashes > from && text[end - backslashes - 1] === '\\') {
      backslashes++;
    }
    if (backslashes % 2 === 0) {
      return end;
    }
  }
  return -1;
}
