const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const CLOSE_BRACKET = 0x5d;

/** The longest object that is read whole. Bytes. */
const MAX_OBJECT = 1024 * 1024;

/** Splits the inside of a JSON array, which comes in pieces, into its objects, without reading what is in them. */
export class ObjectScanner {
  #rest: Uint8Array = new Uint8Array();
  #inText = false;
  #escaped = false;
  #depth = 0;
  #state: 'open' | 'ended' | 'overlong' = 'open';

  /** Whether the array has ended, or an object was too long, so that what follows cannot be read. */
  get state(): 'open' | 'ended' | 'overlong' {
    return this.#state;
  }

  /** Calls `visit` with the bytes of each object that ends in this piece. */
  push(piece: Uint8Array, visit: (object: Uint8Array) => void): void {
    if (this.#state !== 'open') {
      return;
    }
    const known = this.#rest.length;
    const bytes = known === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const unfinished = this.#scan(bytes, known, visit);
    // a copy: the piece may be a buffer that its owner fills anew
    this.#rest = unfinished < 0 ? new Uint8Array() : new Uint8Array(bytes.subarray(unfinished));
    this.#state = this.#rest.length > MAX_OBJECT ? 'overlong' : this.#state;
  }

  /**
   * Scans the bytes from a place on.
   * @returns where an object starts that has not ended; -1 for none
   */
  #scan(bytes: Uint8Array, from: number, visit: (object: Uint8Array) => void): number {
    let start = this.#depth > 0 ? 0 : -1;
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#inText) {
        this.#inText = this.#escaped || byte !== QUOTE;
        this.#escaped = !this.#escaped && byte === BACKSLASH;
      } else if (byte === QUOTE) {
        this.#inText = true;
      } else if (byte === OPEN_BRACE) {
        start = this.#depth++ === 0 ? at : start;
      } else if (byte === CLOSE_BRACE) {
        if (--this.#depth === 0) {
          visit(bytes.subarray(start, at + 1));
          start = -1;
        }
      } else if (byte === CLOSE_BRACKET && this.#depth === 0) {
        this.#state = 'ended';
        return -1;
      }
    }
    return start;
  }
}
