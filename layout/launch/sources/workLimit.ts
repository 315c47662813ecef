/** A file asks for more work than any launch file does: following it further could take as long as its author likes. */
export class TooMuchWork extends Error {
  constructor(readonly file: string) {
    super(`${file} takes more steps to read than any launch file; nothing of it is read.`);
  }
}

/** In words, why a file that was begun cannot be read to its end; rethrows errors that are no such limit. */
export function limitReached(error: unknown, file: string): string {
  if (error instanceof TooMuchWork) {
    return error.message;
  }
  if (error instanceof RangeError) {
    // the call stack of a parser, which has no limit of its own
    return `${file} is nested more deeply than any launch file; nothing of it is read.`;
  }
  throw error;
}
