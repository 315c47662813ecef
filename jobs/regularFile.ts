import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** A file is not a regular file, or is too large; the message says which. */
export class UnsuitableFileError extends Error {}

/** Short texts for the system errors that people meet most often. */
const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'no such file or folder',
  EISDIR: 'is a directory',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'the name is too long',
};

/** Why a file cannot be read or written, without the path and the system call that Node.js adds. */
export function fileErrorText(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return SYSTEM_ERRORS[code] ?? error.message;
}

/** Standard input, which may be a pipe. */
export const STANDARD_INPUT = 0;

/** Bytes read at once; fewer for lines, since a kept part of a line keeps its whole chunk in memory. */
const PIECE = 256 * 1024;
const LINES_PIECE = 64 * 1024;

/** The longest line, in characters. */
const MAX_LINE = 64 * 1024;

/**
 * Reads a regular file, or standard input. Devices and named pipes are refused: reading one may never end. The type is checked on
 * the open descriptor, so the file cannot be replaced between the check and the read.
 * @param most the largest size in bytes
 * @throws UnsuitableFileError, or a system error
 */
export function readRegularFile(path: string | typeof STANDARD_INPUT, most: number): Buffer {
  if (path === STANDARD_INPUT) {
    return readAtMost(path, most);
  }
  return withRegularFile(path, (file, size) => {
    if (size > most) {
      throw tooLarge(most);
    }
    return readAtMost(file, most);
  });
}

/**
 * Opens a regular file, passes its descriptor and its size in bytes to `use`, and closes it.
 * @throws UnsuitableFileError, or a system error
 */
export function withRegularFile<T>(path: string, use: (file: number, size: number) => T): T {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) {
      throw new UnsuitableFileError(stat.isDirectory() ? 'is a directory' : 'is not a regular file');
    }
    return use(file, stat.size);
  } finally {
    closeSync(file);
  }
}

function readAtMost(file: number, most: number): Buffer {
  const bytes = new OpenSource(file).bytes(most);
  if (!bytes) {
    throw tooLarge(most);
  }
  return bytes;
}

function tooLarge(most: number): UnsuitableFileError {
  return new UnsuitableFileError(`is larger than ${most / 1024 / 1024} MiB`);
}

/** A file or standard input that is read once, from its start. */
export class OpenSource {
  #head: Uint8Array = new Uint8Array();

  constructor(readonly descriptor: number) {}

  /** The first bytes; they are still part of what is read later. */
  head(most: number): Uint8Array {
    this.#head = this.#next(most);
    return this.#head;
  }

  /** All bytes; null where there are more than `most`. */
  bytes(most: number): Buffer | null {
    const pieces: Uint8Array[] = [];
    return this.forEachPiece(most, (piece) => pieces.push(piece)) ? Buffer.concat(pieces) : null;
  }

  /** Calls `visit` with each piece; false where there are more than `most` bytes. */
  forEachPiece(most: number, visit: (piece: Uint8Array) => void, length = PIECE): boolean {
    let size = 0;
    const first = this.#head.length > 0 ? this.#head : this.#next(length);
    for (let piece = first; piece.length > 0 && size <= most; piece = this.#next(length)) {
      size += piece.length;
      visit(piece);
    }
    return size <= most;
  }

  /** Calls `visit` with each line; false where there are more than `most` bytes. */
  forEachLine(most: number, visit: (line: string) => void): boolean {
    const decoder = new TextDecoder();
    let rest = '';
    const cut = (piece: Uint8Array) => {
      const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r?\n|\r/);
      rest = (lines.pop() ?? '').slice(0, MAX_LINE);
      for (const line of lines) {
        visit(line);
      }
    };
    const whole = this.forEachPiece(most, cut, LINES_PIECE);
    visit(rest);
    return whole;
  }

  /** The next bytes; none at the end. */
  #next(most: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(most);
    let size = 0;
    for (let got = -1; got !== 0 && size < most; size += got) {
      got = readSync(this.descriptor, bytes, size, most - size, null);
    }
    return bytes.subarray(0, size);
  }
}
