/** A test that failed, by the names of its suites and its own, with the first lines of its message. */
export interface Failure {
  readonly name: string;
  readonly message: readonly string[];
}

/** How many lines of a message a summary shows, and how many characters of a line. */
const SHOWN = { lines: 3, characters: 200 } as const;

/** A summary lists so many failures of a suite: more than that have one reason. */
const LISTED = 5;

/** Where a stack or an excerpt of the source begins. */
const STACK = /^\s*(at |❯ )/;

/** Reads what failed from the output of Vitest: ` FAIL  name`, then the message. */
export function vitestFailures(output: string): Failure[] {
  return failuresAt(output, /^ FAIL {2}(.*)$/);
}

/** Reads what failed from the short summary of pytest: `FAILED name - message`. */
export function pytestFailures(output: string): Failure[] {
  return [...output.matchAll(/^(?:FAILED|ERROR) (.*?)(?: - (.*))?$/gm)].map(([, name = '', message]) => ({
    name,
    message: message === undefined ? [] : [message],
  }));
}

/** Reads what failed from the list that Mocha ends with: `1) suite`, further names each deeper and the last with a colon, the message. */
export function mochaFailures(output: string): Failure[] {
  return [...output.matchAll(/^ {2}\d+\) (.*(?:\n {7,}.*[^:])*(?:\n {7,}.*:))\n(?=\n| {5})/gm)].map((found) => ({
    name: (found[1] ?? '').slice(0, -1).split(/\n */).join(' > '),
    message: messageAt(output.slice(found.index + found[0].length).split('\n')),
  }));
}

/** The failure of a command that says of no test that it failed: its first lines that speak of an error, else its last ones. */
export function commandFailure(output: string, code: number): Failure {
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const errors = lines.filter((line) => /\berror\b/i.test(line));
  const message = errors.length > 0 ? errors.slice(0, SHOWN.lines) : lines.slice(-SHOWN.lines);
  return { name: `ended with ${code}`, message: message.map((line) => line.trim()) };
}

/** Failures each of which begins with a line that `heading` matches, whose group is the name. */
function failuresAt(output: string, heading: RegExp): Failure[] {
  const lines = output.split('\n');
  return lines.flatMap((line, index) => {
    const name = heading.exec(line)?.[1];
    // several names can share the message that follows the last
    const after = lines.slice(index + 1, index + 100).filter((other) => !heading.test(other));
    return name === undefined ? [] : [{ name, message: messageAt(after) }];
  });
}

/** The first lines of the message that begins a text. */
function messageAt(lines: readonly string[]): string[] {
  const end = lines.findIndex((line) => STACK.test(line));
  return lines
    .slice(0, end < 0 ? undefined : end)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, SHOWN.lines);
}

/** Failures as lines of a summary. */
export function listFailures(suite: string, failures: readonly Failure[]): string[] {
  const more = failures.length - LISTED;
  return [
    ...failures
      .slice(0, LISTED)
      .flatMap(({ name, message }) => [`FAILED ${suite}: ${name}`, ...message.map((line) => `       ${line}`)]),
    ...(more > 0 ? [`FAILED ${suite}: and ${more} more`] : []),
  ].map((line) => (line.length > SHOWN.characters ? `${line.slice(0, SHOWN.characters - 1)}…` : line));
}
