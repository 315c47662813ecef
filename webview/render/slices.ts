/** How long work may hold up frames and input at a time, in milliseconds. */
const SLICE = 4;

/** How long work waits that nobody waits for, in milliseconds. */
const LATER = 100;

/**
 * Goes on with work until it is done or the time is up: at least one step.
 * @param time in milliseconds
 * @returns whether it is done
 */
export function advance(work: Iterator<void>, time: number): boolean {
  const end = performance.now() + time;
  while (!work.next().done) {
    if (performance.now() >= end) {
      return false;
    }
  }
  return true;
}

/** Work in slices between frames. Newer work takes the place of what is not done yet. */
export class Background {
  #timer: ReturnType<typeof setTimeout> | undefined;

  get busy(): boolean {
    return this.#timer !== undefined;
  }

  /** Begins at once, so that little work is done when this returns. */
  run(work: Iterator<void>, done: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (advance(work, SLICE)) {
      done();
    } else {
      this.#timer = setTimeout(() => this.run(work, done));
    }
  }

  /** Begins once what is drawn now has come to the screen. */
  runLater(work: Iterator<void>, done: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.run(work, done), LATER);
  }
}
