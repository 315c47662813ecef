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
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const bytes = Math.round(Number(number) * (BYTES[unit.toUpperCase()] ?? Number.NaN));
  return Number.isSafeInteger(bytes) && bytes >= 1 ? bytes : null;
}

/** Seconds in a duration such as `60s`, `500 ms` or `2m`; null where the text is no duration above zero. */
export function parseDuration(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]+)$/i.exec(text.trim()) ?? [];
  const seconds = Number(number) * (SECONDS[unit.toLowerCase()] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
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
