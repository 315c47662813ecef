/** How long a test waits for what must come, on a machine that does other things too. Seconds. */
const PATIENCE = 50;

/** Between two looks, in milliseconds. */
const PAUSE = 50;

/**
 * Waits until what a look gives is good; a look that fails counts as one that saw nothing.
 * @param what what is waited for: a failure says it, with what was seen last
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
      throw new Error(`it did not come to pass within ${seconds} s: ${what}; last seen: ${last}`);
    }
  }
}
