import type { BlockLabel, PlacedLevel } from './placement';

/** The size of the text above a block, in pixels. */
export const TITLE_SIZE = 12;

/** The mean width of a character, as a share of the size of the text. */
const CHARACTER = 0.56;

/** The lowest label that a text fits in, in pixels. */
export const LEAST_HEADER = 13;

/** The space between the name and the rest of a label, in pixels. */
const BETWEEN = 10;

/** About how wide a text is, in pixels. */
export const widthOf = (text: string, size = TITLE_SIZE): number => text.length * size * CHARACTER;

/** A text in lines that are no wider than `width` pixels, unless a single word is. Ranges such as `0 – 3` stay whole. */
export const linesOf = (text: string, width: number, size: number): string[] =>
  packed(text.split(/(?<!–) (?!–)/).filter(Boolean), width, size, ' ');

/** Parts in lines, as many in a line as fit `width` pixels: `tp 0 · pp 1 · dp 2`. */
export function packed(parts: readonly string[], width: number, size: number, between = ' · '): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const longer = `${lines.at(-1)}${between}${part}`;
    if (lines.length > 0 && widthOf(longer, size) <= width) {
      lines[lines.length - 1] = longer;
    } else {
      lines.push(part);
    }
  }
  return lines;
}

/** A text that ends in `…` where it is wider than `width` pixels. */
export function shortened(text: string, width: number, size = TITLE_SIZE): string {
  const most = Math.max(1, Math.floor(width / (size * CHARACTER)));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The number at the end of a name, which stands for it where there is little room: `12` of `node 12`. */
const numberOf = (title: string): string => /(?<![\d,])[\d,]+$/.exec(title)?.[0] ?? '';

/** Names without a number are cut to no less than this, in pixels. */
const LEAST_NAME = 40;

/** How wide the shortest form of a name is with the space around it, in pixels. */
export const leastWidth = (title: string): number =>
  (numberOf(title) === '' ? Math.min(LEAST_NAME, widthOf(title)) : widthOf(numberOf(title))) * 1.06 + 14;

/** What of a block's label has room: all, its name, the number alone, or nothing. Only names without a number are cut. */
export function blockText(
  { level, place, header }: { readonly level: PlacedLevel; readonly place: number; readonly header: number },
  room: number,
): BlockLabel {
  const label = level.label?.(place);
  if (!label || header < LEAST_HEADER) {
    return { title: '', detail: '' };
  }
  const short = numberOf(label.title);
  // blocks side by side are named alike: a shorter number has the room of the longest
  const missing = Math.max(0, widthOf(numberOf(level.last?.title ?? '')) - widthOf(short));
  const whole = [label.title, short].find((text) => (widthOf(text) + missing) * 1.06 <= room);
  const title = whole || (short === '' ? shortened(label.title, room / 1.06) : '');
  const left = room - (widthOf(title) + missing) * 1.06 - BETWEEN;
  const parts = label.detail.split(' · ');
  const last = level.last?.detail.split(' · ') ?? [];
  const fits = (some: readonly string[]) => widthOf(some.join(' · '), TITLE_SIZE - 1) <= left;
  // the coarser parts come first: the finer ones are left out first, from all blocks alike
  const count = parts.findLastIndex((_, i) => fits(parts.slice(0, i + 1)) && fits(last.slice(0, i + 1))) + 1;
  return { title, detail: title === '' ? '' : parts.slice(0, count).join(' · ') };
}
