import { Transform, type TransformCallback } from 'node:stream';

/** The longest line that is passed on. Bytes. */
const MAX_LINE = 8 * 1024 * 1024;

/** Where a message of JSON-RPC has its id: near its start or near its end. Bytes. */
const ENDS = 512;

/** Lines of bounded length: of a longer one nothing is passed on, and its first and last bytes are reported. */
export class BoundedLines extends Transform {
  #line: Buffer[] = [];
  #length = 0;

  constructor(readonly tooLong: (start: string, end: string) => void) {
    super();
  }

  override _transform(data: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let start = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
      this.#add(data.subarray(start, end + 1));
      this.#finish();
      start = end + 1;
    }
    this.#add(data.subarray(start));
    done();
  }

  #add(piece: Buffer): void {
    this.#length += piece.length;
    this.#line.push(piece);
    if (this.#length > MAX_LINE && this.#line.length > 1) {
      // what is in between is not needed any more
      const all = Buffer.concat(this.#line);
      this.#line = [all.subarray(0, ENDS), all.subarray(-ENDS)].map((end) => Buffer.from(end));
    }
  }

  #finish(): void {
    const line = Buffer.concat(this.#line);
    if (this.#length > MAX_LINE) {
      this.tooLong(line.subarray(0, ENDS).toString(), line.subarray(-ENDS).toString());
    } else {
      this.push(line);
    }
    this.#line = [];
    this.#length = 0;
  }
}

/** The answer to a message of JSON-RPC that is too long to be read: with its id, where its ends show one. */
export function tooLongAnswer(start: string, end: string): string {
  const id = /"id":(\d{1,15}|"[\w-]{1,64}")[,}]/;
  const found = id.exec(end)?.[1] ?? id.exec(start)?.[1] ?? 'null';
  const error = { code: -32_600, message: `A message has more than ${MAX_LINE / 2 ** 20} MiB, which is the most.` };
  return `{"jsonrpc":"2.0","id":${found},"error":${JSON.stringify(error)}}\n`;
}
