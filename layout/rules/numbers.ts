import { grouped } from '../format/quantities';

/** `3 ranks`, `1 rank`, `1,024 batches`: a count with its noun. */
export function countOf(n: number, noun: string): string {
  const ending = noun.endsWith('ch') ? 'es' : 's';
  return `${grouped(n)} ${noun}${n === 1 ? '' : ending}`;
}

/** `a`, `a or b`, `a, b or c`. */
export function either(words: readonly (string | number)[]): string {
  return joined(words, 'or');
}

/** `2, 4 or 8`: numbers in ascending order. */
export function eitherNumber(numbers: readonly number[]): string {
  return either([...numbers].sort((a, b) => a - b));
}

/** `a`, `a and b`, `a, b and c`. */
export function both(words: readonly (string | number)[]): string {
  return joined(words, 'and');
}

function joined(words: readonly (string | number)[], last: string): string {
  return words.length < 2 ? String(words[0] ?? '') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

/** `tp 2 x cp 4 = 8`: a product without its factors of 1, and what it makes where there are several. */
export function productText(factors: Readonly<Record<string, number>>): string {
  const large = Object.entries(factors).filter(([, size]) => size > 1);
  const terms = large.map(([name, size]) => `${name} ${size}`).join(' x ');
  return large.length > 1 ? `${terms} = ${large.reduce((product, [, size]) => product * size, 1)}` : terms;
}

/** No divisor beyond this is looked for but as the partner of a smaller one: all are found for `n` up to 2^24. */
const MAX_TRIAL = 4096;

/**
 * The divisors of `n` up to `limit`, ascending; costs O(sqrt(n)), and no more for an `n` beyond any job.
 * @param n at least 1
 */
export function divisors(n: number, limit = n): number[] {
  const low: number[] = [];
  const high: number[] = [];
  for (let i = 1; i * i <= n && i <= MAX_TRIAL; i++) {
    if (n % i === 0) {
      low.push(i);
      if (i !== n / i) {
        high.unshift(n / i);
      }
    }
  }
  return [...low, ...high].filter((divisor) => divisor <= limit);
}

/** The divisors of `n` nearest to `value` (never `value` itself) that fit, at most `most` of them, the nearest first. */
export function nearestDivisors(
  n: number,
  value: number,
  most: number,
  fits: (divisor: number) => boolean = () => true,
): number[] {
  return divisors(n)
    .filter((divisor) => divisor !== value && fits(divisor))
    .sort((a, b) => Math.abs(a - value) - Math.abs(b - value) || a - b)
    .slice(0, most);
}

/** The multiples of `step` around `value`, the nearest first: one or two numbers, each at least `step`. */
export function nearestMultiples(step: number, value: number): number[] {
  const below = Math.floor(value / step) * step;
  const above = below + step;
  return [below, above]
    .filter((multiple) => multiple >= step && multiple !== value)
    .sort((a, b) => Math.abs(a - value) - Math.abs(b - value));
}
