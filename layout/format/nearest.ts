import { distance } from 'fastest-levenshtein';

/** How much of a word is compared with others: a name may be as long as the file. */
const MAX_WORD = 80;

/** The candidate that a misspelt word most likely means, or null where none is near. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_\s]/g, '');
  const wanted = plain(word.slice(0, MAX_WORD));
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const likely = plain(candidate.slice(0, MAX_WORD));
    const allowed = Math.max(1, Math.floor(Math.max(wanted.length, likely.length) / 3));
    // the distance is at least the difference of the lengths
    const far = Math.abs(wanted.length - likely.length) > allowed ? Number.POSITIVE_INFINITY : distance(wanted, likely);
    if (far < least && far <= allowed) {
      least = far;
      best = candidate;
    }
  }
  return best;
}
