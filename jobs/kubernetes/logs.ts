/** A line of `kubectl logs --timestamps`. */
const STAMPED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) (.*)$/s;

/** The container's two streams have separate timestamps, so that a later line may have an earlier one. Seconds. */
const OVERLAP = 5;

/** The longest line, in characters; a longer one is cut into several, so that no sender can fill the memory. */
const MAX_LINE = 64 * 1024;

/**
 * Reads the log of a container over several connections, each line once.
 *
 * A connection begins at a whole second. It sends the rest of one file in one order, so the known lines since that second are
 * exactly the first lines that come again.
 */
export class LogReader {
  /** The times of the known lines since the second at which a connection may begin, in seconds since 1970. */
  #seen: number[] = [];
  #newest = 0;
  #repeated = 0;
  #rest = '';

  /** The options of kubectl for a connection that continues the last one. */
  connect(): string[] {
    // half a line comes again, whole
    this.#rest = '';
    this.#repeated = this.#seen.length;
    return this.#newest === 0 ? [] : [`--since-time=${new Date(this.#since() * 1000).toISOString()}`];
  }

  /** The new lines that a piece of the log completes, without their timestamps. */
  *feed(text: string): Iterable<string> {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > MAX_LINE) {
      lines.push(this.#rest);
      this.#rest = '';
    }
    for (const line of lines) {
      const [, time, zone, words] = STAMPED.exec(line) ?? [];
      if (words === undefined) {
        // a message of the node, such as that it cannot find the log
        yield line;
      } else if (this.#repeated > 0) {
        this.#repeated--;
      } else {
        this.#note(Date.parse(`${time}${zone}`) / 1000);
        yield words.replace(/\r$/, '');
      }
    }
  }

  #note(second: number): void {
    this.#seen.push(second);
    if (second > this.#newest) {
      this.#newest = second;
      this.#seen = this.#seen.filter((one) => one >= this.#since());
    }
  }

  #since(): number {
    return this.#newest - OVERLAP;
  }
}
