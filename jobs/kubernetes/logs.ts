/** A line of `kubectl logs --timestamps`. */
const STAMPED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) (.*)$/s;

/** The container's two streams are stamped apart, so that a later line may have an earlier stamp. Seconds. */
const OVERLAP = 5;

/** A longer line is broken, in characters: whoever writes without an end must not fill the memory. */
const MAX_LINE = 64 * 1024;

/**
 * Reads the log of a container over several connections, each line once.
 *
 * A connection can be asked to begin at a second, no finer. What it sends is the rest of one file in one order, so that
 * the lines since that second which have been seen are exactly the first ones that come again.
 */
export class LogReader {
  /** The seconds (since the epoch) of the lines seen, as far back as a connection may begin. */
  #seen: number[] = [];
  #newest = 0;
  #repeated = 0;
  #rest = '';

  /** The options of kubectl for a connection that goes on where the last one broke off. */
  connect(): string[] {
    // half a line comes again, whole
    this.#rest = '';
    this.#repeated = this.#seen.length;
    return this.#newest === 0 ? [] : [`--since-time=${new Date(this.#since() * 1000).toISOString()}`];
  }

  /** The lines, without their stamps, that a piece of the log completes and that have not been given before. */
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
        // a word of the node's, such as that it cannot find the log: no line of the container
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
