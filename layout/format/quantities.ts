const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

const SECONDS: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600 };

/** Bytes in a size such as `64MiB` or `1.5 GB`; null where the text is no size of at least one byte. */
export function parseSize(text: string): number | null {
  const bytes = Math.round(quantity(text, (unit) => BYTES[unit.toUpperCase()]));
  return Number.isSafeInteger(bytes) && bytes >= 1 ? bytes : null;
}

/** Seconds in a duration such as `60s`, `500 ms` or `2m`; null where the text is no duration above zero. */
export function parseDuration(text: string): number | null {
  const seconds = quantity(text, (unit) => SECONDS[unit.toLowerCase()]);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

/** A number times its unit; NaN where the text is none. */
function quantity(text: string, sizeOf: (unit: string) => number | undefined): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  return Number(number) * (sizeOf(unit) ?? Number.NaN);
}

/** Bytes in GiB, as short as it is worth: `9.4`, `61`, `2,128`. The unit is left to the text around it. */
export function gibibytes(bytes: number): string {
  const value = bytes / 2 ** 30;
  return Math.abs(value) < 9.95 ? value.toFixed(1) : grouped(Math.round(value));
}

/** A time as short as it is worth: `840 ms`, `4.2 s`, `1,204 s`. */
export function secondsText(seconds: number): string {
  if (seconds < 1) {
    return `${Math.round(1000 * seconds)} ms`;
  }
  return `${seconds < 100 ? seconds.toFixed(1) : grouped(Math.round(seconds))} s`;
}

/** A whole number with its thousands separated; far quicker than formatting for a locale. */
export function grouped(n: number): string {
  const digits = String(Math.abs(n));
  const first = digits.length % 3;
  const groups = digits.slice(first).match(/.{3}/g) ?? [];
  return `${n < 0 ? '-' : ''}${[digits.slice(0, first), ...groups].filter((group) => group !== '').join(',')}`;
}

/** Shorter lists than this are written out. */
const MIN_STEPPED = 5;

/** A list of ranks as text, with neighbours joined (`0 – 7, 12`), even steps said once (`0, 8, …, 56`), cut where it is long. */
export function rankList(ranks: readonly number[], most = 12): string {
  const step = (ranks[1] ?? 0) - (ranks[0] ?? 0);
  if (ranks.length > MIN_STEPPED && step > 1 && ranks.every((rank, i) => rank === (ranks[0] ?? 0) + i * step)) {
    return `${grouped(ranks[0] ?? 0)}, ${grouped(ranks[1] ?? 0)}, …, ${grouped(ranks.at(-1) ?? 0)}`;
  }
  const runs: string[] = [];
  let start = 0;
  for (let i = 1; i <= ranks.length && runs.length <= most; i++) {
    if (ranks[i] !== (ranks[i - 1] ?? 0) + 1) {
      const [first, last] = [ranks[start] ?? 0, ranks[i - 1] ?? 0];
      const step = i - start > 2 ? ' – ' : ', ';
      runs.push(first === last ? grouped(first) : `${grouped(first)}${step}${grouped(last)}`);
      start = i;
    }
  }
  return runs.length > most ? `${runs.slice(0, most).join(', ')}, … (${grouped(ranks.length)})` : runs.join(', ');
}
