/**
 * A word in single quotes, which every POSIX shell reads back as that word and nothing else.
 * @throws RangeError where no word of a shell can hold the text
 */
export function shellQuoted(word: string): string {
  if (word.includes('\0')) {
    throw new RangeError('a word of a shell cannot hold a NUL');
  }
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** A word as a POSIX shell reads it back, in quotes only where it needs them: for people to copy, never for us to run. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuoted(word);
}
