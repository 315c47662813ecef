/** A time on one clock. Seconds. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** Times on one clock, of which one asks how much lies in another time. An answer takes the logarithm of their number. */
export class Coverage {
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;
  /** How much is covered before each of the times. */
  readonly #before: Float64Array;

  constructor(times: readonly Interval[]) {
    const apart = merged(times);
    this.#starts = Float64Array.from(apart, ({ start }) => start);
    this.#ends = Float64Array.from(apart, ({ end }) => end);
    let total = 0;
    this.#before = Float64Array.from(apart, ({ start, end }) => {
      total += end - start;
      return total - (end - start);
    });
  }

  /** How long a time is covered. */
  within(from: number, to: number): number {
    return Math.max(0, this.#until(to) - this.#until(from));
  }

  #until(time: number): number {
    const at = lastIndex(this.#starts.length, (index) => (this.#starts[index] ?? time) < time);
    return at < 0 ? 0 : (this.#before[at] ?? 0) + Math.min(time, this.#ends[at] ?? 0) - (this.#starts[at] ?? 0);
  }
}

/** The last of the first `count` whole numbers for which something holds that holds for none behind it; -1 for none. */
export function lastIndex(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
}

/** The same times as intervals that do not touch, in ascending order. */
function merged(times: readonly Interval[]): Interval[] {
  const intervals: { start: number; end: number }[] = [];
  for (const { start, end } of [...times].sort((a, b) => a.start - b.start)) {
    const last = intervals.at(-1);
    if (last && start <= last.end) {
      last.end = Math.max(last.end, end);
    } else {
      intervals.push({ start, end });
    }
  }
  return intervals;
}
