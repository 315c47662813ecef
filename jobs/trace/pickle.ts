import { Dict, type Salvaged, type Value } from './value';

/** Opcodes by which the beginning of a pickle and of an entry are found. */
const OP = { mark: 0x28, binGet: 0x68, binPut: 0x71, longBinPut: 0x72, emptyDict: 0x7d, proto: 0x80 } as const;

/** Dumps nest seven deep; the rest is a margin. */
const MAX_DEPTH = 32;
/** The most lists and dicts, and the most values that wait for theirs: a pickle of one byte for each would fill the memory. */
const MAX_CONTAINERS = 4 * 1024 * 1024;
const MAX_WAITING = 8 * 1024 * 1024;
/** The ranks of a group of a million, as text, take 7 MB. Bytes. */
const MAX_STRING = 16 * 1024 * 1024;
/** Integers of dumps have 8 bytes. */
const MAX_INTEGER_BYTES = 16;

/** The end of the bytes, or a byte that no dump contains. */
class PickleError extends Error {}

/** Whether bytes begin like a pickle of protocol 2 to 5. */
export function looksLikePickle(bytes: Uint8Array): boolean {
  const version = bytes[1] ?? 0;
  return bytes[0] === OP.proto && version >= 2 && version <= 5;
}

/**
 * Reads a pickle of dicts, lists, tuples, strings, numbers, booleans and None. Nothing in it is executed or imported: an opcode
 * outside a closed set ends the reading. Never throws. Time and memory are linear in the bytes.
 */
export function readPickle(bytes: Uint8Array): Salvaged {
  return new PickleReader(bytes).read();
}

/**
 * Reads the beginning and the last entries of a dump. The result has all keys of the dump; the list under `entries` lacks those
 * between. Values that are defined in the skipped part are null.
 * @param tail the number of bytes at the end to read
 * @returns null for a dump that picklers do not write: then all of it must be read
 */
export function readPickleEnds(bytes: Uint8Array, tail: number): Salvaged | null {
  const entries = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(ENTRIES_KEY);
  const headEnd = entries + HEAD_ENTRIES_BYTES;
  if (entries < 0 || headEnd + tail >= bytes.length) {
    return null;
  }
  const head = new PickleReader(bytes.subarray(0, headEnd));
  const root = head.read().value;
  const start = root instanceof Dict ? entryStart(bytes, bytes.length - tail, root, head) : -1;
  if (!(root instanceof Dict) || start < 0) {
    return null;
  }
  const rest = new PickleReader(bytes, { at: start, memo: head.memo }).read();
  const ends = rest.value instanceof Dict && rest.problem === null ? rest.value : null;
  return ends && { value: new Dict([...root.items, ...ends.items]), problem: null };
}

/** The key of the entries, and the bytes after it in which all memoized strings of entries are defined. */
const ENTRIES_KEY = 'entries';
const HEAD_ENTRIES_BYTES = 3072;

/** The place of the next entry: a dict, perhaps memoized, with the same first key as the first entry; -1 for none. */
function entryStart(bytes: Uint8Array, from: number, root: Dict, head: PickleReader): number {
  const list = root.get(ENTRIES_KEY);
  const first = Array.isArray(list) ? (list as readonly Value[])[0] : undefined;
  const key = first instanceof Dict ? head.memo.indexOf(first.items[0] ?? null) : -1;
  if (key < 0 || key > 255) {
    return -1;
  }
  const opening = Uint8Array.of(OP.mark, OP.binGet, key);
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(opening, from);
  for (const start of at < 0 ? [] : [at - 1, at - 3, at - 6]) {
    const put = bytes[start + 1];
    const gap = at - start;
    if (
      bytes[start] === OP.emptyDict &&
      (gap === 1 || (gap === 3 && put === OP.binPut) || (gap === 6 && put === OP.longBinPut))
    ) {
      return start;
    }
  }
  return -1;
}

/** Reads one pickle; it can begin inside the entries of a dump, with the memo of its beginning. */
class PickleReader {
  #at = 0;
  readonly #view: DataView;
  readonly #stack: Value[] = [];
  /** The stack positions of open MARKs. */
  readonly #marks: number[] = [];
  readonly #memo: Value[];
  readonly #from: boolean;
  #containers = 0;
  #result: Value | undefined;
  #ended = false;

  constructor(
    readonly bytes: Uint8Array,
    from?: { readonly at: number; readonly memo: readonly Value[] },
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#from = from !== undefined;
    this.#memo = [...(from?.memo ?? [])];
    if (from) {
      this.#at = from.at;
      this.#stack.push(new Dict([]), ENTRIES_KEY, []);
      this.#marks.push(1, 3);
    }
  }

  /** The memoized values by number. */
  get memo(): readonly Value[] {
    return this.#memo;
  }

  read(): Salvaged {
    try {
      while (!this.#ended) {
        this.#step();
      }
      return { value: this.#result, problem: null };
    } catch (error) {
      if (!(error instanceof PickleError)) {
        throw error;
      }
      return { value: this.#unwound(), problem: error.message };
    }
  }

  /** What the opcodes of plain dumps in protocols 2 to 5 do (CPython `Lib/pickletools.py`). Every other one is refused. */
  static readonly #STEPS: Readonly<Record<number, (reader: PickleReader, at: number) => void>> = {
    [OP.mark]: (reader, at) => reader.#mark(at),
    [OP.binGet]: (reader) => reader.#recall(reader.#byte()),
    [OP.binPut]: (reader) => reader.#memoize(reader.#byte()),
    [OP.longBinPut]: (reader) => reader.#memoize(reader.#uint32()),
    [OP.emptyDict]: (reader) => reader.#pushNew(new Dict([])),
    [OP.proto]: (reader, at) => reader.#checkProtocol(reader.#byte(), at),
    41: (reader) => reader.#pushNew([]), // EMPTY_TUPLE
    46: (reader) => reader.#stop(), // STOP
    71: (reader) => reader.#push(reader.#view.getFloat64(reader.#take(8))), // BINFLOAT
    74: (reader) => reader.#push(reader.#view.getInt32(reader.#take(4), true)), // BININT
    75: (reader) => reader.#push(reader.#byte()), // BININT1
    77: (reader) => reader.#push(reader.#view.getUint16(reader.#take(2), true)), // BININT2
    78: (reader) => reader.#push(null), // NONE
    88: (reader) => reader.#push(reader.#string(reader.#uint32())), // BINUNICODE
    93: (reader) => reader.#pushNew([]), // EMPTY_LIST
    97: (reader) => reader.#appends(reader.#pop(1)), // APPEND
    101: (reader) => reader.#appends(reader.#popToMark()), // APPENDS
    106: (reader) => reader.#recall(reader.#uint32()), // LONG_BINGET
    115: (reader) => reader.#setItems(reader.#pop(2)), // SETITEM
    116: (reader) => reader.#pushNew(reader.#popToMark()), // TUPLE
    117: (reader) => reader.#setItems(reader.#popToMark()), // SETITEMS
    133: (reader) => reader.#pushNew(reader.#pop(1)), // TUPLE1
    134: (reader) => reader.#pushNew(reader.#pop(2)), // TUPLE2
    135: (reader) => reader.#pushNew(reader.#pop(3)), // TUPLE3
    136: (reader) => reader.#push(true), // NEWTRUE
    137: (reader) => reader.#push(false), // NEWFALSE
    138: (reader) => reader.#push(reader.#integer(reader.#byte())), // LONG1
    139: (reader) => reader.#push(reader.#integer(reader.#uint32())), // LONG4
    140: (reader) => reader.#push(reader.#string(reader.#byte())), // SHORT_BINUNICODE
    141: (reader) => reader.#push(reader.#string(reader.#uint64())), // BINUNICODE8
    148: (reader) => reader.#memoize(reader.#memo.length), // MEMOIZE
    149: (reader) => reader.#take(8), // FRAME
  };

  #step(): void {
    const at = this.#at;
    const op = this.#byte();
    const step = PickleReader.#STEPS[op];
    if (!step) {
      throw new PickleError(`opcode 0x${op.toString(16).padStart(2, '0')} at byte ${at} is not one that dumps hold`);
    }
    step(this, at);
  }

  #stop(): void {
    this.#result = this.#pop(1)[0];
    this.#ended = true;
  }

  #mark(at: number): void {
    if (this.#marks.length >= MAX_DEPTH) {
      throw new PickleError(`nests deeper than ${MAX_DEPTH} at byte ${at}`);
    }
    this.#marks.push(this.#stack.length);
  }

  #checkProtocol(version: number, at: number): void {
    if (at !== 0 || version < 2 || version > 5) {
      throw new PickleError(`pickle protocol ${version} at byte ${at} is not one that dumps have`);
    }
  }

  #take(count: number): number {
    const at = this.#at;
    if (at + count > this.bytes.length) {
      throw new PickleError(`ends at byte ${this.bytes.length}, before the dump does`);
    }
    this.#at = at + count;
    return at;
  }

  #byte(): number {
    return this.bytes[this.#take(1)] ?? 0;
  }

  #uint32(): number {
    return this.#view.getUint32(this.#take(4), true);
  }

  #uint64(): number {
    return Number(this.#view.getBigUint64(this.#take(8), true));
  }

  #string(length: number): string {
    if (length > MAX_STRING) {
      throw new PickleError(`a text of ${length} bytes at byte ${this.#at} is longer than any in a dump`);
    }
    const at = this.#take(length);
    return shortText(this.bytes, at, length);
  }

  /** Two's complement, little-endian; nanoseconds since 1970 lose their last digits. */
  #integer(length: number): number {
    if (length > MAX_INTEGER_BYTES) {
      throw new PickleError(`an integer of ${length} bytes at byte ${this.#at} is longer than any in a dump`);
    }
    const at = this.#take(length);
    let value = 0;
    for (let i = length - 1; i >= 0; i--) {
      const byte = this.bytes[at + i] ?? 0;
      value = value * 256 + (i === length - 1 && byte > 127 ? byte - 256 : byte);
    }
    return value;
  }

  #push(value: Value): void {
    if (this.#containers > MAX_CONTAINERS || this.#stack.length >= MAX_WAITING) {
      throw new PickleError(`holds more values at byte ${this.#at} than any dump`);
    }
    this.#stack.push(value);
  }

  /** Pushes a list or dict that was not there before. */
  #pushNew(value: Value): void {
    this.#containers++;
    this.#push(value);
  }

  #recall(index: number): void {
    const value = this.#memo[index];
    if (value === undefined && this.#from) {
      this.#push(null);
      return;
    }
    if (value === undefined) {
      throw new PickleError(`recalls value ${index}, which the dump does not hold`);
    }
    this.#push(value);
  }

  /** Picklers number memoized values one by one: a number beyond the next is an error. */
  #memoize(index: number): void {
    const value = this.#stack[this.#stack.length - 1];
    if (index > (this.#from ? this.bytes.length : this.#memo.length) || value === undefined) {
      throw new PickleError(`memoizes value ${index} out of turn`);
    }
    this.#memo[index] = value;
  }

  #pop(count: number): Value[] {
    const start = this.#stack.length - count;
    if (start < (this.#marks.at(-1) ?? 0)) {
      throw new PickleError('takes more values than it gives');
    }
    return this.#cut(start);
  }

  /** Removes and returns the values from a stack position on. */
  #cut(start: number): Value[] {
    const values = this.#stack.slice(start);
    this.#stack.length = start;
    return values;
  }

  #popToMark(): Value[] {
    const mark = this.#marks.pop();
    if (mark === undefined) {
      throw new PickleError('closes what was not opened');
    }
    return this.#cut(mark);
  }

  #setItems(items: Value[]): void {
    const dict = this.#stack[this.#stack.length - 1];
    if (!(dict instanceof Dict) || items.length % 2 !== 0) {
      throw new PickleError('sets items of what is no dict');
    }
    dict.add(items);
  }

  #appends(items: readonly Value[]): void {
    const list = this.#stack.at(-1);
    if (!Array.isArray(list)) {
      throw new PickleError('appends to what is no list');
    }
    pushAll(list as Value[], items);
  }

  /** The outermost value, with all that was read before the error. */
  #unwound(): Value | undefined {
    while (this.#marks.length > 0) {
      const items = this.#popToMark();
      const owner = this.#stack.at(-1);
      if (owner instanceof Dict) {
        owner.add(items.slice(0, items.length - (items.length % 2)));
      } else if (Array.isArray(owner)) {
        pushAll(owner as Value[], items);
      }
    }
    return this.#stack[0];
  }
}

function pushAll(target: Value[], items: readonly Value[]): void {
  for (const item of items) {
    target.push(item);
  }
}

const decoder = new TextDecoder();

/** Decodes UTF-8; short ASCII, which most of a dump is, without a call of the decoder. */
function shortText(bytes: Uint8Array, at: number, length: number): string {
  if (length > 48) {
    return decoder.decode(bytes.subarray(at, at + length));
  }
  let text = '';
  for (let i = at; i < at + length; i++) {
    const byte = bytes[i] ?? 0;
    if (byte > 127) {
      return decoder.decode(bytes.subarray(at, at + length));
    }
    text += String.fromCharCode(byte);
  }
  return text;
}
