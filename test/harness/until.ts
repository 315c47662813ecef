/** How long a test waits on a busy machine. Seconds. */
const PATIENCE = 50;

/** Between two looks, in milliseconds. */
const PAUSE = 50;

/**
 * Looks again and again until the value is good; a look that throws counts as not good.
 * @param what what the failure says that was waited for
 * @returns what was seen
 */
export async function until<T>(
  look: () => T | Promise<T>,
  good: (seen: T) => boolean,
  what: string,
  seconds = PATIENCE,
): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; await new Promise((done) => setTimeout(done, PAUSE))) {
    let last: unknown;
    try {
      const seen = await look();
      if (good(seen)) {
        return seen;
      }
      last = JSON.stringify(seen);
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${seconds} s for ${what}; last seen: ${last}`);
    }
  }
}
