/** A time on one clock. Seconds. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** The same times as intervals that do not touch, in ascending order. */
export function merged(times: readonly Interval[]): Interval[] {
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

/** How long a time is covered by intervals that do not touch, in ascending order. */
export function covered(intervals: readonly Interval[], from: number, to: number): number {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((intervals[middle]?.end ?? 0) <= from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  let total = 0;
  for (let i = low; i < intervals.length; i++) {
    const { start, end } = intervals[i] ?? { start: to, end: to };
    if (start >= to) {
      break;
    }
    total += Math.min(end, to) - Math.max(start, from);
  }
  return total;
}
