import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** A file is no regular file, or is larger than it may be; the message says which. */
export class UnsuitableFileError extends Error {}

/** Standard input, which may be a pipe. */
export const STANDARD_INPUT = 0;

/** Bytes that are read at once. */
const PIECE = 256 * 1024;

/**
 * Reads a regular file, or a pipe that is given by its number. Devices and named pipes are refused before they are read: one may
 * never end. What is opened is what is looked at, so nothing can be put in its place in between.
 * @param most bytes; no more are ever held
 * @throws UnsuitableFileError, or the system's own error
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
 * Opens a regular file, hands its descriptor and its size in bytes to `use`, and closes it.
 * @throws UnsuitableFileError, or the system's own error
 */
export function withRegularFile<T>(path: string, use: (file: number, size: number) => T): T {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) {
      throw new UnsuitableFileError(stat.isDirectory() ? 'is a directory' : 'is no regular file');
    }
    return use(file, stat.size);
  } finally {
    closeSync(file);
  }
}

function readAtMost(file: number, most: number): Buffer {
  const pieces: Buffer[] = [];
  let size = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE);
    const count = readSync(file, piece);
    if (count === 0) {
      return Buffer.concat(pieces, size);
    }
    size += count;
    if (size > most) {
      throw tooLarge(most);
    }
    pieces.push(piece.subarray(0, count));
  }
}

function tooLarge(most: number): UnsuitableFileError {
  return new UnsuitableFileError(`is larger than ${most / 1024 / 1024} MiB`);
}
