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

/** Bytes read at once. */
const PIECE = 256 * 1024;

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
