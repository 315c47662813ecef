/** Ranks `[start, end)`. */
export interface RankSpan {
  readonly start: number;
  readonly end: number;
}

/** The ranks of a world that no span covers, as spans in ascending order. */
export function gapsBetween(spans: readonly RankSpan[], world: number): RankSpan[] {
  const gaps: RankSpan[] = [];
  let covered = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start > covered) {
      gaps.push({ start: covered, end: start });
    }
    covered = Math.max(covered, end);
  }
  return world > covered ? [...gaps, { start: covered, end: world }] : gaps;
}
