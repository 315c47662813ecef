/** What one edit did to a text: the units `[start, oldEnd)` of the text before became `[start, newEnd)` of the text after. */
export interface Change {
  readonly start: number;
  readonly oldEnd: number;
  readonly newEnd: number;
}

/** The smallest change that makes one text of another: several edits at once are one that spans them all. */
export function changeBetween(before: string, after: string): Change {
  const shorter = Math.min(before.length, after.length);
  const start = sameFor(shorter, (at, length) => before.startsWith(after.slice(at, at + length), at));
  const same = sameFor(shorter - start, (at, length) =>
    before.endsWith(after.slice(after.length - at - length, after.length - at), before.length - at),
  );
  return { start, oldEnd: before.length - same, newEnd: after.length - same };
}

/**
 * How far two texts are the same, of at most `most` units. Strings are compared a stretch at a time, in native code, and the
 * stretch that differs is halved down to its first unit.
 */
function sameFor(most: number, isSame: (at: number, length: number) => boolean): number {
  let at = 0;
  for (let length = STRETCH; length >= 1; length = length >> 1) {
    while (at + length <= most && isSame(at, length)) {
      at += length;
    }
  }
  return at;
}

const STRETCH = 8192;
