import { bytesOf, unsafeCharactersIn, withoutUnsafe } from './characters';

/**
 * A word in quotes, which bash reads back as that word and nothing else: single quotes as every POSIX shell has them, or, where
 * the text holds what a terminal obeys or nobody sees, `$'...'` with an escape for each byte of it. A log that shows the command
 * shows the escapes.
 * @throws RangeError where no word of a shell can hold the text
 */
export function shellQuoted(word: string): string {
  if (word.includes('\0')) {
    throw new RangeError('a word of a shell cannot hold a NUL');
  }
  return unsafeCharactersIn(word).length > 0 || /^\s*::|#(?:#|vso)\[/i.test(word)
    ? ansiQuoted(word)
    : posixQuoted(word);
}

/** A word in single quotes, which every POSIX shell reads back as that word, whatever characters it holds: for programs. */
export function posixQuoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function ansiQuoted(word: string): string {
  const plain = word.replaceAll(/[\\']/g, '\\$&').replaceAll(/:(?=:)|#(?=#|vso\[)/gi, byteEscapes);
  return `$'${withoutUnsafe(plain, byteEscapes)}'`;
}

function byteEscapes(character: string): string {
  return bytesOf(character)
    .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
    .join('');
}

/** A word as bash reads it back, in quotes only where it needs them: for people to copy, never for us to run. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) && !word.startsWith('::') ? word : shellQuoted(word);
}
