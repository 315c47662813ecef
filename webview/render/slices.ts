/** How long work may hold up frames and input at a time, in milliseconds. */
const SLICE = 4;

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

/** Work in slices between frames. New work replaces unfinished work. */
export class Background {
  #timer: ReturnType<typeof setTimeout> | undefined;

  get busy(): boolean {
    return this.#timer !== undefined;
  }

  /** Begins at once, so that little work is done when this returns. */
  run(work: Iterator<void>, done: () => void): void {
    this.stop();
    if (advance(work, SLICE)) {
      done();
    } else {
      this.runLater(work, 0, done);
    }
  }

  /** @param delay in milliseconds */
  runLater(work: Iterator<void>, delay: number, done: () => void): void {
    this.stop();
    this.#timer = setTimeout(() => this.run(work, done), delay);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
