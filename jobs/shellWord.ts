/**
 * A word in single quotes, which every POSIX shell reads back as that word and nothing else.
 * @throws RangeError where no word of a shell can hold the text
 */
export function quoted(word: string): string {
  if (word.includes('\0')) {
    throw new RangeError('a word of a shell cannot hold a NUL');
  }
  return `'${word.replaceAll("'", "'\\''")}'`;
}
