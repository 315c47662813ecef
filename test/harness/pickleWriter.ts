/** What a dump holds, before it is written. */
export type Plain =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Plain[]
  | Tuple
  | { readonly [key: string]: Plain };

/** A Python tuple, where a list would be another thing. */
export class Tuple {
  constructor(readonly items: readonly Plain[]) {}
}

/**
 * A pickle as torch's C++ pickler writes it (torch/csrc/jit/serialization/pickler.cpp): protocol 2, every string memoized at
 * its first use, and of lists and dicts those that are used again by identity.
 */
export function pickled(value: Plain): Buffer {
  const writer = new PickleWriter(sharedParts(value));
  writer.write(value);
  return writer.bytes();
}

/** The dicts that stand in a value more than once. */
function sharedParts(root: Plain): Set<object> {
  const seen = new Set<object>();
  const shared = new Set<object>();
  const visit = (value: Plain): void => {
    if (typeof value !== 'object' || value === null) {
      return;
    }
    if (seen.has(value)) {
      shared.add(value);
      return;
    }
    seen.add(value);
    for (const item of value instanceof Tuple ? value.items : Object.values(value)) {
      visit(item as Plain);
    }
  };
  visit(root);
  return shared;
}

class PickleWriter {
  #buffer = Buffer.alloc(1 << 16);
  #length = 0;
  readonly #memo = new Map<string | object, number>();

  constructor(readonly shared: ReadonlySet<object>) {
    this.#byte(0x80, 2);
  }

  bytes(): Buffer {
    this.#byte(0x2e);
    return Buffer.from(this.#buffer.subarray(0, this.#length));
  }

  write(value: Plain): void {
    if (value === null) {
      this.#byte(0x4e);
    } else if (typeof value === 'boolean') {
      this.#byte(value ? 0x88 : 0x89);
    } else if (typeof value === 'string') {
      this.#string(value);
    } else if (typeof value === 'number') {
      this.#number(value);
    } else if (typeof value === 'bigint') {
      this.#reserve(10);
      this.#byte(0x8a, 8);
      this.#length = this.#buffer.writeBigInt64LE(value, this.#length);
    } else {
      this.#container(value);
    }
  }

  #container(value: Extract<Plain, object>): void {
    const known = this.#memo.get(value);
    if (known !== undefined) {
      this.#get(known);
      return;
    }
    if (value instanceof Tuple) {
      for (const item of value.items) {
        this.write(item);
      }
      this.#byte(0x84 + value.items.length);
      return;
    }
    const isList = Array.isArray(value);
    this.#byte(isList ? 0x5d : 0x7d, 0x28);
    for (const [key, item] of Object.entries(value)) {
      if (!isList) {
        this.#string(key);
      }
      this.write(item as Plain);
    }
    this.#byte(isList ? 0x65 : 0x75);
    if (this.shared.has(value)) {
      this.#put(value);
    }
  }

  #string(text: string): void {
    const known = this.#memo.get(text);
    if (known !== undefined) {
      this.#get(known);
      return;
    }
    const bytes = Buffer.from(text);
    this.#reserve(bytes.length + 5);
    this.#byte(0x58);
    this.#length = this.#buffer.writeUInt32LE(bytes.length, this.#length);
    this.#length += bytes.copy(this.#buffer, this.#length);
    this.#put(text);
  }

  #number(value: number): void {
    if (value >= 0 && value < 256) {
      this.#byte(0x4b, value);
    } else if (value >= 0 && value < 65536) {
      this.#byte(0x4d, value & 255, value >> 8);
    } else {
      this.#reserve(5);
      this.#byte(0x4a);
      this.#length = this.#buffer.writeInt32LE(value, this.#length);
    }
  }

  #put(value: string | object): void {
    const index = this.#memo.size;
    this.#memo.set(value, index);
    this.#indexed(0x71, 0x72, index);
  }

  #get(index: number): void {
    this.#indexed(0x68, 0x6a, index);
  }

  #indexed(short: number, long: number, index: number): void {
    if (index < 256) {
      this.#byte(short, index);
      return;
    }
    this.#reserve(5);
    this.#byte(long);
    this.#length = this.#buffer.writeUInt32LE(index, this.#length);
  }

  #byte(...bytes: readonly number[]): void {
    this.#reserve(bytes.length);
    for (const byte of bytes) {
      this.#buffer[this.#length++] = byte;
    }
  }

  #reserve(count: number): void {
    if (this.#length + count > this.#buffer.length) {
      this.#buffer = Buffer.concat([this.#buffer, Buffer.alloc(this.#buffer.length + count)]);
    }
  }
}
